#include "oauth/challenge.h"

#include <algorithm>

#include "base/text.h"

namespace mcpivot {
namespace {

constexpr std::string_view blanks = " \t";

// Reads the header from left to right.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }
  std::string_view token() {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(" \t,=\""));
    rest_.remove_prefix(found.size());
    return found;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // After a "=": a token, or a quoted text.
  std::string value() {
    if (!take('"')) return std::string(token());
    std::string text;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') break;
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      text += c;
    }
    return text;
  }

 private:
  std::string_view rest_;
};

// What the standard allows. Other bytes couldn't be stored or shown.
bool is_scope(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
}

}  // namespace

Scopes parse_scopes(std::string_view text) {
  Scopes scopes;
  while (!text.empty()) {
    const std::string_view scope = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(scope.size() + 1, text.size()));
    if (is_scope(scope)) scopes.emplace(scope);
  }
  return scopes;
}

std::string scopes_text(const Scopes& scopes) {
  std::string text;
  for (const std::string& scope : scopes) text.append(text.empty() ? "" : " ").append(scope);
  return text;
}

Challenge parse_challenge(std::string_view header) {
  Challenge challenge;
  Reader reader(header);
  bool in_bearer = false;
  while (!reader.done()) {
    reader.skip(" \t,");
    const std::string name = lower(reader.token());
    reader.skip(blanks);
    if (!reader.take('=')) {  // a scheme: its parameters follow
      if (in_bearer) break;
      in_bearer = name == "bearer";
      challenge.bearer = in_bearer;
      if (name.empty() && !reader.done()) reader.value();  // nothing that is allowed here
      continue;
    }
    reader.skip(blanks);
    const std::string value = reader.value();
    while (reader.take('=')) continue;  // the padding of another scheme's credentials
    if (!in_bearer) continue;
    if (name == "resource_metadata") challenge.resource_metadata = value;
    if (name == "scope") challenge.scopes = parse_scopes(value);
    if (name == "error") challenge.error = value;
  }
  return challenge;
}

}  // namespace mcpivot
