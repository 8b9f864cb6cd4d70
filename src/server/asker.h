// A server's view of a client: whoever puts requests to it and answers the requests that the server makes in
// turn. Sessions are askers, and so is each batch of a session, which collects its answers.
//
// One thread.
#pragma once

#include <span>
#include <string_view>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class Generation;

class Asker {
 public:
  virtual ~Asker() = default;

  // The client that is behind this asker; for a session, itself.
  virtual Asker& client() = 0;

  // An answer or a notification from the server, with these edits.
  virtual void forward(const Message& message, std::span<const Edit> edits) = 0;
  // An answer of our own making.
  virtual void answer(std::string_view line) = 0;
  // The request that the client knows by this id will have no answer: the client itself cancelled it.
  virtual void withdrawn(std::string_view id) = 0;

  // The server asks the client something, or no longer wants to know.
  virtual void ask(Generation& from, const Message& request) = 0;
  virtual void ask_no_more(Generation& from, const Message& cancelled) = 0;
  // This generation is gone and wants no answers any more.
  virtual void forget(Generation& from) = 0;

  // The client does not read as fast as it is sent to.
  virtual bool full() const = 0;
};

}  // namespace mcpivot
