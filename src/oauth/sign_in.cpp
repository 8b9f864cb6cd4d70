#include "oauth/sign_in.h"

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
// A token that is older than this may have been revoked before its first use.
constexpr std::int64_t just_issued = 600;
// In bytes: an address with all of them must fit into a browser, and the record into its file.
constexpr std::size_t most_needed = 4'000;
// Without a request that needs it: others may.
constexpr std::int64_t least_between_renewals = 60;

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

bool is_secret(const std::optional<std::string>& text, const std::string& secret) {
  return text && text->size() == secret.size() &&
         CRYPTO_memcmp(text->data(), secret.data(), secret.size()) == 0;
}

bool is_document(const FetchAnswer& answer) {
  return answer.ok() && JsonDocument::parse(answer.body);
}

}  // namespace

std::string_view text(SignIn::State state) {
  constexpr std::string_view texts[] = {"idle",       "queued",      "finding_resource", "finding_issuer",
                                        "opening",    "registering", "waiting",          "exchanging",
                                        "refreshing", "renewing"};
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
    overdue_ = state_ == State::renewing;
  } else if (const auto* const accepted = std::get_if<Accepted>(&event)) {
    if (accepted->token != taken_) on_accepted(accepted->token);
  } else if (std::holds_alternative<SignedOut>(event)) {
    on_signed_out();
  } else if (const auto* const news = std::get_if<News>(&event)) {
    if (state_ == State::queued) {
      adopt(news->record);
      if (satisfies(record_)) finish();
    }
  } else if (std::holds_alternative<Reminded>(event)) {
    if (state_ == State::waiting) renew();
    if (state_ == State::waiting) remind(now_ + least_between_renewals);
  }
  return std::move(effects_);
}

// --- the turn ----------------------------------------------------------------------------------------------

// Whether this record has what the request lacked.
bool SignIn::satisfies(const SignInRecord& record) const {
  if (!record.signed_in()) return false;
  // A user who wants to sign in isn't satisfied by a token that was only refreshed.
  if (wanted_.login) return record.sign_ins != sign_ins_;
  if (record.tokens.access == wanted_.rejected) return false;
  return !wanted_.challenge.wants_more_scope() || includes(record.asked, wanted_.challenge.scopes);
}

// No request has used the token, which was just issued: there is no better one.
bool SignIn::is_fresh() const {
  return record_.trial.runs() && now_ - record_.trial.since < just_issued;
}

void SignIn::on_wanted(const Wanted& event) {
  if (state_ == State::waiting) return on_wanted_meanwhile(event);
  if (state_ != State::idle) return;  // all callers wait for the same outcome
  wanted_ = event;
  may_refresh_ = false;
  sign_ins_ = record_.sign_ins;
  if (satisfies(record_)) return do_(Succeed{});
  const Pause& paused = pause(event.challenge);
  if (lasts(paused) && !event.login) return do_(paused.last);
  state_ = State::queued;
  do_(TakeTurn{});
}

// While the user is asked, the old token may still be good, or refreshed, for requests that need no more.
void SignIn::on_wanted_meanwhile(const Wanted& event) {
  if (!record_.signed_in() || event.challenge.wants_more_scope()) return;
  if (event.rejected != record_.tokens.access) return do_(Renewed{});
  // One that is rejected at once is as good as it gets.
  const bool expired = record_.tokens.expires != 0 && record_.tokens.expires <= now_ + leeway;
  if (!is_fresh() || expired) renew();
}

void SignIn::on_accepted(const std::string& token) {
  taken_ = token;
  if (token == unproven_) {
    unproven_.clear();
    step_ups_ = 0;
  }
  if (token != record_.tokens.access || !record_.trial.runs()) return;
  record_.trial.of = TokenTrial::Of::nothing;
  if (state_ == State::idle || state_ == State::queued)
    do_(Prove{});
  else
    do_(Save{record_});
}

void SignIn::adopt(SignInRecord record) {
  record_ = std::move(record);
  if (!taken_.empty() && record_.tokens.access == taken_) record_.trial.of = TokenTrial::Of::nothing;
}

