#include "oauth/sign_in_runner.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/duration_text.h"
#include "base/secret.h"
#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;

// Another process has the turn: it refreshes in a moment, or waits for a user.
constexpr milliseconds next_try{100};
constexpr milliseconds next_look{1'000};

// Also when an exception ends what was running.
class Reset {
 public:
  explicit Reset(bool& flag) : flag_(flag) {}
  ~Reset() { flag_ = false; }
  Reset(const Reset&) = delete;
  Reset& operator=(const Reset&) = delete;

 private:
  bool& flag_;
};

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

SignInRunner::SignInRunner(boost::asio::io_context& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      machine_(options_.sign_in, random_text),
      store_(options_.sign_in.server, options_.sign_in.client, options_.folder),
      fetcher_(loop, options_.fetch),
      turn_timer_(loop),
      tell_timer_(loop),
      user_timer_(loop),
      look_timer_(loop),
      renew_timer_(loop) {
  stamp_ = store_.stamp();
  machine_.adopt(store_.read());
  announced_ = machine_.token();
}

void SignInRunner::close(const std::string& why) {
  closed_ = true;
  for (auto* timer : {&turn_timer_, &tell_timer_, &look_timer_, &renew_timer_}) timer->cancel();
  user_timer_.cancel();
  fetcher_.close();
  listener_.reset();
  reply_ = exchange_reply_ = nullptr;
  store_.end_turn();
  tell(std::unexpected(Refusal{why}));
  login_ = nullptr;
  for (auto& then : std::exchange(settled_, {})) boost::asio::post(loop_, std::move(then));
}

void SignInRunner::replace() {
  const std::string why = "its configuration changed; call again";
  if (shown_) tell_over(why);
  over_ = nullptr;
  replaced_ = true;
  if (is_settled()) return close(why);
  tell(std::unexpected(Refusal{why}));
}

void SignInRunner::when_settled(std::function<void()> then) {
  if (is_settled()) return boost::asio::post(loop_, std::move(then));
  settled_.push_back(std::move(then));
}

// --- waiting callers ---------------------------------------------------------------------------------------

// Another process may have refreshed it, or the user signed out there.
const std::string& SignInRunner::token() {
  if (std::chrono::steady_clock::now() - looked_ > next_look) look_at_record();
  return machine_.token();
}

bool SignInRunner::concerns(const Rejection& rejection) const {
  if (rejection.status == 401) return true;
  return rejection.status == 403 && parse_challenge(rejection.challenge).wants_more_scope();
}

void SignInRunner::rejected(const Rejection& rejection, Then then) {
  if (closed_ || replaced_)
    return boost::asio::post(loop_, [then = std::move(then)] { then(std::unexpected(Refusal{})); });
  Challenge challenge = parse_challenge(rejection.challenge);
  waiting_.push_back({std::move(then), challenge.wants_more_scope()});
  if (!pending_.url.empty()) tell_later();
  look_at_record();
  happens(SignIn::Wanted{
      .challenge = std::move(challenge), .rejected = rejection.token, .server = rejection.address});
}

void SignInRunner::accepted(const std::string& token) {
  if (!closed_) happens(SignIn::Accepted{token});
}

void SignInRunner::login(const Challenge& challenge, std::optional<AddressKind> server,
                         std::function<void(const PendingSignIn&)> on_show, Then then) {
  on_show_ = std::move(on_show);
  login_ = std::move(then);
  happens(SignIn::Wanted{.challenge = challenge, .server = server, .login = true});
}

SignInRunner::Pasted SignInRunner::paste(const std::string& url) {
  if (pending_.redirect_uri.empty() || !url.starts_with(pending_.redirect_uri + "?"))
    return Pasted::elsewhere;
  if (machine_.state() == SignIn::State::waiting) {
    happens(SignIn::Redirected{parse_form(std::string_view(url).substr(url.find('?') + 1))});
    return machine_.state() == SignIn::State::waiting ? Pasted::stale : Pasted::taken;
  }
  if (const auto there = parse_url(url)) {
    // Another process waits for it, at the address that the browser was sent to.
    fetcher_.fetch({.url = *there, .accept = "*/*"}, [this](const auto& answer) {
      if (answer) return;
      happens(
          SignIn::NoTurn{"the mcpivot that asked for this sign-in doesn't answer; if it is stopped, continue "
                         "or end it, then try again"});
    });
  }
  return Pasted::taken;
}

void SignInRunner::tell(const std::expected<void, Refusal>& outcome) {
  tell_timer_.cancel();
  telling_ = false;
  for (Waiting& one : std::exchange(waiting_, {}))
    boost::asio::post(loop_,
                      [then = std::move(one.then), outcome] { survive("sign-in", [&] { then(outcome); }); });
}

// The others go on waiting for the user.
void SignInRunner::tell_renewed() {
  std::vector<Waiting> others;
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (one.for_more_scope)
      others.push_back(std::move(one));
    else
      boost::asio::post(loop_, [then = std::move(one.then)] { survive("sign-in", [&] { then({}); }); });
  }
  waiting_ = std::move(others);
}

// Calls that wait for a user don't have to wait for as long as the sign-in takes.
void SignInRunner::tell_later() {
  if (telling_ || waiting_.empty()) return;
  telling_ = true;
  tell_timer_.expires_after(pending_.in_browser ? options_.patience : options_.patience_without_browser);
  tell_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    auto self = weak.lock();
    if (error || !self || self->closed_) return;
    self->telling_ = false;
    if (!self->pending_.url.empty()) self->tell(std::unexpected(self->to_open()));
  });
}

