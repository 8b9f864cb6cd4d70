// A configuration file: JSON means what it means to Boost.JSON, with or without comments; positions are
// within the text; any bytes result in servers or problems with a line and column that exist, and no secrets
// in them.
#include <simdjson.h>

#include <algorithm>
#include <boost/json.hpp>

#include "config/config_file.h"
#include "config/env_file.h"
#include "config/jsonc.h"
#include "config/nearest.h"
#include "config/units.h"
#include "fuzz.h"

namespace {

using namespace mcpivot;
using fuzz::check;
namespace json = boost::json;
using Kind = JsoncValue::Kind;

bool same(const JsoncValue& value, const json::value& other) {
  switch (value.kind) {
    case Kind::null:
      return other.is_null();
    case Kind::boolean:
      return other.is_bool() && other.as_bool() == value.boolean;
    case Kind::number:
      // To Boost, 0e999 is not a number, and so is not like itself.
      return other.is_number() && (json::parse(value.text) == other || other != other);
    case Kind::string:
      return other.is_string() && other.as_string() == value.text;
    case Kind::array:
      return other.is_array() && std::ranges::equal(value.elements, other.as_array(), same);
    case Kind::object:
      break;
  }
  if (!other.is_object()) return false;
  return std::ranges::all_of(value.members, [&](const JsoncMember& member) {
    // Of duplicates, Boost keeps the last.
    const auto last =
        std::ranges::find(value.members.rbegin(), value.members.rend(), member.key, &JsoncMember::key);
    const json::value* found = other.as_object().if_contains(member.key);
    return found != nullptr && same(last->value, *found);
  });
}

void check_place(std::string_view text, const JsoncPlace& place) {
  check(place.begin <= place.end && place.end <= text.size(), "a place lies within the text");
  const std::string_view before = text.substr(0, place.begin);
  check(place.line == 1 + static_cast<unsigned>(std::ranges::count(before, '\n')), "its line is right");
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  check(place.column >= 1 && place.column <= line.size() + 1, "its column lies in that line");
}

void check_places(std::string_view text, const JsoncValue& value, int depth) {
  check_place(text, value.place);
  if (depth > 3) return;
  const auto alone = parse_jsonc(text.substr(value.place.begin, value.place.end - value.place.begin));
  check(alone.has_value() && alone->kind == value.kind && alone->text == value.text,
        "the place of a value holds that value");
  for (const JsoncValue& element : value.elements) check_places(text, element, depth + 1);
  for (const JsoncMember& member : value.members) {
    check_place(text, member.place);
    check_places(text, member.value, depth + 1);
  }
}

void check_jsonc(std::string_view text) {
  const JsoncLimits limits{.bytes = 16UL * 1024 * 1024, .values = 1'000'000, .depth = 100};
  const auto tree = parse_jsonc(text, limits);
  if (!tree) {
    check(!tree.error().words.empty(), "an error has words");
    check_place(text, tree.error().place);
  } else {
    check_places(text, *tree, 0);
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.find("**/") != std::string_view::npos) return;  // Boost 1.81 doesn't see a comment end there
  if (text.find("\\u") != std::string_view::npos) return;  // Boost rejects halves of surrogate pairs
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = limits.depth;
  options.allow_comments = options.allow_trailing_commas = true;
  const json::value value = json::parse(text, error, {}, options);
  if (error == json::error::exponent_overflow || error == json::error::too_deep) return;
  if (!simdjson::validate_utf8(text.data(), text.size())) return;  // Boost accepts anything in comments
  check(tree.has_value() == !error, "it is JSON with comments to us if it is to Boost");
  if (tree) check(same(*tree, value), "and means the same");
}

const char* variable(const char* name) {
  const std::string_view wanted(name);
  return wanted == "SECRET"  ? "s3cr3t-s3cr3t"
         : wanted == "EMPTY" ? ""
         : wanted == "HOME"  ? "/home/u"
                             : nullptr;
}

void check_config(std::string_view text) {
  const LoadedConfig loaded = read_config(text, "/folder", variable);
  check(loaded.sources.size() == loaded.gateway.servers.size(), "each server has its source");
  const auto lines = 1 + static_cast<unsigned>(std::ranges::count(text, '\n'));
  for (const Problem& problem : loaded.problems) {
    check(!problem.words.empty() && problem.line <= lines, "a problem has words, and a line that exists");
    check(problem.words.find("s3cr3t-s3cr3t") == std::string::npos ||
              text.find("s3cr3t") != std::string_view::npos,
          "no value of a variable is told");
  }
  for (const ServerEntry& entry : loaded.gateway.servers) {
    const bool process = !entry.server.command.argv.empty();
    check(process || !entry.server.http.url.empty(), "a server is something that can be run or reached");
    kind_of(entry.server);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_jsonc(text);
  check_config(text);
  if (const auto list = parse_env_file(text)) {
    for (const auto& [name, value] : *list)
      check(!name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos,
            "a variable has a name that can be one");
  }
  if (const auto time = parse_duration(text)) check(time->count() >= 0, "a time is not negative");
  parse_bytes(text);
  parse_replay_rule(text);
  const Surroundings around{.variable = variable, .workspace = "/w"};
  const auto filled = fill_in(text, around);
  if (filled && text.find('$') == std::string_view::npos)
    fuzz::check_same(*filled, text, "no dollar, no change");
  const std::string_view word = text.substr(0, 40);
  const std::string_view other = text.substr(text.size() / 2, 40);
  check(edit_distance(word, other) == edit_distance(other, word), "a distance is the same both ways");
  return 0;
}