void SignIn::on_turn(const Turn& event) {
  adopt(event.record);
  if (satisfies(record_)) return finish();
  if (!event.asked) return fail("nobody signed in");
  // A user who runs `mcpivot login`, in any process, wants it to be tried again.
  if (wanted_.login || std::exchange(login_, record_.login) != record_.login) step_ups_ = 0;
  client_ = record_.client;
  const GrantedTokens& tokens = record_.tokens;
  const bool current = record_.signed_in() && tokens.access == wanted_.rejected && !wanted_.login;
  may_refresh_ = current && !tokens.refresh.empty();
  // A refresh may come a bit early; a question to the user may not.
  const bool expired = tokens.expires != 0 && tokens.expires <= now_ + (may_refresh_ ? leeway : 0);
  if (current && wanted_.challenge.wants_more_scope()) {
    const Scopes& scopes = wanted_.challenge.scopes;
    const bool helps = !scopes.empty() && !includes(record_.asked, scopes);
    if (helps && !config_.may_ask) return need(scopes);
    if (!helps || ++step_ups_ > most_step_ups)
      return refuse(fmt::format("it wants more than the sign-in grants ({}); ask its operator for access",
                                scopes.empty() ? "it doesn't say what" : "scope " + scopes_text(scopes)));
    may_refresh_ = false;
    return discover();
  }
  if (may_refresh_ && expired && !refresh_failed_) return refresh();
  TokenTrial& trial = record_.trial;
  const bool fresh = is_fresh();
  if (current && fresh && !expired) {
    // There is no better token than one that the user has just approved.
    if (trial.of == TokenTrial::Of::users_token) {
      if (!std::exchange(trial.failed, true)) {
        ++trial.failures;
        do_(Save{record_});
      }
      return refuse("it rejects the token that its own authorization server has just issued for it");
    }
    may_refresh_ = false;
  }
  // The server may accept these tokens for other requests: without a limit, each of these calls would ask.
  if (current && !may_refresh_ && (fresh || !expired) && trial.failures >= most_fresh_rejections)
    return refuse(
        fmt::format("it rejects the tokens that its own authorization server issues for it; run "
                    "`mcpivot login {}` to try again",
                    config_.login));
  discover();
}

// Only the operator can ask for them.
void SignIn::need(const Scopes& scopes) {
  Scopes all = record_.needed;
  all.insert(scopes.begin(), scopes.end());
  if (all != record_.needed && scopes_text(all).size() <= most_needed) {
    record_.needed = std::move(all);
    do_(Save{record_});
  }
  refuse(fmt::format("to allow {}, run `mcpivot login {}` on the machine that mcpivot runs on",
                     scopes_text(scopes), config_.login));
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
  if (!url) return fail(fmt::format("its authorization server isn't a URL: {}", shown_text(issuer, 200)));
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
    case State::renewing:
      return on_renewed(event);
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
  if (same && may_refresh_ && !refresh_failed_) return refresh();
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
  if (record_.issuer.issuer != metadata->issuer) {
    may_refresh_ = false;
    if (!config_.client.id.empty() && record_.client.id == config_.client.id)
      return fail(
          fmt::format("its authorization server was {} and is now {}, and the configured client belongs to "
                      "the first one; if "
                      "that is right, run `mcpivot logout {}`, then sign in again",
                      record_.issuer.issuer, metadata->issuer, config_.login));
    record_ = {.server = record_.server, .sign_ins = record_.sign_ins};
    client_ = {};
  }
  record_.issuer = std::move(*metadata);
  record_.resource = resource_;
  if (may_refresh_) return refresh();
  authorize();
}

// --- refresh -----------------------------------------------------------------------------------------------

FetchRequest SignIn::refresh_of_tokens() {
  // The configured secret may have changed since.
  const auto configured = configured_client(config_.client, record_.issuer);
  if (configured) record_.client = *configured;
  return refresh_request(record_.client, record_.issuer, record_.tokens.refresh, record_.resource);
}

void SignIn::refresh() {
  fetch(refresh_of_tokens(), State::refreshing);
}

// The tokens of a refresh.
void SignIn::take_over(GrantedTokens tokens) {
  if (tokens.refresh.empty()) tokens.refresh = record_.tokens.refresh;
  if (tokens.who.empty()) tokens.who = record_.tokens.who;
  // If it replaces a token that the user got and no request has used, it counts as one from the user.
  const bool as_fresh = record_.trial.of == TokenTrial::Of::users_token;
  keep(std::move(tokens), as_fresh ? TokenTrial::Of::users_token : TokenTrial::Of::refreshed_token);
}

