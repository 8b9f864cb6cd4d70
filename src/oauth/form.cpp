#include "oauth/form.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace mcpivot {
namespace {

std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '+') {
      result += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() &&
               std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
                   text.data() + i + 3) {
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", byte);
    }
  }
  return result;
}

std::string form_text(const FormFields& fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", percent_encoded(name), percent_encoded(value));
  return text;
}

std::string with_query(std::string_view url, const FormFields& fields) {
  std::string text;
  for (const char c : url)
    text += std::string_view("\"'`$<>\\^{|}").contains(c) ? percent_encoded({&c, 1}) : std::string(1, c);
  return text + (url.find('?') == std::string_view::npos ? "?" : "&") + form_text(fields);
}

FormFields parse_form(std::string_view text) {
  FormFields fields;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(field.size() + 1, text.size()));
    if (field.empty()) continue;
    const auto equals = field.find('=');
    fields.emplace_back(decoded(field.substr(0, equals)),
                        equals == std::string_view::npos ? std::string() : decoded(field.substr(equals + 1)));
  }
  return fields;
}

std::optional<std::string> only_field(const FormFields& fields, std::string_view name) {
  std::optional<std::string> found;
  for (const auto& [key, value] : fields) {
    if (key != name) continue;
    if (found) return {};
    found = value;
  }
  return found;
}

}  // namespace mcpivot
