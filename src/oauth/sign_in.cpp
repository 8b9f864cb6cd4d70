#include "oauth/sign_in.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "link/proxy.h"
#include "oauth/json_document.h"

namespace mcpivot {
namespace {

// Each of them is an authorization by the user.
constexpr int most_step_ups = 3;
constexpr int most_fresh_rejections = 2;
// A token that is about to expire counts as expired.
constexpr std::int64_t leeway = 10;
constexpr std::int64_t longest_back_off = 60;

// The same in each run, so that it keeps matching the issuer's registration.
std::uint16_t usual_port(const Url& server) {
  const std::string hash = sha256(server.text()).substr(0, 8);
  unsigned number = 0;
  std::from_chars(hash.data(), hash.data() + hash.size(), number, 16);
  return static_cast<std::uint16_t>(20'000 + number % 12'000);  // below the ports that systems hand out
}

std::uint16_t port_of(const std::string& redirect_uri) {
  const auto url = parse_url(redirect_uri);
  return url ? url->port : 0;
}

bool includes(const Scopes& all, const Scopes& some) {
  return std::ranges::includes(all, some);
}

std::string with_query(const std::string& url, const FormFields& fields) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + form_text(fields);
}

bool is_secret(const std::optional<std::string>& text, const std::string& secret) {
  return text && text->size() == secret.size() &&
         CRYPTO_memcmp(text->data(), secret.data(), secret.size()) == 0;
}

// The address that a browser takes this host for, without a lookup: "127.1" and "0x7f000001" are written as
// numbers, too.
std::optional<boost::asio::ip::address> literal_address(std::string host) {
  if (host.ends_with('.')) host.pop_back();
  if (is_loopback(host)) return boost::asio::ip::address_v4::loopback();
  if (in_addr v4{}; ::inet_aton(host.c_str(), &v4) != 0) return boost::asio::ip::address_v4(ntohl(v4.s_addr));
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return error ? std::nullopt : std::optional(address);
}

// Why a browser shouldn't go there; empty: it may. We can't check where a name leads.
std::string fault_in_page(const std::string& endpoint, const AddressRule& allowed) {
  const auto url = parse_url(endpoint);
  if (!url) return url.error();
  const auto address = literal_address(url->host);
  if (!address || allowed.allows(kind_of(*address))) return {};
  return fmt::format("its sign-in page is at {}, {}, where the server itself isn't", url->host,
                     name_of(kind_of(*address)));
}

bool is_document(const FetchAnswer& answer) {
  return answer.ok() && JsonDocument::parse(answer.body);
}

}  // namespace

std::string_view text(SignIn::State state) {
  constexpr std::string_view texts[] = {"idle",           "queued",     "finding_resource",
                                        "finding_issuer", "opening",    "registering",
                                        "waiting",        "exchanging", "refreshing"};
  return texts[static_cast<std::size_t>(state)];
}

SignIn::SignIn(Config config, MakeSecret make_secret)
    : config_(std::move(config)), make_secret_(std::move(make_secret)) {}

SignIn::Effects SignIn::on(const Event& event, std::int64_t now) {
  now_ = now;
  effects_.clear();
  if (const auto* const wanted = std::get_if<Wanted>(&event)) {
    on_wanted(*wanted);
  } else if (const auto* const turn = std::get_if<Turn>(&event)) {
    if (state_ == State::queued) on_turn(*turn);
  } else if (const auto* const none = std::get_if<NoTurn>(&event)) {
    if (state_ == State::queued) fail(none->why);
  } else if (const auto* const fetched = std::get_if<Fetched>(&event)) {
    on_fetched(*fetched);
  } else if (const auto* const opened = std::get_if<Opened>(&event)) {
    if (state_ == State::opening) on_opened(*opened);
  } else if (const auto* const redirected = std::get_if<Redirected>(&event)) {
    on_redirected(*redirected);
  } else if (std::holds_alternative<Overdue>(event)) {
    if (state_ == State::waiting) on_overdue();
  } else if (const auto* const accepted = std::get_if<Accepted>(&event)) {
    if (accepted->token == unproven_) {
      unproven_.clear();
      step_ups_ = 0;
    }
  } else if (std::holds_alternative<SignedOut>(event)) {
    on_signed_out();
  }
  return std::move(effects_);
}

