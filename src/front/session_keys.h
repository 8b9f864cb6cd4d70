// The keys that session ids are sealed with. They are in a file, so that ids outlive mcpivot and several
// mcpivots can share them:
//
//     # KEYID  32 bytes in base64
//     k2  3q2+7...
//     k1  yv66v...
//
// The first key seals, any of them opens. To rotate keys, add a new first line; delete the old one when the
// ids that it sealed have expired.
//
// Plain data, wiped when destroyed. Any thread.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

struct SessionKey {
  static constexpr std::size_t longest_id = 32;

  SessionKey() = default;
  ~SessionKey();
  SessionKey(const SessionKey&) = default;
  SessionKey& operator=(const SessionKey&) = default;
  bool operator==(const SessionKey&) const = default;

  std::string id;  // letters, digits, - and _
  std::array<unsigned char, 32> bytes{};
};

class SessionKeys {
 public:
  // `name` is the file's, for errors: "FILE:3: ...". No error shows a key.
  static std::expected<SessionKeys, std::string> parse(const std::string& name, std::string_view text);

  // The file must belong to our user and be closed to others. Use this to read it again at run time: a file
  // that has been deleted in the meantime is an error, not a reason for new keys.
  static std::expected<SessionKeys, std::string> load(const std::string& path);

  // If there is no file, creates one with a random key. Of several processes that do so at once, one wins,
  // and all use its key.
  static std::expected<SessionKeys, std::string> load_or_make(const std::string& path);

  const SessionKey& first() const { return keys_.front(); }
  const SessionKey* find(std::string_view id) const;  // nullptr: there is none
  std::size_t size() const { return keys_.size(); }
  bool operator==(const SessionKeys&) const = default;

 private:
  std::vector<SessionKey> keys_;  // at least one
};

}  // namespace mcpivot
