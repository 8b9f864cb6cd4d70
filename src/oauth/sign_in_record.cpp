#include "oauth/sign_in_record.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/files.h"
#include "base/hash.h"
#include "base/user_folders.h"
#include "oauth/json_document.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_record = 256 * 1024;
constexpr std::int64_t version = 1;
// A process that gives up in time has announced it until then.
constexpr std::chrono::seconds leeway{60};

json::array texts(const auto& all) {
  json::array array;
  for (const std::string& text : all) array.emplace_back(text);
  return array;
}

JsonDocument part(const json::object& whole, const char* key) {
  const auto* const value = whole.if_contains(key);
  return JsonDocument(value != nullptr && value->is_object() ? value->as_object() : json::object());
}

std::string_view text(TokenTrial::Of token) {
  return token == TokenTrial::Of::users_token       ? "user"
         : token == TokenTrial::Of::refreshed_token ? "refresh"
                                                    : "";
}

TokenTrial parse_trial(const JsonDocument& trial) {
  TokenTrial::Of of = TokenTrial::Of::nothing;
  for (const auto one : {TokenTrial::Of::users_token, TokenTrial::Of::refreshed_token})
    if (trial.text("of") == text(one)) of = one;
  return {.of = of,
          .failed = trial.flag("failed"),
          .failures = trial.number("failures").value_or(0),
          .since = trial.number("since").value_or(0)};
}

std::string date_text(std::int64_t time) {
  const auto seconds = static_cast<std::time_t>(time);
  std::tm parts{};
  std::array<char, 40> text{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::optional<PendingSignIn> page_in(const std::string& path) {
  const auto text = read_small_file(path, longest_record);
  const auto document = text ? JsonDocument::parse(*text) : std::nullopt;
  if (!document || document->text("url").empty()) return {};
  return PendingSignIn{.url = document->text("url"),
                       .redirect_uri = document->text("redirect_uri"),
                       .in_browser = document->flag("in_browser")};
}

}  // namespace

std::string record_line(const SignInRecord& record) {
  if (!record.signed_in()) return "signed out";
  std::string line = "signed in";
  if (!record.tokens.who.empty()) line += fmt::format(" as {}", record.tokens.who);
  line += fmt::format(" at {}", record.issuer.issuer);
  if (record.tokens.expires != 0)
    line += fmt::format("; token valid until {}{}", date_text(record.tokens.expires),
                        record.tokens.refresh.empty() ? "" : ", then refreshed");
  return line;
}

std::string sign_in_folder() {
  const std::string state = state_folder();
  return state.empty() ? state : state + "/oauth";
}

std::string record_text(const SignInRecord& record) {
  const IssuerMetadata& issuer = record.issuer;
  return json::serialize(json::object{{"version", version},
                                      {"server", record.server},
                                      {"resource", record.resource},
                                      {"issuer",
                                       {{"issuer", issuer.issuer},
                                        {"authorization_endpoint", issuer.authorization_endpoint},
                                        {"token_endpoint", issuer.token_endpoint},
                                        {"registration_endpoint", issuer.registration_endpoint},
                                        {"token_auth_methods", texts(issuer.token_auth_methods)},
                                        {"scopes", texts(issuer.scopes)},
                                        {"takes_metadata_urls", issuer.takes_metadata_urls},
                                        {"sends_issuer", issuer.sends_issuer}}},
                                      {"client",
                                       {{"id", record.client.id},
                                        {"secret", record.client.secret},
                                        {"auth_method", record.client.auth_method},
                                        {"redirect_uri", record.client.redirect_uri}}},
                                      {"asked", texts(record.asked)},
                                      {"needed", texts(record.needed)},
                                      {"sign_ins", record.sign_ins},
                                      {"login", record.login},
                                      {"trial",
                                       {{"of", text(record.trial.of)},
                                        {"failed", record.trial.failed},
                                        {"failures", record.trial.failures},
                                        {"since", record.trial.since}}},
                                      {"tokens",
                                       {{"access", record.tokens.access},
                                        {"refresh", record.tokens.refresh},
                                        {"expires", record.tokens.expires},
                                        {"scope", record.tokens.scope},
                                        {"who", record.tokens.who}}}}) +
         "\n";
}

std::optional<SignInRecord> parse_record(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !value.is_object()) return {};
  const JsonDocument whole(value.as_object());
  if (whole.number("version") != version) return {};
  const JsonDocument issuer = part(value.as_object(), "issuer");
  const JsonDocument client = part(value.as_object(), "client");
  const JsonDocument tokens = part(value.as_object(), "tokens");
  const auto set = [](const std::vector<std::string>& all) { return Scopes(all.begin(), all.end()); };
  return SignInRecord{.server = whole.text("server"),
                      .resource = whole.text("resource"),
                      .issuer = {.issuer = issuer.text("issuer"),
                                 .authorization_endpoint = issuer.text("authorization_endpoint"),
                                 .token_endpoint = issuer.text("token_endpoint"),
                                 .registration_endpoint = issuer.text("registration_endpoint"),
                                 .token_auth_methods = issuer.texts("token_auth_methods"),
                                 .scopes = set(issuer.texts("scopes")),
                                 .takes_metadata_urls = issuer.flag("takes_metadata_urls"),
                                 .sends_issuer = issuer.flag("sends_issuer")},
                      .client = {.id = client.text("id"),
                                 .secret = client.text("secret"),
                                 .auth_method = client.text("auth_method"),
                                 .redirect_uri = client.text("redirect_uri")},
                      .tokens = {.access = tokens.text("access"),
                                 .refresh = tokens.text("refresh"),
                                 .expires = tokens.number("expires").value_or(0),
                                 .scope = tokens.text("scope"),
                                 .who = tokens.text("who")},
                      .asked = set(whole.texts("asked")),
                      .needed = set(whole.texts("needed")),
                      .sign_ins = whole.number("sign_ins").value_or(0),
                      .login = whole.number("login").value_or(0),
                      .trial = parse_trial(part(value.as_object(), "trial"))};
}

