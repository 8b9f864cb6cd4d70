// One instance of a server for all clients that share it. It tells each of them what concerns it: answers and
// progress go to whoever asked, updates of resources to those who subscribed, changes of lists and notices to
// everybody. What the server says without saying to whom (log messages, for example) nobody is told, because
// it may be about anybody's calls; and what it asks so, nobody is asked. A modern server asks by the answer
// to a call, so whoever made that is asked, and nobody else.
//
// Toward the server it is mcpivot itself that shakes hands, without the capabilities by which a server asks
// its client something. A modern server is told those of each client with that client's requests.
//
// A client that does not read stops the others' server as little as anybody else: what it asked for waits in
// its own link. That reads nothing of the client while it is full, so what can come is what is under way. If
// even that overflows, answers are left out (the client gets an error in their place), and so is everything
// that it can do without.
//
// Belongs to those who share it. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "server/instance.h"

namespace mcpivot {

class SharedInstance final : private Instance::Watcher {
 public:
  // The others must outlive it.
  SharedInstance(World& world, Clients& clients, Instance::Source& source, const ServerConfig& config);
  SharedInstance(const SharedInstance&) = delete;
  SharedInstance& operator=(const SharedInstance&) = delete;

  Instance& instance() { return instance_; }

  // A client that uses it from now on, and the desk that hears of it.
  void join(ClientId client, Instance::Watcher& desk);
  // The desk is about to be gone.
  void drop(ClientId client);
  // A client leaves. The last one ends it, within twice the patience, and `done` is called when it has ended;
  // for the others at once.
  void leave(ClientId client, std::chrono::milliseconds patience, std::function<void()> done);
  // It is no longer in the configuration of this client: its calls may end, then `done` is called. If no
  // other one has it, it ends itself. `done` must not destroy it at once.
  void retire(ClientId client, std::function<void()> done);

 private:
  struct Sharer {
    ClientId client;
    Instance::Watcher* desk;
    std::function<void()> when_gone{};  // it has lost it, and waits for its last calls
    bool stays() const { return !when_gone; }
  };

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
  bool allows_call(const Instance& instance, Asker asker, std::string_view name) const override;

  Instance::Watcher* desk_of(ClientId client) const;  // null: it has none here
  template <class Do>
  void each(Do&& what);
  std::vector<ClientId> addressees(const Instance& instance, const Message& message) const;
  void drop_message(const ToClient& said, std::string_view why) const;
  void retire_itself();
  void let_go_later();
  void let_go(ClientId client);
  void on_gone();

  Clients& clients_;
  std::vector<Sharer> sharers_;                   // in the order in which they came
  std::vector<std::function<void()>> last_ones_;  // who left last, and waits for the end
  enum class End : std::uint8_t { none, under_way, over };
  End end_ = End::none;
  Alarm let_go_;
  Instance instance_;
};

}  // namespace mcpivot
