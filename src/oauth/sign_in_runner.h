// Runs a SignIn: fetches, stores, listens, opens the browser and waits, as the machine says, for all links to
// one server at once. It is the Authorizer of these links.
//
// Callers that wait for a user are told after a while what to open, and stop waiting; the sign-in goes on.
// Until the user has signed in, the record is read again now and then, because another process may have
// stored a token.
//
// Owned by shared_ptr; close() ends it, and no callback follows. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "link/authorizer.h"
#include "oauth/fetch.h"
#include "oauth/redirect_listener.h"
#include "oauth/sign_in.h"

namespace mcpivot {

class SignInRunner final : public Authorizer, public std::enable_shared_from_this<SignInRunner> {
 public:
  struct Options {
    SignIn::Config sign_in;
    Fetcher::Options fetch;
    std::string folder;                            // of records
    std::string login;                             // what to run to sign in: "mcpivot login app"
    std::function<bool(const std::string&)> open;  // the browser; false: there is none
    // With a browser open, by whichever process, the user may be quick.
    std::chrono::milliseconds patience{8'000};
    std::chrono::milliseconds patience_without_browser{300};
    std::chrono::milliseconds for_user = SignInStore::longest_page;
    std::chrono::milliseconds for_turn = SignInStore::longest_silence;
  };
  SignInRunner(boost::asio::io_context& loop, Options options);
  ~SignInRunner() override { close(); }
  void close() { close("the sign-in was given up"); }
  // The configuration changed, and another runner takes its place. Ends when it has settled.
  void replace();
  // Whether an answer is awaited without which the sign-in would be lost, and what to do when it has come.
  bool is_settled() const { return closed_ || !machine_.is_trading(); }
  void when_settled(std::function<void()> then);

  const std::string& token() override;
  bool concerns(const Rejection& rejection) const override;
  void rejected(const Rejection& rejection, Then then) override;
  void accepted(const std::string& token) override;

  // There is a new token, whichever process got it (`trouble` is empty); or a sign-in that users were shown
  // has failed.
  using OnOver = std::function<void(const std::string& trouble)>;
  void on_over(OnOver then) { over_ = std::move(then); }

  // For `mcpivot login`: the user wants to, now. `on_show` gets what to open, each time that it changes.
  void login(const Challenge& challenge, std::optional<AddressKind> server,
             std::function<void(const PendingSignIn&)> on_show, Then then);
  // The user pasted the address that the browser was sent to.
  enum class Pasted : std::uint8_t {
    taken,
    elsewhere,  // it isn't where the browser was to be sent to
    stale       // it belongs to another sign-in
  };
  Pasted paste(const std::string& url);

  // In a line, for people: signed in as whom and until when, or not. Empty: nothing is known of a sign-in.
  std::string describe() const;
  // What clients may tell their users to open now; empty: nothing.
  std::string address() const { return options_.sign_in.may_ask ? pending_.url : std::string(); }
  const SignInRecord& record() const { return machine_.record(); }
  const PendingSignIn& pending() const { return pending_; }

 private:
  void close(const std::string& why);
  struct Waiting {
    Then then;
    bool for_more_scope;
  };
  void happens(SignIn::Event event);
  void take_events();
  void notice_sign_out();
  void run(SignIn::Effect& effect);
  void prove();
  void take_turn();
  void open(const SignIn::Open& wanted);
  void show(const PendingSignIn& pending, bool ours);
  void tell(const std::expected<void, Refusal>& outcome);
  void tell_renewed();
  void tell_later();
  Refusal to_open() const;
  void look_at_record_later();
  void look_at_record();
  void announce_token();
  void tell_over(const std::string& trouble);

  boost::asio::io_context& loop_;
  Options options_;
  SignIn machine_;
  SignInStore store_;
  Fetcher fetcher_;
  std::unique_ptr<RedirectListener> listener_;
  RedirectListener::Reply reply_;           // of the redirect that is being dealt with
  RedirectListener::Reply exchange_reply_;  // of the one whose code is being exchanged
  std::deque<SignIn::Event> events_;
  bool running_ = false;
  bool closed_ = false;
  bool replaced_ = false;
  std::vector<std::function<void()>> settled_;
  bool shown_ = false;    // what to open, since the last end
  bool telling_ = false;  // the timer runs
  bool looking_ = false;
  std::vector<Waiting> waiting_;
  Then login_;
  std::function<void(const PendingSignIn&)> on_show_;
  OnOver over_;
  PendingSignIn pending_;  // ours, or what another process announced
  std::string stamp_;      // of the record
  std::chrono::steady_clock::time_point looked_{};
  std::chrono::steady_clock::time_point silent_since_{};  // the one that has the turn
  std::string trouble_;                                   // the last one
  std::string unsaved_;                                   // why the record couldn't be written
  std::string announced_;                                 // the token that was told of last
  boost::asio::steady_timer turn_timer_;
  boost::asio::steady_timer tell_timer_;
  boost::asio::system_timer user_timer_;  // others look at the time of its announcement
  boost::asio::steady_timer look_timer_;
  boost::asio::steady_timer renew_timer_;
};

}  // namespace mcpivot
