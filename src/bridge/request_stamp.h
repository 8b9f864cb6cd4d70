// What every request to a modern server carries in its `_meta`, and a legacy client says only once: protocol
// version, client, capabilities, and the log level.
//
// One thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class RequestStamp {
 public:
  RequestStamp() { set({}, {}); }
  // For a client with this hello (the params of `initialize`). `level`: as JSON text, or empty.
  void set(std::string_view hello, std::string_view level);

  // The members of a `_meta`, without braces.
  const std::string& members() const { return members_; }

  // Adds it to a request whose params are an object or absent, along with edits made elsewhere.
  // Members of the same names are removed: a legacy client can't mean them. The edits borrow from the
  // stamp.
  void put(const Message& request, Edits& edits) const;

 private:
  bool owns(std::string_view key) const;

  std::string members_;
  std::string meta_member_;               // as "_meta":{…}
  std::string params_member_;             // as "params":{"_meta":{…}}, and a comma
  std::string more_members_, more_meta_;  // the first two after a comma
  std::vector<std::string> keys_;         // in lower case
};

}  // namespace mcpivot