void SignIn::on_refreshed(const Fetched& event) {
  if (!record_.signed_in()) return refuse("you signed out meanwhile");
  refresh_failed_ = true;
  if (!event.outcome) return fail(event.outcome.error());
  auto tokens = parse_tokens(*event.outcome, now_, {record_.tokens.refresh, record_.client.secret});
  if (tokens) {
    take_over(std::move(*tokens));
    return finish();
  }
  const std::string& error = tokens.error().error;
  const bool configured = configured_client(config_.client, record_.issuer).has_value();
  if (error == "invalid_client" && configured)
    return fail(fmt::format("its authorization server {} rejects the configured client: {}",
                            record_.issuer.issuer, tokens.error().text));
  const bool ours_is_unknown = error == "invalid_client" || error == "unauthorized_client";
  if (error != "invalid_grant" && !ours_is_unknown) return fail(tokens.error().text);
  // It ends here: from now on only a new sign-in helps.
  record_.tokens = {};
  if (ours_is_unknown && !configured) record_.client = client_ = {};
  do_(Save{record_});
  may_refresh_ = false;
  discover();
}

// The same while the user is asked.
void SignIn::remind(std::int64_t earliest) {
  if (record_.signed_in() && !record_.tokens.refresh.empty() && record_.tokens.expires != 0)
    do_(Remind{std::max(record_.tokens.expires, earliest)});
}

void SignIn::renew() {
  if (record_.tokens.refresh.empty() || lasts(pause_)) return;
  fetch(refresh_of_tokens(), State::renewing);
}

// If it fails, those who wait are told what to open, as before.
void SignIn::on_renewed(const Fetched& event) {
  state_ = State::waiting;
  if (record_.signed_in()) {
    auto tokens = event.outcome
                      ? parse_tokens(*event.outcome, now_, {record_.tokens.refresh, record_.client.secret})
                      : std::unexpected(TokenRefusal{.error = {}, .text = event.outcome.error()});
    if (tokens) {
      pause_ = {};
      take_over(std::move(*tokens));
      do_(Renewed{});
    } else if (tokens.error().error == "invalid_grant") {
      record_.tokens = {};
      do_(Save{record_});
    } else {
      lengthen(pause_, {.words = unrefreshed(tokens.error().text)});
    }
    remind(now_ + least_between_renewals);
  }
  if (const auto fields = std::exchange(held_, std::nullopt)) return on_redirected({*fields});
  if (overdue_) on_overdue();
}

// --- authorization -----------------------------------------------------------------------------------------

void SignIn::authorize() {
  if (!config_.may_ask)
    return fail(fmt::format("run `mcpivot login {}` on the machine that mcpivot runs on", config_.login));
  if (!configured_client(config_.client, record_.issuer) && record_.issuer.registration_endpoint.empty() &&
      client_.id.empty())
    return fail_unregistered();
  state_ = State::opening;
  const std::uint16_t known = port_of(client_.redirect_uri);
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
  const bool configured = !scopes.empty();
  const bool more = wanted_.challenge.wants_more_scope();
  if (!configured) scopes = wanted_.challenge.scopes.empty() ? offered_scopes_ : wanted_.challenge.scopes;
  if (more) scopes.insert(wanted_.challenge.scopes.begin(), wanted_.challenge.scopes.end());
  // Otherwise calls that worked before would have to ask the user for theirs again.
  if (more || !configured) scopes.insert(record_.asked.begin(), record_.asked.end());
  if (wanted_.login) scopes.insert(record_.needed.begin(), record_.needed.end());
  if (record_.issuer.scopes.contains("offline_access")) scopes.insert("offline_access");
  asked_ = std::move(scopes);
  if (const auto client = configured_client(config_.client, record_.issuer)) {
    client_ = *client;
    return ask_user();
  }
  if (!client_.id.empty() && client_.redirect_uri == redirect_uri_) return ask_user();
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
  client_ = std::move(*client);
  // The old tokens can be refreshed only as the client that they were issued to.
  if (record_.tokens.refresh.empty()) {
    record_.client = client_;
    do_(Save{record_});
  }
  ask_user();
}

