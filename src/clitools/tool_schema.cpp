#include "clitools/tool_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/contains.h"
#include "base/utf8.h"
#include "clitools/compact_json.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_tools = 1000;
constexpr std::size_t longest_name = 128;
constexpr std::size_t beginning_shown = 200;
constexpr std::size_t longest_list = 2000;
constexpr double longest_timeout = 24.0 * 3600;

// MCP's own members of a tool, which are passed on unchanged.
constexpr std::array passed_on{"title", "description", "outputSchema", "annotations", "icons", "_meta"};
constexpr std::array known_keys{"name",         "title",       "description", "parameters", "inputSchema",
                                "outputSchema", "annotations", "icons",       "_meta",      "cli_command",
                                "timeout",      "cwd",         "env",         "stdin"};

bool is_string(std::string_view json) {
  return json.starts_with('"');
}

std::string kind_of(std::string_view json) {
  switch (json.empty() ? '\0' : json[0]) {
    case '\0':
      return "nothing";
    case '"':
      return "a string";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

// 30, "30s", "500ms", "2m"
std::optional<milliseconds> duration(std::string_view json) {
  const std::string text = plain_text(json);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double seconds = unit.empty() || unit == "s"    ? number
                         : unit == "ms"                 ? number / 1000
                         : unit == "m" || unit == "min" ? number * 60
                         : unit == "h"                  ? number * 3600
                                                        : -1;
  if (error != std::errc() || !(seconds > 0) || seconds > longest_timeout) return std::nullopt;
  return milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * 1000)));
}

// The values of such a parameter are known beforehand, so it may be part of an option's name.
bool is_closed(std::string_view schema) {
  const std::string_view type = find_member(schema, "type");
  return !find_member(schema, "enum").empty() || !find_member(schema, "const").empty() ||
         type == R"("integer")" || type == R"("boolean")";
}

// Reads one tool.
class ToolReader {
 public:
  ToolReader(std::string_view json, std::string place, std::vector<SchemaProblem>& problems)
      : json_(json), place_(std::move(place)), problems_(problems) {}

  // Nothing: it has a mistake, and the problems say which.
  std::optional<ToolSpec> read() {
    if (!json_.starts_with('{')) {
      mistake({}, fmt::format("expected an object, got {}", kind_of(json_)));
      return std::nullopt;
    }
    read_name();
    read_input();
    read_parameters();
    read_command();
    read_surroundings();
    read_unknown_keys();
    if (mistaken_) return std::nullopt;
    list();
    return std::move(tool_);
  }

 private:
  void read_name() {
    const std::string_view name = find_member(json_, "name");
    if (!is_string(name)) return mistake("name", fmt::format("expected a string, got {}", kind_of(name)));
    tool_.name = string_value(name);
    place_ += fmt::format(" {}", name);
    const bool fits = !tool_.name.empty() && tool_.name.size() <= longest_name &&
                      std::ranges::all_of(tool_.name, [](unsigned char c) {
                        return (std::isalnum(c) != 0 && c < 128) || c == '_' || c == '-' || c == '.';
                      });
    if (!fits)
      mistake("name", fmt::format("expected 1 to {} of the characters A-Z a-z 0-9 _ - .", longest_name));
  }

  void read_parameters() {
    const std::string_view ours = find_member(json_, "parameters");
    const std::string_view theirs = find_member(json_, "inputSchema");
    const std::string_view key = ours.empty() && !theirs.empty() ? "inputSchema" : "parameters";
    schema_ = compact_json(key == "parameters" ? ours : theirs);
    if (!ours.empty() && !theirs.empty()) note("inputSchema", "ignored: there is also \"parameters\"");
    if (schema_.empty()) schema_ = R"({"type":"object","properties":{}})";
    if (!schema_.starts_with('{'))
      return mistake(key, fmt::format("expected a JSON Schema (an object), got {}", kind_of(schema_)));
    const std::string_view type = find_member(schema_, "type");
    if (type.empty()) {
      schema_ = schema_ == "{}" ? R"({"type":"object"})" : R"({"type":"object",)" + schema_.substr(1);
    } else if (type != R"("object")") {
      return mistake(key, fmt::format("expected \"type\":\"object\", got {}", type));
    }
    auto check = ArgumentCheck::compile(schema_, !tool_.input_is_json);
    if (!check) return mistake(key, fmt::format("not a usable JSON Schema: {}", check.error()));
    tool_.check = std::move(*check);
    for (const std::string& what : tool_.check->notes()) note(key, what);
  }

