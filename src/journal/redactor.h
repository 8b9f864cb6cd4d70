// Takes secrets out of messages before they are written down: the values that the configuration has in `env`
// and `headers`, what looks like a token, what has a telling name ("password", "?access_token="), and what
// the user's own patterns match.
//
// It looks into each string of a JSON text on its own, with its escapes resolved (twice, for JSON within
// JSON), so a secret is found however it is spelled, and what is left is JSON again.
//
// Plain data, which is copied to its users. One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// A value that must not be written down, and what it is called.
struct Secret {
  std::string name;
  std::string value;
};

class Redactor {
 public:
  Redactor() = default;
  // Patterns are regular expressions. One that isn't understood, or takes too long, hides the whole string.
  Redactor(std::vector<Secret> secrets, const std::vector<std::string>& patterns);

  // Replaces them, and returns how many.
  std::size_t redact(std::string& text) const;

  // Which of the configuration's values are secrets: "true", ports and paths of files that exist aren't, and
  // short ones only if their name suggests it.
  static bool is_secret(std::string_view name, std::string_view value);
  // "API_KEY", "--auth-token"
  static bool names_secret(std::string_view name);

 private:
  struct Patterns;
  std::vector<Secret> secrets_;
  std::shared_ptr<const Patterns> patterns_;
};

}  // namespace mcpivot
