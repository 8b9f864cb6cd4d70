// Reads a few texts from a JSON object that another party wrote. What is missing or of another type is empty.
// Any thread.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

class JsonDocument {
 public:
  // Nothing if it isn't an object.
  static std::optional<JsonDocument> parse(std::string_view text) {
    boost::system::error_code error;
    boost::json::value value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error);
    if (error || !value.is_object()) return {};
    return JsonDocument(std::move(value.as_object()));
  }
  explicit JsonDocument(boost::json::object object) : object_(std::move(object)) {}

  bool has(std::string_view key) const { return object_.contains(view(key)); }
  std::string text(std::string_view key) const {
    const auto* const value = object_.if_contains(view(key));
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  }
  bool flag(std::string_view key) const {
    const auto* const value = object_.if_contains(view(key));
    return value != nullptr && value->is_bool() && value->as_bool();
  }
  std::optional<std::int64_t> number(std::string_view key) const {
    const auto* const value = object_.if_contains(view(key));
    if (value == nullptr) return {};
    boost::system::error_code error;
    const auto number = value->to_number<std::int64_t>(error);
    return error ? std::nullopt : std::optional(number);
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> found;
    const auto* const value = object_.if_contains(view(key));
    if (value == nullptr || !value->is_array()) return found;
    for (const auto& element : value->as_array())
      if (element.is_string()) found.emplace_back(element.as_string());
    return found;
  }

 private:
  static boost::json::string_view view(std::string_view key) { return {key.data(), key.size()}; }
  boost::json::object object_;
};

}  // namespace mcpivot