SignInStore::SignInStore(const Url& server, const ClientConfig& client, const std::string& folder)
    : server_(server.text()),
      path_(folder + "/" +
            sha256(fmt::format("{}\n{}\n{}", server_, client.id, client.metadata_url)).substr(0, 32) +
            ".json"),
      lock_(path_ + ".lock") {}

SignInRecord SignInStore::read() const {
  const auto text = read_small_file(path_, longest_record);
  auto record = text ? parse_record(*text) : std::nullopt;
  return record && record->server == server_ ? std::move(*record) : SignInRecord{.server = server_};
}

std::expected<void, std::string> SignInStore::write(const SignInRecord& record) {
  const std::string text = record_text(record);
  if (text.size() > longest_record)
    return std::unexpected(fmt::format("the file of the sign-in, {}, would be larger than {} KiB", path_,
                                       longest_record / 1024));
  const auto written = replace_file(path_, text, {.durable = true});
  if (!written)
    return std::unexpected(fmt::format("the file of the sign-in, {}, {}", path_, written.error()));
  return {};
}

std::expected<void, std::string> SignInStore::remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT)
    return std::unexpected(
        fmt::format("the file of the sign-in, {}, can't be removed: {}", path_, std::strerror(errno)));
  return {};
}

std::string SignInStore::stamp() const {
  struct stat facts{};
  if (::stat(path_.c_str(), &facts) != 0) return {};
  return fmt::format("{} {} {}.{}", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

LockFile::Taken SignInStore::take_turn() {
  LockFile::Taken taken = lock_.take();
  if (taken == LockFile::Taken::impossible) {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::error_code ignored;
    std::filesystem::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
    taken = lock_.take();
  }
  if (taken == LockFile::Taken::yes && ::ftruncate(lock_.descriptor(), 0) != 0)
    return LockFile::Taken::impossible;
  return taken;
}

void SignInStore::end_turn() {
  if (!has_turn()) return;
  [[maybe_unused]] const int ignored = ::ftruncate(lock_.descriptor(), 0);
  lock_.release();
}

void SignInStore::announce(const PendingSignIn& pending) {
  if (!has_turn()) return;
  const std::string text = json::serialize(json::object{
      {"url", pending.url}, {"redirect_uri", pending.redirect_uri}, {"in_browser", pending.in_browser}});
  if (::ftruncate(lock_.descriptor(), 0) == 0) {
    ::lseek(lock_.descriptor(), 0, SEEK_SET);
    write_all(lock_.descriptor(), text);
  }
}

std::optional<PendingSignIn> SignInStore::announced() const {
  struct stat facts{};
  if (::stat(lock_.path().c_str(), &facts) != 0 ||
      std::time(nullptr) - facts.st_mtim.tv_sec > std::chrono::seconds(longest_page + leeway).count())
    return {};
  return page_in(lock_.path());
}

bool SignInStore::shows_page() const {
  return page_in(lock_.path()).has_value();
}

}  // namespace mcpivot
