// A CLI that describes its own tools, and what its calls print: any bytes result in tools or problems, a
// value never becomes an option, and a result is always JSON on one line.
#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include "cli/split_words.h"
#include "clitools/arg_template.h"
#include "clitools/argument_check.h"
#include "clitools/arguments.h"
#include "clitools/captured_output.h"
#include "clitools/cli_result.h"
#include "clitools/compact_json.h"
#include "clitools/tool_schema.h"
#include "fuzz.h"
#include "rpc/json_cursor.h"

namespace {

using namespace mcpivot;
using fuzz::check;
namespace json = boost::json;

bool is_good_json(std::string_view text) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 1100;
  json::parse(text, error, {}, options);
  return !error || error == json::error::exponent_overflow;
}

std::vector<std::string> lines_of(std::string_view text, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// `words` are the template's own.
void check_filled(const ArgTemplate& command, const std::vector<std::string>& words,
                  const Arguments& arguments) {
  const std::vector<std::string> tail{"--json"};
  const auto filled = command.fill(arguments, tail);
  if (!filled) return check(!filled.error().empty(), "a refusal has a reason");
  check(std::ranges::count(*filled, "--json") >= 1, "the tail is there");
  for (const std::string& word : *filled) {
    check(word.find('\0') == std::string::npos, "no argument has a NUL in it");
    check(word.size() <= ArgTemplate::longest_argument || std::ranges::find(words, word) != words.end(),
          "none is longer than the system takes");
    if (word == "--") break;
    if (!word.starts_with('-') || word == "--json") continue;
    // An option must come from the template: one of its words begins like it, as far as it is literal.
    const bool ours = std::ranges::any_of(words, [&](const std::string& spelled) {
      const auto parsed = TextTemplate::parse(spelled);
      const auto& first = parsed->pieces().front();
      return !first.parameter && first.text.starts_with('-') && word.starts_with(first.text);
    });
    check(ours, "a value never becomes an option");
  }
}

void check_template(std::string_view settings, std::string_view text) {
  const auto words = lines_of(text, 12);
  const auto command = ArgTemplate::parse(words);
  if (!command)
    return check(command.error().word < words.size() && !command.error().what.empty(),
                 "a problem has a place");
  check(command->parameters().size() <= text.size(), "parameters are those of the template");
  command->in_option_names();
  command->unprotected();
  for (const char* object :
       {"{}", R"({"a":"-x","b":["-y","z"],"c":true,"d":false,"e":null,"f":-1.50,"g":{"h":[]},"i":[]})",
        R"({"a":"--","b":"","c":["",true,-2],"d":[[1]],"e":"x\u0000y","f":"é\n"})"})
    check_filled(*command, words, Arguments(object));
  const std::string value = quote(settings);
  if (is_json(value)) {
    const std::string own = R"({"a":)" + value + R"(,"b":[)" + value + "]}";
    check_filled(*command, words, Arguments(own));
  }
}

void check_schema(std::string_view text) {
  const auto schema = read_tool_schema(text);
  if (!schema) return check(!schema.error().empty(), "a refusal has a reason");
  for (const SchemaProblem& problem : schema->problems) check(!problem.what.empty(), "a problem has words");
  for (const ToolSpec& tool : schema->tools) {
    check(!tool.name.empty() && schema->find(tool.name) != nullptr, "a tool can be found by its name");
    check(is_good_json(tool.listed) && tool.listed.find('\n') == std::string::npos,
          "it is listed as one line of JSON");
    for (const char* object : {"{}", R"({"a":1,"b":"x","c":[1,"2",null],"d":{"e":{}}})"}) {
      const Arguments arguments(object);
      for (const auto& problem : tool.check->problems(arguments))
        check(!problem.empty(), "a problem has words");
      (void)tool.command.fill(arguments, {});
      if (tool.input) tool.input->fill(arguments);
    }
  }
}

void check_result(std::string_view text, bool structured, bool ok, std::size_t limit) {
  CapturedOutput output(limit, nullptr, "x");
  for (const auto piece : fuzz::pieces(text, "\x07\x1f")) output.add(piece);
  check(output.size() == text.size() && output.cut() == (text.size() > limit), "what was printed is counted");
  const ToolSpec tool{.name = "t\"",
                      .listed = {},
                      .structured = structured,
                      .check = {},
                      .result_check = {},
                      .command = {},
                      .input = {},
                      .timeout = {},
                      .cwd = {},
                      .env = {}};
  const CliRun::Result run{{.ok = ok, .how = "exited with code 3"}, "oops"};
  const CliResult result =
      cli_result({.tool = tool, .run = run, .output = output, .cwd = "/nowhere", .largest_file = 1000});
  check(is_good_json(result.json), "a result is JSON");
  check(result.json.find('\n') == std::string::npos, "on one line");
  check(find_member(result.json, "content").starts_with('['), "with content");
  check(ok || result.failed, "a failure is told");
  check((find_member(result.json, "isError") == "true") == result.failed, "and marked as one");
  if (structured && !result.failed)
    check(find_member(result.json, "structuredContent").starts_with('{'), "what was promised is there");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  check_template(input.settings, input.text);
  check_schema(all);
  check_result(all, false, true, 10'000);
  check_result(all, true, true, 40);
  check_result(all, input.setting(0) % 2 == 1, false, 1000);
  if (is_json(all)) {
    const std::string compact = compact_json(all);
    check(is_json(compact) && compact.find('\n') == std::string::npos, "compact JSON is JSON on one line");
    fuzz::check_same(compact_json(compact), compact, "and as compact as can be");
    if (all.starts_with('{')) {
      const Arguments arguments(all);
      for (const auto& [name, value] : arguments.all()) plain_text(value);
      if (const auto check_of_it = ArgumentCheck::compile(all, true)) {
        (*check_of_it)->problems(arguments);
        (*check_of_it)->problems(Arguments(R"({"a":[{"b":"c"}],"n":1.5})"));
      }
    }
  }
  if (const auto words = split_words(all)) check(words->size() <= size, "a word needs a character");
  return 0;
}
