// Who asks, by id, and the one way back to them.
//
// Ids are plain data: they can be kept, written down, and used when whoever they stand for has gone. Then
// nobody is found, and nothing happens. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

// A client, or a terminal that steers from elsewhere. Counts up from 1; none is used twice in a run.
enum class ClientId : std::uint64_t { nobody = 0 };

// Whom an answer is for: a client, or one of its batches, which collects its answers.
struct Asker {
  ClientId client = ClientId::nobody;
  std::uint32_t batch = 0;  // 0: the client itself
  bool operator==(const Asker&) const = default;
};

// A server as one client uses it.
struct InstanceId {
  ClientId client = ClientId::nobody;
  std::uint32_t number = 0;
  bool operator==(const InstanceId&) const = default;
};

// One of an instance's lives.
struct GenerationId {
  InstanceId instance{};
  std::uint64_t birth = 0;
  int number = 0;  // as people count them: births that came to nothing may not count
  bool operator==(const GenerationId&) const = default;
};

// The end of the way back. What only an AI's client is told does nothing at a terminal.
class Peer {
 public:
  virtual ~Peer() = default;

  // An answer or a notification from a server, with these edits.
  virtual void forward(std::uint32_t batch, const Message& message, std::span<const Edit> edits) = 0;
  // An answer or a notification of our own making.
  virtual void answer(std::uint32_t batch, std::string_view line) = 0;
  // It does not read as fast as it is sent to.
  virtual bool full() const = 0;

  // One of its requests has no answer, because it took it back.
  virtual void withdrawn(std::uint32_t /*batch*/) {}
  // A notification that it may miss before it is initialized: it waits until then.
  virtual void announce(std::string_view /*line*/) {}
  // The protocol version that the handshake ended with, as JSON text.
  virtual void agreed_version(std::string_view /*version*/) {}
  // The servers take messages again.
  virtual void resume() {}

  // A server asks it something, or no longer wants to know; or is gone and wants no answers any more.
  virtual void ask(GenerationId /*from*/, const Message& /*request*/) {}
  virtual void ask_no_more(GenerationId /*from*/, const Message& /*cancelled*/) {}
  virtual void forget(GenerationId /*from*/) {}
  // The ids under which it was asked something that it has not answered.
  virtual std::vector<std::string> questions() const { return {}; }
};

class Clients {
 public:
  // The id of one who will come.
  ClientId next() { return static_cast<ClientId>(++last_); }
  // It has come; it must be removed before it is gone.
  void add(ClientId id, Peer& peer);
  void remove(ClientId id);

  // Whoever has this id; or somebody who does nothing.
  Peer& operator[](ClientId id) const {
    // Most often there is one client, and it came first.
    if (!entries_.empty() && entries_.front().id == id) return *entries_.front().peer;
    return find(id);
  }

  // Whether it is there.
  bool has(ClientId id) const;

  void forward(Asker to, const Message& message, std::span<const Edit> edits) const {
    (*this)[to.client].forward(to.batch, message, edits);
  }
  void answer(Asker to, std::string_view line) const { (*this)[to.client].answer(to.batch, line); }
  void withdrawn(Asker by) const { (*this)[by.client].withdrawn(by.batch); }

 private:
  Peer& find(ClientId id) const;

  struct Entry {
    ClientId id;
    Peer* peer;
  };
  std::vector<Entry> entries_;  // in the order of their ids
  std::uint64_t last_ = 0;
};

}  // namespace mcpivot
