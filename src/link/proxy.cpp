#include "link/proxy.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/detail/base64.hpp>

#include "base/text.h"

namespace mcpivot {
namespace {

std::string base64(std::string_view text) {
  namespace base64 = boost::beast::detail::base64;
  std::string result(base64::encoded_size(text.size()), '\0');
  result.resize(base64::encode(result.data(), text.data(), text.size()));
  return result;
}

std::string unpercent(std::string_view text) {
  auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && i + 2 < text.size() &&
                      std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                      std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    result += code ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    if (code) i += 2;
  }
  return result;
}

// NO_PROXY: names and their subdomains, addresses, each with or without a port; or * for all.
bool is_exempt(const Url& url, std::string_view list) {
  while (!list.empty()) {
    const auto comma = std::min(list.find_first_of(", "), list.size());
    std::string entry(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (entry == "*") return true;
    if (entry.starts_with("*.")) entry.erase(0, 1);
    const std::string port = ":" + std::to_string(url.port);
    if (entry.ends_with(port) && std::ranges::count(entry, ':') == 1)
      entry.resize(entry.size() - port.size());
    entry = lower(entry);
    if (entry.empty()) continue;
    if (url.host == entry || url.host.ends_with(entry.front() == '.' ? entry : "." + entry) ||
        "." + url.host == entry)
      return true;
  }
  return false;
}

}  // namespace

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

std::expected<std::optional<Proxy>, std::string> proxy_for(const Url& url, const Variable& variable) {
  auto either = [&](const std::string& name) -> std::pair<std::string, std::string> {
    for (const std::string& spelling : {lower(name), name})
      if (const char* value = variable(spelling.c_str()); value != nullptr && *value != '\0')
        return {spelling, value};
    return {};
  };
  if (is_loopback(url.host) || is_exempt(url, either("NO_PROXY").second)) return std::nullopt;
  auto [name, text] = either(url.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (text.empty()) std::tie(name, text) = either("ALL_PROXY");
  if (text.empty()) return std::nullopt;
  if (text.find("://") == std::string::npos) text = "http://" + text;
  Proxy proxy;
  // The user name and password, which our Url type doesn't have.
  const auto begin = text.find("://") + 3;
  const auto at = text.rfind('@', std::min(text.find('/', begin), text.size()));
  if (at != std::string::npos && at >= begin) {
    proxy.authorization = "Basic " + base64(unpercent(text.substr(begin, at - begin)));
    text.erase(begin, at + 1 - begin);
  }
  auto parsed = parse_url(text);
  if (!parsed) return std::unexpected("the variable " + name + " is wrong: " + parsed.error());
  if (parsed->tls)
    return std::unexpected("the variable " + name +
                           " names a proxy that needs TLS, which mcpivot doesn't support: use http://");
  proxy.url = *parsed;
  return proxy;
}

}  // namespace mcpivot
