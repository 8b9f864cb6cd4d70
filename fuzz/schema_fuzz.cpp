// A schema on the first line, values on the others: whatever they are, the checker ends soon, gives the same
// result each time, and equivalent schemas give the same verdicts.
#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "fuzz.h"
#include "schema/schema.h"

namespace {

using namespace mcpivot;
using fuzz::check;
using schema::Schema;
namespace json = boost::json;

std::optional<json::value> parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = 1000;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) return {};
  return value;
}

// The verdict of a schema that has this one in its "$defs". Names within would change their meaning there.
schema::Verdict of_wrapped(const json::value& text, const json::value& value, const json::object& outer) {
  json::object all = outer;
  all["$defs"] = json::object{{"s", text}};
  const auto compiled = Schema::compile(all);
  if (!compiled) return {.problems = {}, .more = 0, .given_up = true};
  return compiled->check(value);
}

void check_value(const Schema& compiled, const json::value& text, const json::value& value) {
  const schema::Verdict verdict = compiled.check(value);
  for (const std::string& problem : verdict.problems) check(!problem.empty(), "a problem has words");
  check(!verdict.given_up || verdict.problems.size() == 1, "what is given up is told once");
  check(verdict.problems.size() <= 10, "no more problems than anybody reads");
  if (verdict.given_up) return;
  const schema::Verdict again = compiled.check(value);
  check(again.given_up || again.fits() == verdict.fits(), "a verdict is the same each time");
  // A reference from elsewhere would resolve elsewhere.
  const std::string spelled = json::serialize(text);
  if (spelled.find("$ref") != std::string::npos || spelled.find("\"$schema\"") != std::string::npos) return;
  const json::object reference{{"$ref", "#/$defs/s"}};
  const schema::Verdict both = of_wrapped(text, value, {{"allOf", {reference}}});
  check(both.given_up || both.fits() == verdict.fits(), "allOf [S] is S");
  const schema::Verdict any = of_wrapped(text, value, {{"anyOf", {reference, false}}});
  check(any.given_up || any.fits() == verdict.fits(), "anyOf [S, false] is S");
  const schema::Verdict other = of_wrapped(text, value, {{"not", reference}});
  check(other.given_up || other.fits() != verdict.fits(), "not S is the contrary of S");
  const schema::Verdict chosen = of_wrapped(text, value, {{"if", reference}, {"else", false}});
  check(chosen.given_up || chosen.fits() == verdict.fits(), "if S else false is S");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::string_view first = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(first.size() + 1, rest.size()));
    return first;
  };
  const auto text = parse(line());
  if (!text) return 0;
  const auto compiled = Schema::compile(*text);
  const auto again = Schema::compile(*text);
  check(compiled.has_value() == again.has_value(), "a schema is one or isn't");
  if (!compiled) {
    fuzz::check_same(compiled.error(), again.error(), "the reason is the same each time");
    check(!compiled.error().empty(), "a refusal has a reason");
    return 0;
  }
  check(compiled->notes() == again->notes(), "so are the notes");
  for (int i = 0; i < 4 && !rest.empty(); ++i)
    if (const auto value = parse(line())) check_value(*compiled, *text, *value);
  check_value(*compiled, *text, *text);
  return 0;
}
