// The last step on the way back: everything that is sent to a client goes through here, where the observer
// sees it. If a client is gone, it isn't found, and nothing happens.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "rpc/edit.h"
#include "rpc/message.h"
#include "server/ids.h"
#include "server/observer.h"
#include "server/way.h"

namespace mcpivot {

// A client, or a terminal. What concerns only an AI's client does nothing at a terminal.
class Peer {
 public:
  virtual ~Peer() = default;

  // A message of a server's. A question gets an id of the client's session.
  virtual void pass(ToClient& said) = 0;
  // An answer of our own; a large one is written without being copied.
  virtual void answer(std::uint32_t exchange, std::string_view line) = 0;
  virtual void answer(std::uint32_t exchange, const Message& inside, std::span<const Edit> around) = 0;
  // A notification of our own that belongs to this exchange.
  virtual void tell(std::uint32_t /*exchange*/, std::string_view line) { answer(0, line); }
  // It doesn't read as fast as we send.
  virtual bool full() const = 0;
  // So much waits for it that even senders that can't wait for it must stop.
  virtual bool overflows() const { return false; }

  // One of its requests gets no answer, because the client cancelled it.
  virtual void withdrawn(std::uint32_t /*exchange*/) {}
  // A notification that it might miss before it is initialized: held back until then.
  virtual void announce(std::string_view /*line*/) {}
  // The protocol version that was negotiated, as JSON text.
  virtual void agreed_version(std::string_view /*version*/) {}
  // The servers accept messages again.
  virtual void resume() {}

  // A server is gone, and no longer wants answers to what it asked.
  virtual void forget(GenerationId /*from*/) {}
  // The ids of questions that it has not answered yet.
  virtual std::vector<std::string> questions() const { return {}; }
};

class Clients {
 public:
  // The id for the next client.
  ClientId next() { return static_cast<ClientId>(++last_); }
  // The id for the next shared instance.
  InstanceId next_shared() { return {ClientId::nobody, ++last_shared_}; }
  // The id for the next request of a new generation.
  ReloadId next_reload() { return static_cast<ReloadId>(++last_reload_); }
  // A client has connected; it must be removed before it is destroyed.
  void add(ClientId id, Peer& peer);
  void remove(ClientId id);

  // The client with this id, or one that does nothing.
  Peer& operator[](ClientId id) const {
    // Usually there is one client, and it is the first entry.
    if (!entries_.empty() && entries_.front().id == id) return *entries_.front().peer;
    return find(id);
  }

  // A server is gone: clients needn't answer its questions.
  void forget(GenerationId from) const;

  // Whether it is connected.
  bool has(ClientId id) const;

  // A message of a server's.
  void pass(ToClient& said) const {
    if (observed()) see(said);
    (*this)[said.to.client].pass(said);
  }
  // An answer of our own; and an error of ours in place of a server's answer.
  void answer(Asker to, std::string_view line) const { say(to, Seen::What::made, line); }
  // A notification of our own.
  void tell(Asker to, std::string_view line) const;
  void refuse(Asker to, std::string_view line) const { say(to, Seen::What::refused, line); }
  void answer(Asker to, const Message& inside, std::span<const Edit> around) const;
  // It has cancelled the request that this names, and gets no answer.
  void withdrawn(Asker by, const Message& cancellation) const;

  // From now on, the observer sees what is refused or dropped; `all`: also every message that passes.
  void observe(Observer& observer, const Clock& clock, bool all);
  // It sees nothing any more.
  void ignore(const Observer& observer);
  // What remembers the calls of clients; null: nothing. It must outlive this object, or be replaced before.
  void set_history(const CallHistory* history) { history_ = history; }
  const CallHistory* history() const { return history_; }
  // Whether anybody observes messages that pass.
  bool observed() const { return observed_; }
  // For messages that are sent and received elsewhere.
  void saw(Seen seen) const;
  // In the life of an instance.
  void happens(const Life& life, const Life::Event& event) const {
    for (const Watching& watching : observers_) watching.observer->happens(life, event);
  }

 private:
  Peer& find(ClientId id) const;
  void see(const ToClient& said) const;
  void say(Asker to, Seen::What what, std::string_view line) const;

  struct Entry {
    ClientId id;
    Peer* peer;
  };
  std::vector<Entry> entries_;  // in the order of their ids
  std::uint64_t last_ = 0;
  std::uint32_t last_shared_ = 0;
  std::uint64_t last_reload_ = 0;
  struct Watching {
    Observer* observer;
    bool all;
  };
  std::vector<Watching> observers_;
  const Clock* clock_ = nullptr;
  const CallHistory* history_ = nullptr;
  bool observed_ = false;
};

}  // namespace mcpivot