// --- the turn ----------------------------------------------------------------------------------------------

// Whether this record has what the request lacked.
bool SignIn::satisfies(const SignInRecord& record) const {
  if (!record.signed_in() || record.tokens.access == wanted_.rejected) return false;
  return !wanted_.challenge.wants_more_scope() || includes(record.asked, wanted_.challenge.scopes);
}

void SignIn::on_wanted(const Wanted& event) {
  if (state_ != State::idle) return;  // all callers wait for the same outcome
  wanted_ = event;
  // The current token doesn't satisfy a user who wants to sign in; a token that another process gets in the
  // meantime does.
  if (event.login) wanted_.rejected = record_.tokens.access;
  if (satisfies(record_)) return do_(Succeed{});
  // The clock may have been set back.
  const bool too_early = now_ < not_before_ && not_before_ - now_ <= longest_back_off;
  if (too_early && !event.login) return do_(last_failure_);
  state_ = State::queued;
  do_(TakeTurn{});
}

void SignIn::on_turn(const Turn& event) {
  record_ = event.record;
  if (satisfies(record_)) return finish();
  if (!event.asked) return fail("nobody signed in");
  // A user who runs `mcpivot login`, in any process, wants it to be tried again.
  if (wanted_.login || std::exchange(login_, record_.login) != record_.login) step_ups_ = rejections_ = 0;
  const GrantedTokens& tokens = record_.tokens;
  const bool current = record_.signed_in() && tokens.access == wanted_.rejected && !wanted_.login;
  may_refresh_ = current && !tokens.refresh.empty();
  // A refresh may come a bit early; a question to the user may not.
  const bool expired = tokens.expires != 0 && tokens.expires <= now_ + (may_refresh_ ? leeway : 0);
  if (current && wanted_.challenge.wants_more_scope()) {
    const Scopes& scopes = wanted_.challenge.scopes;
    if (scopes.empty() || includes(record_.asked, scopes) || ++step_ups_ > most_step_ups)
      return refuse(fmt::format("it wants more than the sign-in grants ({}); ask its operator for access",
                                scopes.empty() ? "it doesn't say what" : "scope " + scopes_text(scopes)));
    may_refresh_ = false;
    return discover();
  }
  if (may_refresh_ && expired) return refresh();
  const bool fresh = tokens.access == unproven_;
  if (current && fresh && !expired) {
    // There is no better token than one that the user has just approved.
    if (source_ == Source::user) {
      if (std::exchange(rejected_fresh_, tokens.access) != tokens.access) ++rejections_;
      return refuse("it rejects the token that its own authorization server has just issued for it");
    }
    may_refresh_ = false;
  }
  // The server may accept these tokens for other requests: without a limit, each of these calls would ask.
  if (current && !may_refresh_ && (fresh || !expired) && rejections_ >= most_fresh_rejections)
    return refuse(
        fmt::format("it rejects the tokens that its own authorization server issues for it; run "
                    "`mcpivot login {}` to try again",
                    config_.login));
  discover();
}

// --- discovery ---------------------------------------------------------------------------------------------

void SignIn::discover() {
  if (!config_.server.tls && !is_loopback(config_.server.host))
    return fail(fmt::format("a token would travel in the clear, because {} isn't an https:// address",
                            config_.server.shown()),
                !wanted_.challenge.resource_metadata.empty());
  places_ = resource_metadata_places(config_.server, wanted_.challenge.resource_metadata);
  state_ = State::finding_resource;
  next_place();
}

void SignIn::next_place() {
  while (!places_.empty()) {
    if (auto url = parse_url(places_.front())) return fetch({.url = std::move(*url)}, state_);
    places_.erase(places_.begin());
  }
  no_more_places();
}

void SignIn::no_more_places() {
  // Before there were such documents (2025-03-26), a server was its own issuer.
  if (state_ == State::finding_resource) {
    resource_ = canonical_resource(config_.server);
    offered_scopes_.clear();
    return look_for_issuer(config_.server.origin(), true);
  }
  if (issuer_guessed_) return fail("it offers no sign-in", false);
  fail(fmt::format("its authorization server {} publishes no metadata", issuer_));
}