  void read_input() {
    const std::string_view input = find_member(json_, "stdin");
    if (input.empty()) return;
    if (!is_string(input)) return mistake("stdin", fmt::format("expected a string, got {}", kind_of(input)));
    tool_.input_is_json = input == R"("json")";
    if (tool_.input_is_json) return;
    auto parsed = TextTemplate::parse(string_value(input));
    if (!parsed) return mistake("stdin", parsed.error());
    tool_.input = std::move(*parsed);
  }

  void read_command() {
    const std::string_view command = find_member(json_, "cli_command");
    if (!command.starts_with('['))
      return mistake("cli_command", fmt::format("expected an array of strings, got {}", kind_of(command)));
    std::vector<std::string> words;
    for (const std::string_view word : elements_of(command)) {
      if (!is_string(word))
        return mistake(fmt::format("cli_command[{}]", words.size()),
                       fmt::format("expected a string, got {}", kind_of(word)));
      words.push_back(string_value(word));
    }
    auto parsed = ArgTemplate::parse(words);
    if (!parsed) return mistake(fmt::format("cli_command[{}]", parsed.error().word), parsed.error().what);
    tool_.command = std::move(*parsed);
    check_parameters();
  }

  // Template and schema must name the same parameters.
  void check_parameters() {
    const std::string_view properties = find_member(schema_, "properties");
    std::vector<std::string> used = tool_.command.parameters();
    auto check = [&](std::string_view key, const std::string& name) {
      if (find_member(properties, name).empty())
        mistake(key, fmt::format("{{{}}} is not among the properties of \"parameters\"", name));
    };
    for (const std::string& name : used) check("cli_command", name);
    if (tool_.input)
      for (const auto& piece : tool_.input->pieces()) {
        if (!piece.parameter) continue;
        check("stdin", piece.text);
        used.push_back(piece.text);
      }
    for (const std::string& name : tool_.command.in_option_names())
      if (!is_closed(find_member(properties, name)))
        mistake(
            "cli_command",
            fmt::format("{{{}}} is part of an option's name, so any value could be any option; give it an "
                        "\"enum\", or write --option={{{}}}",
                        name, name));
    for (const std::string& name : tool_.command.unprotected())
      if (!find_member(properties, name).empty() &&
          find_member(find_member(properties, name), "type") != R"("boolean")" &&
          find_member(find_member(properties, name), "enum").empty())
        note("cli_command",
             fmt::format("a {{{}}} that begins with \"-\" will be refused; a \"--\" before it, or "
                         "--option={{{}}}, would let it pass",
                         name, name));
    if (tool_.input_is_json) return;
    const Arguments all(properties);
    for (const auto& [name, schema] : all.all())
      if (!contains(used, name))
        note("parameters", fmt::format("\"{}\" is not used by \"cli_command\" or \"stdin\"", name));
  }

  void read_surroundings() {
    if (const std::string_view timeout = find_member(json_, "timeout"); !timeout.empty()) {
      tool_.timeout = duration(timeout);
      if (!tool_.timeout)
        mistake(
            "timeout",
            fmt::format("expected seconds, or a text like \"500ms\" or \"2m\", up to 24 h; got {}", timeout));
    }
    if (const std::string_view cwd = find_member(json_, "cwd"); !cwd.empty()) {
      if (!is_string(cwd)) return mistake("cwd", fmt::format("expected a string, got {}", kind_of(cwd)));
      tool_.cwd = string_value(cwd);
    }
    const std::string_view env = find_member(json_, "env");
    if (env.empty()) return;
    if (!env.starts_with('{')) return mistake("env", fmt::format("expected an object, got {}", kind_of(env)));
    const Arguments variables(env);
    for (const auto& [key, value] : variables.all()) {
      const std::string text = plain_text(value);
      const bool fits = !key.empty() && key.find('=') == std::string::npos &&
                        (key + text).find('\0') == std::string::npos && !value.starts_with('{') &&
                        !value.starts_with('[') && value != "null";
      if (!fits) mistake("env", fmt::format("{} cannot be a variable with the value {}", quote(key), value));
      tool_.env.emplace_back(key, text);
    }
  }