void SignIn::ask_user() {
  state_text_ = make_secret_();
  verifier_ = make_secret_() + make_secret_();
  FormFields fields{{"response_type", "code"},
                    {"client_id", client_.id},
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
  held_.reset();
  overdue_ = false;
  do_(Show{pending_});
  remind(now_);
}

// Any program on this machine can call this address, and any web page can send the user there. So first we
// check whether it is an answer to our question at all, and then whose answer. Until that is known, nothing
// of it is shown.
void SignIn::on_redirected(const Redirected& event) {
  const bool waits = state_ == State::waiting || (state_ == State::renewing && !held_);
  if (!waits || !is_secret(only_field(event.fields, "state"), state_text_))
    return do_(Reply{.ok = false, .text = "mcpivot isn't waiting for this sign-in."});
  if (state_ == State::renewing) {
    held_ = event.fields;
    return;
  }
  const bool says = std::ranges::any_of(event.fields, [](const auto& field) { return field.first == "iss"; });
  const auto issuer = only_field(event.fields, "iss");
  if ((says && issuer != record_.issuer.issuer) || (!says && record_.issuer.sends_issuer))
    return fail(
        "the sign-in was answered by a different authorization server than the one that was asked; mcpivot "
        "did not use the answer");
  if (const auto error = only_field(event.fields, "error")) {
    forget_scopes(*error);
    const std::string more = only_field(event.fields, "error_description").value_or("");
    return fail(fmt::format("the sign-in was refused: {}{}{}", shown_text(*error, 100),
                            more.empty() ? "" : ": ", shown_text(more, 200)));
  }
  const auto code = only_field(event.fields, "code");
  if (!code || code->empty()) return fail("the answer to the sign-in has no code");
  code_ = *code;
  fetch(exchange_request(client_, record_.issuer, code_, redirect_uri_, verifier_, record_.resource),
        State::exchanging);
}

// The issuer may not have these scopes, or the user may not want to grant them: the next sign-in must work.
void SignIn::forget_scopes(const std::string& error) {
  // The token still has those of before.
  const bool keeps = record_.signed_in() && (!wanted_.login || error == "access_denied");
  if (keeps && (!wanted_.login || record_.needed.empty())) return;
  if (record_.asked.empty() && record_.needed.empty()) return;
  if (!keeps) record_.asked.clear();
  if (wanted_.login) record_.needed.clear();
  do_(Save{record_});
}

// An issuer that has forgotten our registration shows the user an error, and doesn't redirect the browser.
void SignIn::on_overdue() {
  const bool ours = !client_.redirect_uri.empty();
  if (ours && record_.tokens.refresh.empty()) {
    record_.client = {};
    do_(Save{record_});
  }
  fail("the sign-in timed out; the next call asks again");
}

void SignIn::on_exchanged(const Fetched& event) {
  if (!event.outcome) return fail(event.outcome.error());
  auto tokens = parse_tokens(*event.outcome, now_, {code_, verifier_, client_.secret});
  if (!tokens) {
    if (tokens.error().error == "invalid_client" && !client_.redirect_uri.empty() &&
        client_.id == record_.client.id) {
      record_.client = {};
      do_(Save{record_});
    }
    return fail("its authorization server didn't issue a token: " + tokens.error().text);
  }
  record_.client = client_;
  record_.asked = asked_;
  ++record_.sign_ins;
  if (wanted_.login) {
    record_.login = now_;
    record_.trial.failures = 0;
  }
  keep(std::move(*tokens), TokenTrial::Of::users_token);
  do_(Reply{.ok = true, .text = fmt::format("You are signed in to {}.", config_.name)});
  finish();
}

// --- the end -----------------------------------------------------------------------------------------------

void SignIn::keep(GrantedTokens tokens, TokenTrial::Of trial) {
  record_.tokens = std::move(tokens);
  record_.trial = {.of = trial, .failures = record_.trial.failures, .since = now_};
  unproven_ = record_.tokens.access;
  refresh_failed_ = false;
  do_(Save{record_});
}

// The record that is saved next must not restore the tokens. An open sign-in page stays valid.
void SignIn::on_signed_out() {
  record_.tokens = {};
  record_.asked = record_.needed = {};
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
  pause(wanted_.challenge) = {};
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
  if (may_refresh_ && is_offered) words = unrefreshed(words);
  Fail failure{.words = std::move(words), .is_offered = is_offered};
  lengthen(pause(wanted_.challenge), failure);
  end(std::move(failure));
}

std::string SignIn::unrefreshed(const std::string& why) const {
  return fmt::format("its token can't be refreshed now: {}; if that lasts, run `mcpivot login {}`", why,
                     config_.login);
}

void SignIn::lengthen(Pause& pause, Fail failure) const {
  pause.failures = std::min(pause.failures + 1, 10);
  pause.until = now_ + std::min<std::int64_t>(longest_back_off, 1LL << pause.failures);
  pause.last = std::move(failure);
}

// The clock may have been set back.
bool SignIn::lasts(const Pause& pause) const {
  return now_ < pause.until && pause.until - now_ <= longest_back_off;
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