void SignIn::look_for_issuer(const std::string& issuer, bool guessed) {
  const auto url = parse_url(issuer);
  if (!url) return fail(fmt::format("its authorization server isn't a URL: {}", issuer.substr(0, 200)));
  issuer_ = issuer;
  issuer_guessed_ = guessed;
  places_ = issuer_metadata_places(*url);
  state_ = State::finding_issuer;
  next_place();
}

void SignIn::on_fetched(const Fetched& event) {
  switch (state_) {
    case State::finding_resource:
      return on_resource(event);
    case State::finding_issuer:
      return on_issuer(event);
    case State::registering:
      return on_registered(event);
    case State::exchanging:
      return on_exchanged(event);
    case State::refreshing:
      return on_refreshed(event);
    default:
      return;
  }
}

void SignIn::on_resource(const Fetched& event) {
  const bool named = !wanted_.challenge.resource_metadata.empty();
  if (!event.outcome && named) return fail(event.outcome.error());
  // A web application may have a page at any address.
  if (!event.outcome || !event.outcome->ok() || (!named && !is_document(*event.outcome))) {
    places_.erase(places_.begin());
    return next_place();
  }
  auto metadata = parse_resource_metadata(event.outcome->body, config_.server);
  if (!metadata) return fail(metadata.error());
  resource_ = metadata->resource;
  offered_scopes_ = std::move(metadata->scopes);
  const bool same = std::ranges::find(metadata->issuers, record_.issuer.issuer) != metadata->issuers.end();
  if (same && may_refresh_) return refresh();
  look_for_issuer(same ? record_.issuer.issuer : metadata->issuers.front(), false);
}

void SignIn::on_issuer(const Fetched& event) {
  if (!event.outcome || !is_document(*event.outcome)) {
    // If mcpivot may not connect to the address that the server named, the user learns why.
    if (!event.outcome && places_.size() == 1 && !issuer_guessed_) return fail(event.outcome.error());
    places_.erase(places_.begin());
    return next_place();
  }
  auto metadata = parse_issuer_metadata(event.outcome->body, issuer_);
  if (!metadata)
    return fail(fmt::format("the metadata of its authorization server {} can't be used: {}", issuer_,
                            metadata.error()),
                !issuer_guessed_);
  if (const std::string fault = fault_in_page(metadata->authorization_endpoint, addresses()); !fault.empty())
    return fail(fmt::format("the metadata of its authorization server {} can't be used: {}", issuer_, fault));
  if (record_.issuer.issuer != metadata->issuer) record_ = {.server = record_.server};
  record_.issuer = std::move(*metadata);
  record_.resource = resource_;
  authorize();
}

// --- refresh -----------------------------------------------------------------------------------------------

void SignIn::refresh() {
  // The configured secret may have changed since.
  const auto configured = configured_client(config_.client, record_.issuer);
  if (configured) record_.client = *configured;
  fetch(refresh_request(record_.client, record_.issuer, record_.tokens.refresh, record_.resource),
        State::refreshing);
}

void SignIn::on_refreshed(const Fetched& event) {
  if (!record_.signed_in()) return refuse("you signed out meanwhile");
  if (!event.outcome) return fail("its token can't be refreshed now: " + event.outcome.error());
  auto tokens = parse_tokens(*event.outcome, now_, {record_.tokens.refresh, record_.client.secret});
  if (tokens) {
    if (tokens->refresh.empty()) tokens->refresh = record_.tokens.refresh;
    if (tokens->who.empty()) tokens->who = record_.tokens.who;
    // It replaces a token that the user got and no request has used, so it counts as one from the user.
    const bool as_fresh = source_ == Source::user && record_.tokens.access == unproven_;
    source_ = as_fresh ? Source::user : Source::refresh;
    keep(std::move(*tokens));
    return finish();
  }
  const std::string& error = tokens.error().error;
  if (error == "invalid_client" && configured_client(config_.client, record_.issuer))
    return fail(fmt::format("its authorization server {} rejects the configured client: {}",
                            record_.issuer.issuer, tokens.error().text));
  const bool ours_is_unknown = error == "invalid_client" || error == "unauthorized_client";
  if (error != "invalid_grant" && !ours_is_unknown)
    return fail("its token can't be refreshed now: " + tokens.error().text);
  // It ends here: from now on only a new sign-in helps.
  record_.tokens = {};
  if (ours_is_unknown) record_.client = {};
  do_(Save{record_});
  may_refresh_ = false;
  discover();
}

