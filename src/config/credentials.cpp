#include "config/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/contains.h"
#include "base/text.h"

namespace mcpivot {
namespace {

// These are ours to set.
constexpr std::array reserved{"content-length", "transfer-encoding", "connection",    "content-type",
                              "accept",         "mcp-session-id",    "last-event-id", "mcp-protocol-version"};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::expected<Credentials, std::string> Credentials::from_headers(const std::vector<std::string>& headers,
                                                                  const Variable& variable) {
  Credentials credentials;
  for (const std::string& text : headers) {
    const auto colon = text.find(':');
    Header header{std::string(trimmed(std::string_view(text).substr(0, colon))), {}};
    if (colon == std::string::npos || !is_token(header.name))
      return std::unexpected("a header must look like \"Name: value\"");
    if (contains(reserved, lower(header.name)))
      return std::unexpected(fmt::format("mcpivot sets the header {} itself", header.name));
    std::string_view rest = trimmed(std::string_view(text).substr(colon + 1));
    std::string value;
    while (!rest.empty()) {
      const auto begin = rest.find("${");
      value += rest.substr(0, begin);
      if (begin == std::string_view::npos) break;
      const auto end = rest.find('}', begin);
      if (end == std::string_view::npos)
        return std::unexpected(fmt::format("the header {} has a ${{ without a }}", header.name));
      std::string_view name = rest.substr(begin + 2, end - begin - 2);
      rest.remove_prefix(end + 1);
      const auto otherwise = name.find(":-");
      const std::string_view fallback = otherwise == std::string_view::npos ? "" : name.substr(otherwise + 2);
      name = name.substr(0, otherwise);
      header.variables.emplace_back(name);
      const char* found = variable(header.variables.back().c_str());
      if (found != nullptr && *found != '\0') {
        value += found;
      } else if (otherwise != std::string_view::npos) {
        value += fallback;
      } else {
        return std::unexpected(
            fmt::format("the header {} needs the environment variable {}, which is not set; set it where "
                        "mcpivot is started",
                        header.name, name));
      }
    }
    if (std::ranges::any_of(value, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; }))
      return std::unexpected(
          fmt::format("the value of the header {} has a line end or control character in it", header.name));
    credentials.lines_ += fmt::format("{}: {}\r\n", header.name, value);
    credentials.headers_.push_back(std::move(header));
  }
  return credentials;
}

bool Credentials::has(std::string_view name) const {
  return std::ranges::any_of(headers_,
                             [&](const Header& header) { return lower(header.name) == lower(name); });
}

std::string Credentials::advice() const {
  if (headers_.empty())
    return "It wants credentials, and none are configured: set an Authorization header, with --header "
           "\"Authorization: Bearer ${TOKEN}\" or \"headers\" in the configuration file";
  std::string list;
  for (const Header& header : headers_) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", header.name);
    for (const std::string& name : header.variables) list += fmt::format(" (from the variable {})", name);
  }
  return fmt::format(
      "It wants other credentials: check the headers that are sent (--header, or \"headers\" in the "
      "configuration file): {}",
      list);
}

}  // namespace mcpivot
