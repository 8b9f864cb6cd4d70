// What a client is asked when a server wants its user to sign in, and the client can open addresses for its
// user (elicitation in URL mode): in the legacy era an error -32042, after which the client repeats the
// request by itself; in the modern one `input_required`. Clients that can't do it are told in words.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "mcp/era.h"
#include "rpc/message.h"

namespace mcpivot {

struct SignInQuestion {
  std::string id{};      // unguessable
  std::string server{};  // its name
  std::string url{};     // for the user to open
};

// Whether this request may be answered with the question. `hello`: the params of a legacy client's
// `initialize`.
bool can_ask_to_sign_in(const Message& request, Era era, std::string_view hello);
// The answer to it.
std::string ask_to_sign_in(const Message& request, Era era, const SignInQuestion& question);
// Tells a legacy client that what it was asked is done.
std::string sign_in_is_over(const SignInQuestion& question);

// Whether a modern client repeats its request because it was asked that; and whether its user agreed to open
// the address.
bool follows_sign_in(const Message& request);
bool agrees_to_sign_in(const Message& request);

}  // namespace mcpivot