  void read_unknown_keys() {
    const Arguments members(json_);
    for (const auto& [key, value] : members.all())
      if (!contains(known_keys, key)) note(key, "unknown key, ignored");
  }

  void list() {
    std::string text = fmt::format(R"({{"name":{})", quote(tool_.name));
    for (const char* key : passed_on) {
      const std::string_view value = find_member(json_, key);
      if (!value.empty() && value != "null") text += fmt::format(R"(,"{}":{})", key, compact_json(value));
    }
    read_output();
    tool_.listed = fmt::format(R"({},"inputSchema":{}}})", text, schema_);
  }

  void read_output() {
    constexpr std::string_view key = "outputSchema";
    const std::string_view schema = find_member(json_, key);
    tool_.structured = schema.starts_with('{');
    if (!tool_.structured) return;
    auto check = ArgumentCheck::compile(schema, false);
    if (!check) return note(key, fmt::format("results are not checked because of it: {}", check.error()));
    tool_.result_check = std::move(*check);
    for (const std::string& what : tool_.result_check->notes()) note(key, what);
  }

  void mistake(std::string_view key, std::string what) { add(key, std::move(what), mistaken_ = true); }
  void note(std::string_view key, std::string what) { add(key, std::move(what), false); }
  void add(std::string_view key, std::string what, bool is_mistake) {
    problems_.push_back(
        {key.empty() ? place_ : fmt::format("{}: {}", place_, key), std::move(what), is_mistake});
  }

  std::string_view json_;
  std::string place_;
  std::vector<SchemaProblem>& problems_;
  std::string schema_;
  ToolSpec tool_;
  bool mistaken_ = false;
};

std::string beginning(std::string_view text) {
  const std::string shown = quote(as_utf8(text.substr(0, beginning_shown)));
  return text.size() > beginning_shown ? shown + "…" : shown;
}

}  // namespace

const ToolSpec* ToolSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(tools, name, &ToolSpec::name);
  return found == tools.end() ? nullptr : &*found;
}

std::expected<ToolSchema, std::string> read_tool_schema(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  text = first == std::string_view::npos ? std::string_view() : text.substr(first);
  if (text.empty()) return std::unexpected("it printed nothing to stdout");
  JsonCursor cursor(text);
  if (!cursor.value() || !cursor.end())
    return std::unexpected(fmt::format("its output isn't valid JSON: {} at byte {}; it begins: {}",
                                       cursor.what(), cursor.offset(), beginning(text)));
  if (!is_json(text)) return std::unexpected("its output isn't UTF-8");
  const std::string_view tools = find_member(text, "tools");
  if (!tools.starts_with('['))
    return std::unexpected(fmt::format(
        R"(expected {{"tools":[…]}}, got {}; it begins: {})",
        text.starts_with('{') ? "an object without such an array" : kind_of(text), beginning(text)));
  ToolSchema schema;
  std::size_t index = 0;
  for (const std::string_view item : elements_of(tools)) {
    const std::string place = fmt::format("tools[{}]", index++);
    if (schema.tools.size() == most_tools) {
      schema.problems.push_back({place, fmt::format("only the first {} tools are served", most_tools)});
      break;
    }
    auto tool = ToolReader(item, place, schema.problems).read();
    if (!tool) continue;
    if (schema.find(tool->name) != nullptr) {
      schema.problems.push_back(
          {fmt::format("{} \"{}\": name", place, tool->name), "an earlier tool has the same name"});
      continue;
    }
    schema.tools.push_back(std::move(*tool));
  }
  if (schema.tools.empty() && index > 0) {
    std::string words = fmt::format("none of the tools that it describes can be served ({})", index);
    for (const SchemaProblem& problem : schema.problems)
      if (problem.mistake && words.size() < longest_list)
        words += fmt::format("\n{}: {}", problem.place, problem.what);
    return std::unexpected(words);
  }
  return schema;
}

}  // namespace mcpivot
