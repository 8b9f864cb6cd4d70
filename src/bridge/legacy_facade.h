// Makes a modern server look like a legacy one (2025-11-25 and before): it provides the client's handshake,
// `ping`, log level, subscriptions and questions, none of which the server has in that form.
//
// - Each request gets the `_meta` that a modern server must see (RequestStamp). `initialize` is answered
//   from `server/discover`.
// - An answer of `input_required` becomes questions to the client. When all of them are answered, the call is
//   sent again with the answers, round after round; to the client it is one call.
// - Subscriptions become one `subscriptions/listen` that is held (UpstreamListen).
//
// Several clients may share the server, which then knows each by its requests: a request carries the
// capabilities of the client that makes it, and what the server asks in its answer goes to that client. Our
// own requests carry the capabilities of the hello.
//
// A call is identified by the generation's own id, which is a number. The ids of messages sent from here say
// what they belong to: "discover-7", "retry-7-2", "ask-7-2-0" for the first question after the second retry.
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/input_round.h"
#include "bridge/progress_shift.h"
#include "bridge/request_stamp.h"
#include "bridge/upstream_listen.h"
#include "rpc/kept_message.h"

namespace mcpivot {

class LegacyFacade final : public Bridge, private UpstreamListen::Owner {
 public:
  struct Limits {
    int rounds = 16;                   // of input that a call may require
    std::size_t questions = 32;        // in a round
    std::size_t subscriptions = 4096;  // to resources
  };

  // `hello`: the client's params of `initialize`, for a connection whose handshake was made elsewhere;
  // otherwise it comes in an `initialize`.
  explicit LegacyFacade(Ends& ends, std::string hello = {})
      : LegacyFacade(ends, std::move(hello), Limits()) {}
  LegacyFacade(Ends& ends, std::string hello, Limits limits);

  // Listens for the list changes that this answer to `server/discover` announces. Done automatically once the
  // client is initialized.
  void listen(std::string_view discover_result);

  using Bridge::from_client;
  void from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) override;
  void from_server(const Message& message) override;
  std::string lost(std::string_view id) override;
  void expire() override { listen_.expire(); }
  void forget(std::uint64_t client) override { sharers_.erase(client); }
  void wake() override { listen_.wake(); }

 private:
  struct Call {
    Method method = Method::other;
    std::uint64_t client = 0;
    int round = 0;       // how many times it was sent again
    KeptMessage kept{};  // as the server saw it first, if it may require input
    ProgressShift progress{};
    std::unique_ptr<InputRound> input{};  // while the client is being asked
  };
  using Calls = std::unordered_map<std::int64_t, Call>;

  // One of several clients, and what its requests carry.
  struct Sharer {
    std::string hello;
    std::string capabilities;
    RequestStamp stamp;
  };

  // A subscription that the server hasn't acknowledged.
  struct Waiter {
    std::int64_t own;
    std::string uri;
    bool subscribes;
    bool later = false;  // it has to wait until others have been tried
  };

  // From the client.
  void on_request(const Message& message, std::span<const Edit> edits, std::uint64_t client);
  void on_notification(const Message& message, std::span<const Edit> edits);
  void on_cancelled(const Message& message, std::span<const Edit> edits);
  void on_client_answer(const Message& message, std::span<const Edit> edits, std::uint64_t client);
  void initialize(std::string_view id, const Message& message);
  void set_level(std::string_view id, const Message& message);
  void subscribe(std::string_view id, const Message& message);
  void unsubscribe(std::string_view id, const Message& message);
  void subscribe_no_more(std::int64_t own);
  void try_next();
  bool waits(std::int64_t own) const;
  void pass_request(std::string_view id, const Message& message, std::span<const Edit> edits,
                    std::uint64_t client);
  // Null: it is the only client, or has not introduced itself.
  const Sharer* sharer(std::uint64_t client);

  // From the server.
  void on_server_answer(const Message& message);
  void on_server_notification(const Message& message);
  void on_discovered(std::int64_t own, const Message& message);
  void on_answer(Calls::iterator at, const Message& message);
  void on_progress(const Message& message);

  // Rounds.
  void on_input_required(Calls::iterator at, const ResultParts& parts);
  void ask(std::int64_t own, const std::vector<std::string>& lines);
  void send_again(std::int64_t own);
  void withdraw(std::int64_t own, std::uint64_t client, int round, const InputRound& input);

  // UpstreamListen::Owner
  void send_listen(std::string_view line) override { ends_.to_server(line); }
  void on_listening(const ListenFilter& asked, const ListenFilter& honoured, bool gap) override;
  void on_refused(const ListenFilter& asked, bool refused, int code, std::string_view why) override;
  void wake_listen(std::chrono::milliseconds after) override { ends_.wake_bridge(after); }
  std::string listen_meta() const;

  Call& open(std::int64_t own, Method method);
  void close(Calls::iterator at);
  // Ends a call with an error.
  void fail(std::int64_t own, std::string_view why);
  // The client gets this line.
  void say(std::string_view line);

  Ends& ends_;
  Limits limits_;
  std::string hello_;
  std::string level_;       // as JSON text; empty: none was set
  std::string discovered_;  // the server's result
  RequestStamp stamp_;
  std::unordered_map<std::uint64_t, Sharer> sharers_;
  UpstreamListen listen_{*this};
  std::vector<Waiter> waiters_;
  Calls calls_;
  std::vector<Calls::node_type> spare_;  // their memory is reused for the next calls
};

}  // namespace mcpivot
