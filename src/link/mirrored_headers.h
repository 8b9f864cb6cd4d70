// What a modern request repeats in HTTP headers, so that gateways can route it without reading its body: the
// protocol version, the method, the name of what it asks for, and the arguments that a tool's schema marks
// with `x-mcp-header`. A server rejects a request whose headers and body differ.
//
// Plain data. Any thread.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/catalog.h"
#include "rpc/message.h"

namespace mcpivot {

// An argument that goes into a header as well.
struct MirroredArgument {
  std::vector<std::string> path;  // the keys that lead to it, from `arguments` on
  std::string header;             // Mcp-Param-Region
  bool integer = false;           // according to its schema; else it is a string or a boolean
};

// Those of a tool, in the order of its schema; or what is wrong with the schema's markings.
std::expected<std::vector<MirroredArgument>, std::string> mirrored_arguments(std::string_view tool);

// The text that an argument's header encodes. Nothing: there is no header, because the argument isn't given,
// or isn't of a type that can have one.
std::optional<std::string> mirrored_text(const MirroredArgument& argument, std::string_view arguments);

// A text as the value of a header. What a header can't carry is encoded as =?base64?…?=.
std::string header_value(std::string_view text);

class MirroredHeaders {
 public:
  // Sets the tools. Removes those that a client of this transport must not offer, because their schemas mark
  // headers wrongly, and reports why.
  using OnRejected = std::function<void(const std::string& tool, const std::string& why)>;
  void learn(std::vector<Item>& tools, const OnRejected& on_rejected);

  // The headers of a message as it is sent, each with its line end.
  std::string of(const Message& message) const;

 private:
  std::map<std::string, std::vector<MirroredArgument>, std::less<>> tools_;  // that have any
};

}  // namespace mcpivot
