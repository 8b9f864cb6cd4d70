// Signing in to one server, as a state machine: an event comes in, the state changes, and effects come out,
// which SignInRunner carries out afterwards. Nothing is fetched, stored, shown or waited for in here, so each
// step, and each attack, can be tested alone.
//
//   idle → queued → finding_resource → finding_issuer → opening → registering → waiting → exchanging → idle
//                 ↘ refreshing → idle                                    ⇅
//                                                                     renewing
//
// From queued to idle the machine has the turn, which one process has at a time: so five of them, with fifty
// requests, register once, ask the user once and refresh once; every caller that waited finds the token in
// the record.
//
// A user who is asked, for more scopes for example, may take minutes, or never come. In the meantime, the
// process that has the turn refreshes the old tokens, for all calls that can use them.
//
// Plain data; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oauth/challenge.h"
#include "oauth/form.h"
#include "oauth/sign_in_record.h"

namespace mcpivot {

class SignIn {
 public:
  struct Config {
    std::string name;  // of the server, for people to read
    Url server;
    ClientConfig client;
    bool may_ask = true;       // false: only the operator signs in, with `mcpivot login`
    std::string login = name;  // the argument for it
  };
  using MakeSecret = std::function<std::string()>;  // an unguessable text of letters and digits

  SignIn(Config config, MakeSecret make_secret);

  // --- states

  enum class State : std::uint8_t {
    idle,
    queued,            // for the turn
    finding_resource,  // what the server says of its issuers
    finding_issuer,    // what the issuer says of itself
    opening,           // the place where the user comes back to
    registering,
    waiting,  // for the user
    exchanging,
    refreshing,
    renewing  // waiting for the user, and refreshing the old token meanwhile
  };

  // --- what happens

  // A request was turned away, or a user wants to sign in.
  struct Wanted {
    Challenge challenge{};
    std::string rejected{};               // the token that it had; empty: none
    std::optional<AddressKind> server{};  // where the server is
    bool login = false;                   // the user wants to sign in, whatever is in the record
  };
  // We have the turn.
  struct Turn {
    SignInRecord record;
    bool asked = true;  // a caller still waits for it
  };
  // The turn can't be had at all.
  struct NoTurn {
    std::string why;
  };
  struct Fetched {
    std::expected<FetchAnswer, std::string> outcome;
  };
  struct Opened {
    std::expected<std::string, std::string> redirect_uri;
  };
  // The user's browser, or another program, came back with this.
  struct Redirected {
    FormFields fields;
  };
  // The user didn't come back in time.
  struct Overdue {};
  // The server took a request with this token.
  struct Accepted {
    std::string token;
  };
  // The user signed out, in another process, while we have the turn.
  struct SignedOut {};
  // Another process has the turn, and has changed the record.
  struct News {
    SignInRecord record;
  };
  // The time that was to be waited for, by Remind, has come.
  struct Reminded {};
  using Event = std::variant<Wanted, Turn, NoTurn, Fetched, Opened, Redirected, Overdue, Accepted, SignedOut,
                             News, Reminded>;

  // --- what is to be done

  struct TakeTurn {};
  struct EndTurn {};
  struct Fetch {
    FetchRequest request;
  };
  struct Open {
    std::uint16_t port;       // for the user to come back to
    bool must_be_it = false;  // otherwise any port will do
  };
  struct Close {};
  struct Show {
    PendingSignIn pending;
  };
  struct Save {
    SignInRecord record;
  };
  // The server took the token, which other processes don't know yet. We don't have the turn.
  struct Prove {};
  // The text of the page that the browser shows.
  struct Reply {
    bool ok;
    std::string text;
  };
  // When the old token has expired: until Close.
  struct Remind {
    std::int64_t at;
  };
  // There is a fresh token for the callers that don't wait for the user.
  struct Renewed {};
  // For the callers that wait: there is a token, or why not.
  struct Succeed {};
  struct Fail {
    std::string words;       // continues "the server wants you to sign in" or stands alone
    bool is_offered = true;  // false: this server has no sign-in, and what it said stands
  };
  using Effect = std::variant<TakeTurn, EndTurn, Fetch, Open, Close, Show, Save, Prove, Reply, Remind,
                              Renewed, Succeed, Fail>;
  using Effects = std::vector<Effect>;

