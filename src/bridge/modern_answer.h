// Turns a legacy server's answer into a modern one: inserts a few members, or changes an error code. The rest
// passes byte for byte.
//
// Any thread.
#pragma once

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

// The edits for an answer to a request of this method. False: it can't become a modern one, because its
// result isn't an object.
bool make_modern(const Message& answer, Method asked, Edits& edits);

// The code of an error, or 0 if it isn't an integer.
int error_code(const Message& error);

// The same error under another code.
void replace_code(const Message& error, int code, Edits& edits);

}  // namespace mcpivot
