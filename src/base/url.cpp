#include "base/url.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace mcpivot {
namespace {

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool is_host_character(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == ':';
}

}  // namespace

std::string Url::authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) text += ":" + std::to_string(port);
  return text;
}

std::expected<Url, std::string> parse_url(std::string_view text) {
  auto fail = [&](const std::string& why) {
    return std::unexpected("'" + std::string(text) + "' isn't an HTTP URL: " + why);
  };
  const auto scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return fail("it must begin with http:// or https://");
  const std::string scheme = lower(text.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") return fail("it must begin with http:// or https://");
  if (!is_plain(text))
    return fail("it has a space, a control character or a non-ASCII character; write it as %20 and so on");
  Url url;
  url.tls = scheme == "https";
  url.port = url.tls ? 443 : 80;
  std::string_view rest = text.substr(scheme_end + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  if (authority.find('@') != std::string_view::npos)
    return std::unexpected(
        "a URL must not contain a user name or password; use --header \"Authorization: …\"");

  std::string_view port;
  if (authority.starts_with('[')) {
    const auto bracket = authority.find(']');
    if (bracket == std::string_view::npos) return fail("a ']' is missing");
    url.host = lower(authority.substr(1, bracket - 1));
    port = authority.substr(bracket + 1);
  } else {
    url.host = lower(authority.substr(0, authority.find(':')));
    port = authority.substr(url.host.size());
  }
  if (url.host.empty()) return fail("it names no host");
  if (!std::ranges::all_of(url.host, is_host_character))
    return fail("the host name has an invalid character");
  if (!port.empty()) {
    const char* end = port.data() + port.size();
    auto [tail, error] = std::from_chars(port.data() + 1, end, url.port);
    if (port.front() != ':' || port.size() < 2 || error != std::errc() || tail != end || url.port == 0)
      return fail("the port isn't a number from 1 to 65535");
  }
  rest = rest.substr(0, rest.find('#'));
  url.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  return url;
}

std::expected<Url, std::string> resolve_reference(const Url& base, std::string_view reference) {
  if (reference.find("://") != std::string_view::npos &&
      reference.find("://") < reference.find_first_of("/?#"))
    return parse_url(reference);
  if (reference.starts_with("//")) return parse_url((base.tls ? "https:" : "http:") + std::string(reference));
  if (reference.empty() || !is_plain(reference)) return std::unexpected("it isn't a URL");
  Url url = base;
  reference = reference.substr(0, reference.find('#'));
  const std::string path = base.target.substr(0, base.target.find('?'));
  if (reference.starts_with('/')) {
    url.target = reference;
  } else if (reference.starts_with('?')) {
    url.target = path + std::string(reference);
  } else {
    url.target = path.substr(0, path.rfind('/') + 1) + std::string(reference);
  }
  return url;
}

}  // namespace mcpivot