// --- authorization -----------------------------------------------------------------------------------------

void SignIn::authorize() {
  if (!config_.may_ask)
    return fail(fmt::format("run `mcpivot login {}` on the machine that mcpivot runs on", config_.login));
  if (!configured_client(config_.client, record_.issuer) && record_.issuer.registration_endpoint.empty() &&
      record_.client.id.empty())
    return fail_unregistered();
  state_ = State::opening;
  const std::uint16_t known = port_of(record_.client.redirect_uri);
  const std::uint16_t port = config_.client.redirect_port;
  do_(Open{.port = port != 0    ? port
                   : known != 0 ? known
                                : usual_port(config_.server),
           .must_be_it = port != 0});
}

void SignIn::fail_unregistered() {
  fail(
      fmt::format("its authorization server {} takes only clients that it knows: register one there and "
                  "give mcpivot its id (--client-id, or \"oauth\": {{\"client_id\": …}})",
                  record_.issuer.issuer));
}

void SignIn::on_opened(const Opened& event) {
  if (!event.redirect_uri) return fail(event.redirect_uri.error());
  redirect_uri_ = *event.redirect_uri;
  Scopes scopes = parse_scopes(config_.client.scopes);
  if (scopes.empty()) scopes = wanted_.challenge.scopes.empty() ? offered_scopes_ : wanted_.challenge.scopes;
  if (wanted_.challenge.wants_more_scope()) {
    scopes.insert(wanted_.challenge.scopes.begin(), wanted_.challenge.scopes.end());
    scopes.insert(record_.asked.begin(), record_.asked.end());
  }
  if (record_.issuer.scopes.contains("offline_access")) scopes.insert("offline_access");
  asked_ = std::move(scopes);
  if (const auto client = configured_client(config_.client, record_.issuer)) {
    record_.client = *client;
    return ask_user();
  }
  if (!record_.client.id.empty() && record_.client.redirect_uri == redirect_uri_) return ask_user();
  if (record_.issuer.registration_endpoint.empty()) return fail_unregistered();
  const auto endpoint = parse_url(record_.issuer.registration_endpoint);
  if (!endpoint) return fail(endpoint.error());
  fetch(registration_request(*endpoint, redirect_uri_), State::registering);
}

void SignIn::on_registered(const Fetched& event) {
  if (!event.outcome) return fail(event.outcome.error());
  auto client = parse_registration(*event.outcome, redirect_uri_);
  if (!client)
    return fail(
        fmt::format("its authorization server {} doesn't let mcpivot register: {}", issuer_, client.error()));
  record_.client = std::move(*client);
  do_(Save{record_});
  ask_user();
}

void SignIn::ask_user() {
  state_text_ = make_secret_();
  verifier_ = make_secret_() + make_secret_();
  FormFields fields{{"response_type", "code"},
                    {"client_id", record_.client.id},
                    {"redirect_uri", redirect_uri_},
                    {"state", state_text_},
                    {"code_challenge", base64url(sha256_bytes(verifier_))},
                    {"code_challenge_method", "S256"},
                    {"resource", record_.resource}};
  if (!asked_.empty()) fields.emplace_back("scope", scopes_text(asked_));
  // With OpenID, there is a refresh token only if the user is asked.
  if (asked_.contains("offline_access")) fields.emplace_back("prompt", "consent");
  pending_ = {.url = with_query(record_.issuer.authorization_endpoint, fields),
              .redirect_uri = redirect_uri_};
  state_ = State::waiting;
  do_(Show{pending_});
}

