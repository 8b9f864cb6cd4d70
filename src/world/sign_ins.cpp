#include "world/sign_ins.h"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <set>
#include <utility>

#include "config/credentials.h"
#include "oauth/browser.h"

namespace mcpivot {
namespace {

std::string key_of(const ServerConfig& config) {
  const HttpConfig& http = config.http;
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", config.name, http.url, http.cacert, http.insecure,
                     http.oauth.client_id, http.oauth.client_secret, http.oauth.client_metadata_url,
                     http.oauth.scopes, http.oauth.redirect_port);
}

}  // namespace

std::optional<SignInRunner::Options> sign_in_options(const ServerConfig& config) {
  const HttpConfig& http = config.http;
  const auto url = parse_url(http.url);
  const auto credentials = Credentials::from_headers(http.headers, own_variable);
  if (!url || !credentials || credentials->has("Authorization")) return {};
  const std::string folder = sign_in_folder();
  if (folder.empty()) return {};
  // The server's address is the operator's affair, not that of clients over HTTP.
  const std::string login = http.login.empty() ? config.name : config.for_many ? "URL" : http.login;
  return SignInRunner::Options{
      .sign_in = {.name = config.name,
                  .server = *url,
                  .client = {.id = http.oauth.client_id,
                             .secret = http.oauth.client_secret,
                             .metadata_url = http.oauth.client_metadata_url,
                             .scopes = http.oauth.scopes,
                             .redirect_port = static_cast<std::uint16_t>(http.oauth.redirect_port)},
                  .may_ask = !config.for_many,
                  .login = login},
      .fetch = {.cacert = http.cacert, .insecure = http.insecure ? std::optional(*url) : std::nullopt},
      .folder = folder,
      .login = fmt::format("mcpivot login {}", login),
      .open = [](const std::string& address) { return open_browser(address); }};
}

std::shared_ptr<SignInRunner> SignIns::of(const ServerConfig& config) {
  auto options = sign_in_options(config);
  if (!options) return nullptr;
  auto& known = all_[key_of(config)];
  if (!known) {
    options->sign_in.may_ask = options->sign_in.may_ask && may_ask_;
    known = std::make_shared<SignInRunner>(loop_, std::move(*options));
    known->on_over([this, name = config.name](const std::string& trouble) {
      if (then_) then_(name, trouble);
    });
  }
  return known;
}

std::string SignIns::describe(const ServerConfig& config) {
  const auto found = all_.find(key_of(config));
  return found == all_.end() ? std::string() : found->second->describe();
}

std::string SignIns::address(const ServerConfig& config) {
  const auto found = all_.find(key_of(config));
  return found == all_.end() ? std::string() : found->second->address();
}

void SignIns::keep_only(const std::vector<ServerEntry>& servers) {
  std::set<std::string> keys;
  for (const ServerEntry& entry : servers) keys.insert(key_of(entry.server));
  std::erase_if(replaced_, [](const auto& one) { return one->is_settled(); });
  std::erase_if(all_, [&](const auto& known) {
    if (keys.contains(known.first)) return false;
    known.second->replace();
    if (!known.second->is_settled()) replaced_.push_back(known.second);
    return true;
  });
}

void SignIns::settle(std::chrono::milliseconds patience, const std::function<void()>& done) {
  std::vector<std::shared_ptr<SignInRunner>> unsettled;
  for (const auto& [key, one] : all_)
    if (!one->is_settled()) unsettled.push_back(one);
  for (const auto& one : replaced_)
    if (!one->is_settled()) unsettled.push_back(one);
  if (unsettled.empty()) return done();
  const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, patience);
  timer->async_wait([timer, done](const boost::system::error_code&) { done(); });  // all have, or time is up
  const auto left = std::make_shared<std::size_t>(unsettled.size());
  for (const auto& one : unsettled)
    one->when_settled([timer, left] {
      if (--*left == 0) timer->cancel();
    });
}

}  // namespace mcpivot