Authorizer::Refusal SignInRunner::to_open() const {
  // Another process asks its user, who isn't one of our clients.
  if (!options_.sign_in.may_ask)
    return {
        "the server wants a sign-in, and the operator of mcpivot is signing in now; try again in a moment"};
  return {fmt::format("the server wants you to sign in: open {} in a browser (or run `{}`), then call again",
                      pending_.url, options_.login)};
}

// --- the machine -------------------------------------------------------------------------------------------

// Effects never happen inside a transition, nor one transition inside the effects of another.
void SignInRunner::happens(SignIn::Event event) {
  events_.push_back(std::move(event));
  if (std::exchange(running_, true)) return;
  const auto keep = weak_from_this().lock();
  take_events();
  if (closed_ || machine_.is_trading()) return;
  if (replaced_) return close();
  for (auto& then : std::exchange(settled_, {})) boost::asio::post(loop_, std::move(then));
}

void SignInRunner::take_events() {
  const Reset reset(running_);
  while (!events_.empty() && !closed_) {
    const SignIn::Event next = std::move(events_.front());
    events_.pop_front();
    notice_sign_out();
    const SignIn::State before = machine_.state();
    auto effects = machine_.on(next, unix_now());
    if (machine_.state() != before)
      log_debug("{}: sign-in: {} → {}", options_.sign_in.name, text(before), text(machine_.state()));
    for (SignIn::Effect& effect : effects) run(effect);
    if (reply_) exchange_reply_ = std::exchange(reply_, nullptr);
  }
}

// While we have the turn, only `mcpivot logout` writes the record.
void SignInRunner::notice_sign_out() {
  if (!store_.has_turn() || store_.stamp() == stamp_) return;
  stamp_ = store_.stamp();
  if (!store_.read().signed_in()) machine_.on(SignIn::SignedOut{}, unix_now());
}