// Any program on this machine can call this address, and any web page can send the user there. So first we
// check whether it is an answer to our question at all, and then whose answer. Until that is known, nothing
// of it is shown.
void SignIn::on_redirected(const Redirected& event) {
  if (state_ != State::waiting || !is_secret(only_field(event.fields, "state"), state_text_))
    return do_(Reply{.ok = false, .text = "mcpivot isn't waiting for this sign-in."});
  const bool says = std::ranges::any_of(event.fields, [](const auto& field) { return field.first == "iss"; });
  const auto issuer = only_field(event.fields, "iss");
  if ((says && issuer != record_.issuer.issuer) || (!says && record_.issuer.sends_issuer))
    return fail(
        "the sign-in was answered by a different authorization server than the one that was asked; mcpivot "
        "did not use the answer");
  if (const auto error = only_field(event.fields, "error")) {
    const std::string more = only_field(event.fields, "error_description").value_or("");
    return fail(fmt::format("the sign-in was refused: {}{}{}", shown_text(*error, 100),
                            more.empty() ? "" : ": ", shown_text(more, 200)));
  }
  const auto code = only_field(event.fields, "code");
  if (!code || code->empty()) return fail("the answer to the sign-in has no code");
  code_ = *code;
  fetch(exchange_request(record_.client, record_.issuer, code_, redirect_uri_, verifier_, record_.resource),
        State::exchanging);
}

// An issuer that has forgotten our registration shows the user an error, and doesn't redirect the browser.
void SignIn::on_overdue() {
  const bool ours = !record_.client.redirect_uri.empty();
  if (ours && record_.tokens.refresh.empty()) {
    record_.client = {};
    do_(Save{record_});
  }
  fail("the sign-in timed out; the next call asks again");
}

void SignIn::on_exchanged(const Fetched& event) {
  if (!event.outcome) return fail(event.outcome.error());
  auto tokens = parse_tokens(*event.outcome, now_, {code_, verifier_, record_.client.secret});
  if (!tokens) {
    if (tokens.error().error == "invalid_client" && !record_.client.redirect_uri.empty()) {
      record_.client = {};
      do_(Save{record_});
    }
    return fail("its authorization server didn't issue a token: " + tokens.error().text);
  }
  record_.asked = asked_;
  if (wanted_.login) record_.login = now_;
  source_ = Source::user;
  keep(std::move(*tokens));
  do_(Reply{.ok = true, .text = fmt::format("You are signed in to {}.", config_.name)});
  finish();
}

// --- the end -----------------------------------------------------------------------------------------------

void SignIn::keep(GrantedTokens tokens) {
  record_.tokens = std::move(tokens);
  unproven_ = record_.tokens.access;
  do_(Save{record_});
}

// The record that is saved next must not restore the tokens. An open sign-in page stays valid.
void SignIn::on_signed_out() {
  record_.tokens = {};
  record_.asked = {};
}

// No server may send us to an address less public than its own.
AddressRule SignIn::addresses() const {
  return AddressRule::named_by(wanted_.server.value_or(AddressKind::open));
}

void SignIn::fetch(FetchRequest request, State next) {
  request.addresses = addresses();
  state_ = next;
  do_(Fetch{std::move(request)});
}

void SignIn::finish() {
  failures_ = 0;
  not_before_ = 0;
  do_(Close{});
  do_(EndTurn{});
  do_(Succeed{});
  state_ = State::idle;
  pending_ = {};
  verifier_.clear();
  code_.clear();
}

// What went wrong would go wrong again, so it isn't retried for each request.
void SignIn::fail(std::string words, bool is_offered) {
  last_failure_ = {.words = std::move(words), .is_offered = is_offered};
  failures_ = std::min(failures_ + 1, 10);
  not_before_ = now_ + std::min<std::int64_t>(longest_back_off, 1LL << failures_);
  end(last_failure_);
}

// Nothing was fetched to find this out, so it delays no other request.
void SignIn::refuse(std::string words) {
  end({.words = std::move(words)});
}

void SignIn::end(Fail failure) {
  const bool user_was_asked = state_ == State::waiting || state_ == State::exchanging;
  if (user_was_asked) do_(Reply{.ok = false, .text = "mcpivot could not sign in: " + failure.words + "."});
  do_(Close{});
  do_(EndTurn{});
  do_(std::move(failure));
  state_ = State::idle;
  pending_ = {};
  verifier_.clear();
  code_.clear();
}

}  // namespace mcpivot