  // `now` in seconds since 1970.
  Effects on(const Event& event, std::int64_t now);

  State state() const { return state_; }
  // A request is under way whose answer has new tokens, and makes the old ones worthless: without that answer
  // the sign-in is lost.
  bool is_trading() const {
    return state_ == State::refreshing || state_ == State::renewing || state_ == State::exchanging;
  }
  const SignInRecord& record() const { return record_; }
  // Another process changed it.
  void adopt(SignInRecord record);
  const std::string& token() const { return record_.tokens.access; }
  const PendingSignIn& pending() const { return pending_; }

 private:
  void on_wanted(const Wanted& event);
  void on_turn(const Turn& event);
  void on_fetched(const Fetched& event);
  void on_resource(const Fetched& event);
  void on_issuer(const Fetched& event);
  void on_registered(const Fetched& event);
  void on_exchanged(const Fetched& event);
  void on_refreshed(const Fetched& event);
  void on_renewed(const Fetched& event);
  void on_opened(const Opened& event);
  void on_redirected(const Redirected& event);
  void on_overdue();
  void on_signed_out();
  void on_accepted(const std::string& token);

  bool satisfies(const SignInRecord& record) const;
  bool is_fresh() const;
  void on_wanted_meanwhile(const Wanted& event);
  void renew();
  void remind(std::int64_t earliest);
  FetchRequest refresh_of_tokens();
  void take_over(GrantedTokens tokens);
  void discover();
  void no_more_places();
  void look_for_issuer(const std::string& issuer, bool guessed);
  void refresh();
  void authorize();
  void ask_user();
  void keep(GrantedTokens tokens, TokenTrial::Of trial);
  AddressRule addresses() const;
  void fetch(FetchRequest request, State next);
  void next_place();
  void finish();
  void fail(std::string words, bool is_offered = true);
  void refuse(std::string words);
  std::string unrefreshed(const std::string& why) const;
  void need(const Scopes& scopes);
  void forget_scopes(const std::string& error);
  void fail_unregistered();
  void end(Fail failure);
  void do_(Effect effect) { effects_.push_back(std::move(effect)); }

  Config config_;
  MakeSecret make_secret_;
  State state_ = State::idle;
  SignInRecord record_;
  Effects effects_;

  std::int64_t now_ = 0;

  // Of the current attempt
  Wanted wanted_;
  std::vector<std::string> places_;  // still to be asked, the first one now
  std::string issuer_;               // whose document is looked for
  std::string resource_;
  Scopes offered_scopes_;  // that the server's document lists
  bool issuer_guessed_ = false;
  bool may_refresh_ = false;
  OauthClient client_;  // becomes the record's with its first token
  std::string redirect_uri_;
  PendingSignIn pending_;
  std::string state_text_;
  std::string verifier_;
  std::string code_;
  Scopes asked_;
  std::optional<FormFields> held_;  // the user came back, and the old token is being refreshed
  bool overdue_ = false;            // the same if the user didn't come back
  std::int64_t sign_ins_ = 0;       // of the record, when this one was wanted

  // Of earlier attempts
  std::string unproven_;         // the last token that we got, if the server hasn't taken it from us yet
  std::string taken_;            // the last one that it took from us
  std::int64_t login_ = 0;       // the last one that is known of
  int step_ups_ = 0;             // since a request was accepted
  bool refresh_failed_ = false;  // the last one: the issuer may have moved
  // What went wrong isn't tried again at once. Asking for more scopes is apart: it delays no refresh.
  struct Pause {
    int failures = 0;  // in a row
    std::int64_t until = 0;
    Fail last{};
  };
  Pause pause_;
  Pause pause_of_step_ups_;
  Pause& pause(const Challenge& challenge) {
    return challenge.wants_more_scope() ? pause_of_step_ups_ : pause_;
  }
  bool lasts(const Pause& pause) const;
  void lengthen(Pause& pause, Fail failure) const;
};

std::string_view text(SignIn::State state);

}  // namespace mcpivot