void SignInRunner::run(SignIn::Effect& effect) {
  if (closed_) return;
  if (std::holds_alternative<SignIn::TakeTurn>(effect)) {
    silent_since_ = std::chrono::steady_clock::now();
    return take_turn();
  }
  if (std::holds_alternative<SignIn::EndTurn>(effect)) return store_.end_turn();
  if (auto* const fetch = std::get_if<SignIn::Fetch>(&effect)) {
    return fetcher_.fetch(std::move(fetch->request), [this](std::expected<FetchAnswer, std::string> outcome) {
      happens(SignIn::Fetched{std::move(outcome)});
    });
  }
  if (const auto* const wanted = std::get_if<SignIn::Open>(&effect)) return open(*wanted);
  if (std::holds_alternative<SignIn::Close>(effect)) {
    listener_.reset();
    user_timer_.cancel();
    turn_timer_.cancel();
    renew_timer_.cancel();
    pending_ = {};
    return;
  }
  if (const auto* const reminder = std::get_if<SignIn::Remind>(&effect)) {
    renew_timer_.expires_after(std::chrono::seconds(std::max<std::int64_t>(reminder->at - unix_now(), 0)));
    renew_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      auto self = weak.lock();
      if (!error && self && !self->closed_) self->happens(SignIn::Reminded{});
    });
    return;
  }
  if (std::holds_alternative<SignIn::Renewed>(effect)) return tell_renewed();
  if (const auto* const shown = std::get_if<SignIn::Show>(&effect)) return show(shown->pending, true);
  if (const auto* const save = std::get_if<SignIn::Save>(&effect)) {
    const auto written = store_.write(save->record);
    unsaved_ = written ? std::string() : written.error();
    if (!written) log_warn("{}: {}", options_.sign_in.name, unsaved_);
    stamp_ = store_.stamp();
    return;
  }
  if (std::holds_alternative<SignIn::Prove>(effect)) return prove();
  if (const auto* const answer = std::get_if<SignIn::Reply>(&effect)) {
    const auto reply = std::exchange(reply_ ? reply_ : exchange_reply_, nullptr);
    if (reply) reply(answer->ok, answer->text);
    return;
  }
  if (std::holds_alternative<SignIn::Succeed>(effect)) {
    trouble_.clear();
    look_timer_.cancel();
    looking_ = false;
    tell({});
    // `mcpivot login` signs in for other processes, which need the file.
    if (auto then = std::exchange(login_, nullptr)) {
      if (unsaved_.empty())
        then({});
      else
        then(std::unexpected(Refusal{unsaved_}));
    }
    announce_token();
    return;
  }
  const auto& failure = std::get<SignIn::Fail>(effect);
  log_info("{}: signing in: {}", options_.sign_in.name, failure.words);
  trouble_ = failure.is_offered ? failure.words : std::string();
  const std::string_view how = options_.sign_in.may_ask ? "the server wants you to sign in, and that failed"
                                                        : "the server wants a sign-in";
  const Refusal refusal{failure.is_offered ? fmt::format("{}: {}", how, failure.words) : std::string()};
  tell(std::unexpected(refusal));
  if (auto then = std::exchange(login_, nullptr)) then(std::unexpected(Refusal{failure.words}));
  if (std::exchange(shown_, false)) tell_over(failure.words);
  if (failure.is_offered) look_at_record_later();
}

// If another process has the turn, it will see for itself.
void SignInRunner::prove() {
  const std::string before = store_.stamp();
  if (store_.take_turn() != LockFile::Taken::yes) return;
  SignInRecord record = store_.read();
  if (record.tokens.access == machine_.token() && record.trial.runs()) {
    record.trial.of = TokenTrial::Of::nothing;
    if (const auto written = store_.write(record); !written)
      log_warn("{}: {}", options_.sign_in.name, written.error());
    if (stamp_ == before) stamp_ = store_.stamp();
  }
  store_.end_turn();
}

