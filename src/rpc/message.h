// A JSON-RPC message as a proxy sees it: the raw line, and where the few things are that decide its route.
//
// read_message() validates the whole line and finds these in one pass; nothing is ever re-serialised. What it
// accepts, every JSON parser reads the same way: keys that we interpret may be escaped, but a second one with
// the same meaning (escaped, or in other capitals, which some parsers treat as equal) is refused.
//
// A Message borrows the line; it is valid as long as that is, or as long as its buffer is kept. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/buffer.h"
#include "rpc/span.h"

namespace mcpivot {

enum class Kind : std::uint8_t { request, notification, result, error };

// The methods that a proxy treats differently from all others.
enum class Method : std::uint8_t {
  other,
  // requests of a client
  initialize,
  discover,
  ping,
  tools_list,
  tools_call,
  prompts_list,
  prompts_get,
  resources_list,
  resource_templates_list,
  resources_read,
  resources_subscribe,
  resources_unsubscribe,
  set_level,
  complete,
  listen,
  // notifications
  initialized,
  cancelled,
  progress,
  tools_changed,
  prompts_changed,
  resources_changed,
  resource_updated,
  log_message,
  acknowledged,  // of a listen
};

// Everything about a message except its buffer. A separate type, because a compiler initialises this in one
// go, while it first clears a type that holds a reference, which costs as much as reading a key.
struct MessageParts {
  std::string_view raw;  // the line, without its newline
  Kind kind = Kind::notification;
  Method known = Method::other;
  Span id;  // string values include their quotes
  Span method;
  Span params;
  Span result;
  Span error;
  Span name;              // params.name
  Span uri;               // params.uri
  Span progress_token;    // params._meta.progressToken of a request, params.progressToken of
                          // notifications/progress
  Span request_id;        // params.requestId
  Span meta;              // params._meta
  Span version;           // its io.modelcontextprotocol/protocolVersion: makes a request modern
  Span subscription;      // its io.modelcontextprotocol/subscriptionId
  Span request_state;     // params.requestState
  bool task = false;      // has params.task: the answer announces a task, which goes on after it
  bool is_error = false;  // result.isError is true: a tool that failed

  bool is_answer() const { return kind == Kind::result || kind == Kind::error; }
  std::string_view text(Span span) const { return span.of(raw); }
};

struct Message : MessageParts {
  Message() = default;
  Message(const MessageParts& parts) : MessageParts(parts) {}

  BufferRef buffer;  // what holds raw, if it can be shared
};

// Why a line isn't a message. Has the id if it was readable, so that the sender can be told.
struct Refusal {
  static constexpr int not_json = -32700;
  static constexpr int not_a_message = -32600;
  int code = not_json;
  std::string reason;
  std::string id;
};

std::expected<Message, Refusal> read_message(std::string_view line);

// Whether a line begins like a JSON array. Only protocol version 2025-03-26 has such batches.
bool is_batch(std::string_view line);

// The elements of a batch, in order. They may be anything; read_message() checks them.
std::expected<std::vector<std::string_view>, Refusal> read_batch(std::string_view line);

// The text of a JSON string: without quotes, escapes resolved. Empty for anything else, since peers may send
// anything, or nothing, where a string should be.
std::string string_value(std::string_view json_string);

// Whether two ids (or tokens) are the same value, even if one of them was spelled with escapes.
bool same_id(std::string_view a, std::string_view b);

}  // namespace mcpivot
