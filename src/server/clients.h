// The end of the one way back: all that is said to a client goes through here, and is seen here by whoever
// watches. One who has gone is not found, and nothing happens.
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

// The end of the way back. What only an AI's client is told does nothing at a terminal.
class Peer {
 public:
  virtual ~Peer() = default;

  // What a server says. A question gets an id of the client's session.
  virtual void pass(ToClient& said) = 0;
  // An answer of our own making; a large one is written from where it lies.
  virtual void answer(std::uint32_t exchange, std::string_view line) = 0;
  virtual void answer(std::uint32_t exchange, const Message& inside, std::span<const Edit> around) = 0;
  // A notification of our own making, which belongs to this exchange.
  virtual void tell(std::uint32_t /*exchange*/, std::string_view line) { answer(0, line); }
  // It does not read as fast as it is sent to.
  virtual bool full() const = 0;
  // The same for so long that even those who can't wait for it must say no more.
  virtual bool overflows() const { return false; }

  // One of its requests has no answer, because it took it back.
  virtual void withdrawn(std::uint32_t /*exchange*/) {}
  // A notification that it may miss before it is initialized: it waits until then.
  virtual void announce(std::string_view /*line*/) {}
  // The protocol version that the handshake ended with, as JSON text.
  virtual void agreed_version(std::string_view /*version*/) {}
  // The servers take messages again.
  virtual void resume() {}

  // A server is gone, and wants no answers to what it asked.
  virtual void forget(GenerationId /*from*/) {}
  // The ids under which it was asked something that it has not answered.
  virtual std::vector<std::string> questions() const { return {}; }
};

class Clients {
 public:
  // The id of one who will come.
  ClientId next() { return static_cast<ClientId>(++last_); }
  // The id of an instance that clients will share.
  InstanceId next_shared() { return {ClientId::nobody, ++last_shared_}; }
  // It has come; it must be removed before it is gone.
  void add(ClientId id, Peer& peer);
  void remove(ClientId id);

  // Whoever has this id; or somebody who does nothing.
  Peer& operator[](ClientId id) const {
    // Most often there is one client, and it came first.
    if (!entries_.empty() && entries_.front().id == id) return *entries_.front().peer;
    return find(id);
  }

  // A server is gone: whoever may have been asked by it need not answer.
  void forget(GenerationId from) const;

  // Whether it is there.
  bool has(ClientId id) const;

  // What a server says.
  void pass(ToClient& said) const {
    if (observed()) see(said);
    (*this)[said.to.client].pass(said);
  }
  // What we say ourselves; and why we say no, in the place of an answer.
  void answer(Asker to, std::string_view line) const { say(to, Seen::What::made, line); }
  // A notification of our own.
  void tell(Asker to, std::string_view line) const;
  void refuse(Asker to, std::string_view line) const { say(to, Seen::What::refused, line); }
  void answer(Asker to, const Message& inside, std::span<const Edit> around) const;
  // It has taken back what this cancellation names, and gets no answer.
  void withdrawn(Asker by, const Message& cancellation) const;

  // From now on the observer sees what is refused and dropped; `all`: and every message that goes its way.
  void observe(Observer& observer, const Clock& clock, bool all);
  // Whether anybody looks at what goes its way.
  bool observed() const { return observed_; }
  // For those who send and receive elsewhere.
  void saw(Seen seen) const;

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
  Observer* observer_ = nullptr;
  const Clock* clock_ = nullptr;
  bool observed_ = false;
};

}  // namespace mcpivot