void SignInRunner::take_turn() {
  const LockFile::Taken taken = store_.take_turn();
  if (taken == LockFile::Taken::yes) {
    pending_ = {};
    // What couldn't be written is only here. The file may have tokens that the issuer has replaced.
    const bool ours = !unsaved_.empty() && store_.stamp() == stamp_;
    stamp_ = store_.stamp();
    return happens(SignIn::Turn{.record = ours ? machine_.record() : store_.read(),
                                .asked = !waiting_.empty() || login_});
  }
  if (taken == LockFile::Taken::impossible)
    return happens(
        SignIn::NoTurn{fmt::format("mcpivot can't write to {}: {}", options_.folder, std::strerror(errno))});
  // Who has the turn may refresh the token while it asks its user for something else.
  if (const std::string stamp = store_.stamp(); stamp != stamp_) {
    stamp_ = stamp;
    happens(SignIn::News{store_.read()});
    if (machine_.state() != SignIn::State::queued) return;
  }
  const auto announced = store_.announced();
  if (announced && announced->url != pending_.url) show(*announced, false);
  if (!announced) pending_ = {};
  const auto now = std::chrono::steady_clock::now();
  if (announced) silent_since_ = now;
  if (now - silent_since_ >= options_.for_turn)
    return happens(
        SignIn::NoTurn{fmt::format("another mcpivot has been signing in or refreshing the token for {}; if "
                                   "it is stopped, continue or end it",
                                   duration_text(options_.for_turn))});
  turn_timer_.expires_after(announced && waiting_.empty() && !login_ ? next_look : next_try);
  turn_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    auto self = weak.lock();
    if (!error && self && !self->closed_) self->take_turn();
  });
}

void SignInRunner::open(const SignIn::Open& wanted) {
  // A request that has arrived is read to its end, though we may be gone by then.
  auto on_redirect = [weak = weak_from_this()](FormFields fields, RedirectListener::Reply reply) {
    auto self = weak.lock();
    if (!self || self->closed_) return;
    self->reply_ = std::move(reply);
    self->happens(SignIn::Redirected{std::move(fields)});
  };
  auto opened = RedirectListener::open(loop_, wanted.port, wanted.must_be_it, std::move(on_redirect));
  if (!opened) return happens(SignIn::Opened{std::unexpected(opened.error())});
  listener_ = std::move(*opened);
  happens(SignIn::Opened{listener_->redirect_uri()});
}

// `ours`: we ask the user; else another process does.
void SignInRunner::show(const PendingSignIn& pending, bool ours) {
  pending_ = pending;
  shown_ = true;
  if (ours) {
    pending_.in_browser = options_.open && options_.open(pending.url);
    store_.announce(pending_);
    user_timer_.expires_after(options_.for_user);
    user_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      auto self = weak.lock();
      if (!error && self && !self->closed_) self->happens(SignIn::Overdue{});
    });
    log_info("{}: it wants a sign-in at {}; {}", options_.sign_in.name, machine_.record().issuer.issuer,
             pending_.in_browser ? "the browser was opened" : "there is no browser to open");
  }
  if (on_show_) on_show_(pending_);
  tell_later();
}

// --- what other processes do -------------------------------------------------------------------------------

void SignInRunner::look_at_record_later() {
  if (std::exchange(looking_, true)) return;
  look_timer_.expires_after(next_look);
  look_timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    auto self = weak.lock();
    if (error || !self || self->closed_) return;
    self->looking_ = false;
    self->look_at_record();
    if (!self->trouble_.empty()) self->look_at_record_later();
  });
}

void SignInRunner::look_at_record() {
  if (machine_.state() != SignIn::State::idle) return;
  looked_ = std::chrono::steady_clock::now();
  const std::string now = store_.stamp();
  if (now == stamp_) return;
  stamp_ = now;
  const std::string before = machine_.token();
  machine_.adopt(store_.read());
  if (machine_.token().empty() || machine_.token() == before) return;
  log_info("{}: signed in by another mcpivot", options_.sign_in.name);
  trouble_.clear();
  announce_token();
}

void SignInRunner::announce_token() {
  shown_ = false;
  if (std::exchange(announced_, machine_.token()) != machine_.token()) tell_over({});
}

void SignInRunner::tell_over(const std::string& trouble) {
  if (over_) boost::asio::post(loop_, [over = over_, trouble] { over(trouble); });
}

std::string SignInRunner::describe() const {
  if (!pending_.url.empty()) return fmt::format("waiting for you; run `{}`", options_.login);
  const SignInRecord& record = machine_.record();
  if (record.signed_in()) return record_line(record);
  if (!trouble_.empty()) return fmt::format("signed out: {}", trouble_);
  return record.issuer.issuer.empty() ? std::string() : "signed out";
}

}  // namespace mcpivot
