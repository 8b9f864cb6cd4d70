// What mcpivot tells clients that need a token of --oauth-issuer: its metadata (RFC 9728), where that is, and
// the challenges that name it (RFC 6750).
//
// Plain data. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/url.h"

namespace mcpivot {

struct ProtectedResource {
  std::string issuer;
  std::string audience;
  std::string public_url{};  // --public-url; empty: the address that a client asked

  // "/.well-known/oauth-protected-resource/mcp/work" → "work", without "/work" → ""; of the public URL as
  // well. Nothing: another path.
  std::optional<std::string> profile_in(std::string_view path) const;

  // `asked` is the origin that the client asked, with our own name in it: "http://localhost:7420".
  std::string metadata_url(const std::string& asked, std::string_view profile) const;
  std::string metadata(const std::string& asked, std::string_view profile,
                       std::span<const std::string> scopes) const;

 private:
  std::string origin(const std::string& asked) const;
  std::string endpoint(std::string_view profile) const;
};

// The values of a challenge, each left out if it is empty.
struct SentChallenge {
  std::string_view error{};
  std::string_view words{};
  std::string scope{};
  std::string metadata_url{};
};
// A line for the headers of an answer.
std::string header_of(const SentChallenge& challenge);

// As they are written in headers and tokens.
std::string scope_text(std::span<const std::string> scopes);

}  // namespace mcpivot
