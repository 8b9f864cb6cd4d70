// A message on its way through the core. Each stage on the way adds its edits; the link at its end writes the
// raw bytes with all of them, once.
//
// They last as long as the call that hands them on. Plain data; one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "rpc/attempts.h"
#include "rpc/edit.h"
#include "rpc/message.h"
#include "server/ids.h"

namespace mcpivot {

// A client's request: desk → instance → generation → server.
struct ToServer {
  Asker asker;
  const Message& message;
  std::string_view name;   // params.name, as the server spells it; empty if there is none
  Attempts sent_before{};  // to earlier generations, which died
  Edits edits{};

  ToServer(Asker from, const Message& request, Attempts tries = {})
      : asker(from), message(request), name(request.text(request.name)), sent_before(tries) {}
};

// What a server says: generation → instance → desk → client.
struct ToClient {
  const Message& message;
  const GenerationId& from;
  Asker to{};                 // nobody: the desk knows the recipient
  std::int64_t pair = 0;      // of an answer: our id for the request
  bool changed = false;       // beyond ids and tokens
  std::string_view remark{};  // for the model, about this answer of a tool
  Edits edits{};

  // The server asks something, or no longer wants to know: the client's session has an id of its own for it.
  bool is_question() const {
    return message.kind == Kind::request || (message.known == Method::cancelled && message.request_id);
  }
};

}  // namespace mcpivot
