// One instance of a server for all clients that share it. Each gets what concerns it: answers and progress go
// to the client that asked, resource updates to subscribers, list changes and notices to everybody. Messages
// without an addressee (log messages, for example) go to nobody, because they may be about anybody's calls;
// and questions without an addressee are asked of nobody. A modern server asks in the answer to a call, so
// the client that made the call is asked, and nobody else.
//
// mcpivot itself does the handshake with the server, without the capabilities that would let a server ask its
// client something. A modern server learns each client's capabilities from that client's requests.
//
// A client that stops reading doesn't stop the server for the others: what it asked for waits in its own
// link. The link reads nothing from the client while it is full, so only what is in flight can still come. If
// even that overflows, answers are dropped (the client gets an error instead), and so is everything that it
// can do without.
//
// Belongs to the desks that share it. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/instance.h"

namespace mcpivot {

class SharedInstance final : private Instance::Watcher {
 public:
  // The references must outlive it.
  SharedInstance(World& world, Clients& clients, Instance::Source& source, const ServerConfig& config);
  SharedInstance(const SharedInstance&) = delete;
  SharedInstance& operator=(const SharedInstance&) = delete;

  Instance& instance() { return instance_; }

  // One client's use of it. A client that loses the server and gets it back has a new share, while its desk
  // may still have the old one.
  enum class Share : std::uint64_t {};
  // Adds a client, and the desk that is told what happens.
  Share join(ClientId client, Instance::Watcher& desk);
  // The desk is about to be destroyed.
  void drop(Share share);
  // A client leaves. With the last one it ends, within twice the patience, and `done` is called when it has
  // ended; for the others, at once.
  void leave(Share share, std::chrono::milliseconds patience, std::function<void()> done);
  // This client's configuration no longer has it: the client's calls may finish, then `done` is called. If no
  // other client has it, it ends. `done` must not destroy it at once.
  void retire(Share share, std::function<void()> done);

 private:
  struct Sharer {
    Share share;
    Instance::Watcher* desk;
    std::function<void()> when_gone{};  // set if it has lost the server and waits for its last calls
    bool stays() const { return !when_gone; }
  };
  using Sharers = std::map<ClientId, Sharer>;  // there may be thousands

  // Instance::Watcher
  void on_writable(const Instance& instance) override;
  void on_catalog(const Instance& instance) override;
  void on_settled(const Instance& instance) override;
  void on_stop(const Instance& instance) override;
  void on_list_changed(const Instance& instance, ListKind kind) override;
  void pass_answer(const Instance& instance, const Generation::Requests::Request& request,
                   ToClient& said) override;
  void pass(const Instance& instance, ToClient& said) override;
  bool is_active(const Instance& instance) const override;
  void tell_model(const Instance& instance, const std::string& words,
                  std::span<const ClientId> know) override;
  std::string shown_name(const Instance& instance, ClientId client, ListKind kind,
                         const std::string& own) override;
  bool allows(const Instance& instance, Asker asker, Method method, std::string_view name) const override;

  Instance::Watcher* desk_of(ClientId client) const;  // null: it has none here
  template <class Do>
  void each(Do&& what);
  std::vector<ClientId> addressees(const Instance& instance, const Message& message) const;
  void drop_message(const ToClient& said, std::string_view why) const;
  void retire_itself();
  void let_go_later();
  Sharers::iterator find(Share share);
  bool nobody_stays() const;
  bool is_busy_for(ClientId client) const;
  void let_go(Share share);
  void on_gone();

  Clients& clients_;
  Sharers sharers_;
  std::uint64_t last_share_ = 0;                  // counts up
  std::vector<std::function<void()>> last_ones_;  // of the clients that left last, and wait for the end
  enum class End : std::uint8_t { none, under_way, over };
  End end_ = End::none;
  Alarm let_go_;
  Instance instance_;
};

}  // namespace mcpivot
