#include "clitools/argument_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "schema/schema.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t deepest = 256;

// Keywords by which a schema mentions properties other than those in "properties".
constexpr std::array speaks_of_others{"additionalProperties",
                                      "patternProperties",
                                      "unevaluatedProperties",
                                      "dependentSchemas",
                                      "dependencies",
                                      "allOf",
                                      "anyOf",
                                      "oneOf",
                                      "if",
                                      "$ref"};

std::expected<json::value, std::string> parse(std::string_view text) {
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) return std::unexpected(error.message());
  return value;
}

}  // namespace

ArgumentCheck::ArgumentCheck(std::unique_ptr<const schema::Schema> schema) : schema_(std::move(schema)) {}
ArgumentCheck::~ArgumentCheck() = default;

std::expected<std::shared_ptr<const ArgumentCheck>, std::string> ArgumentCheck::compile(
    std::string_view schema, bool closed) {
  auto value = parse(schema);
  if (!value) return std::unexpected(value.error());
  json::object* object = value->if_object();
  if (object == nullptr) return std::unexpected("it isn't a JSON object");
  const bool open =
      std::ranges::any_of(speaks_of_others, [&](const char* key) { return object->contains(key); });
  if (closed && !open) object->emplace("additionalProperties", false);
  auto compiled = schema::Schema::compile(*value);
  if (!compiled) return std::unexpected(std::move(compiled.error()));
  auto owned = std::make_unique<const schema::Schema>(std::move(*compiled));
  return std::shared_ptr<const ArgumentCheck>(new ArgumentCheck(std::move(owned)));
}

std::vector<std::string> ArgumentCheck::problems(const Arguments& arguments) const {
  return problems(arguments, Subject());
}

std::vector<std::string> ArgumentCheck::problems(const Arguments& arguments, const Subject& subject) const {
  const auto value = parse(arguments.json());
  if (!value) return {fmt::format("{} cannot be read: {}", subject.whole, value.error())};
  if (!value->is_object()) return {fmt::format("{} must be a JSON object", subject.whole)};
  schema::Verdict verdict = schema_->check(
      *value, {.whole = subject.whole, .member = subject.part, .whole_is_integer = subject.whole_is_integer});
  if (verdict.more > 0) verdict.problems.push_back(fmt::format("and {} more", verdict.more));
  return std::move(verdict.problems);
}

const std::vector<std::string>& ArgumentCheck::notes() const {
  return schema_->notes();
}

}  // namespace mcpivot
