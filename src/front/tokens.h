// Who may connect over HTTP: the tokens of --token-file.
//
//     # NAME  TOKEN  [PROFILE]
//     alice   3b1f...        work
//     alice   9c77...        work     # the next one: several lines may have one name
//     ci      77ab...
//
// Only the SHA-256 of a token stays in memory, and no token is ever shown.
//
// Plain data. Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

class Tokens {
 public:
  static constexpr std::size_t shortest = 16;
  static constexpr std::size_t longest = 4096;
  static constexpr std::size_t longest_name = 128;  // of a profile, too

  struct Holder {
    std::string name;
    std::string profile;  // empty: none was given
    // Identifies the line. A line with another name, token or profile has another id: whatever was admitted
    // by a line whose id is gone (has()) must end.
    std::string id;
    bool operator==(const Holder&) const = default;
  };

  // `name` is the file's, for errors: "FILE:3: ...". A text without tokens is an error: nobody could connect.
  static std::expected<Tokens, std::string> parse(const std::string& name, std::string_view text);

  // The file must belong to our user and be closed to others.
  static std::expected<Tokens, std::string> load(const std::string& path);

  // The time it takes reveals nothing about the tokens: all of them are compared, to the end.
  std::optional<Holder> find(std::string_view token) const;
  bool has(std::string_view id) const;
  // Whether there is a line for this name with this profile.
  bool lets_in(std::string_view name, std::string_view profile) const;
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string hash;  // in hexadecimal digits
    std::size_t line;
    Holder holder;
  };
  std::vector<Entry> entries_;
};

}  // namespace mcpivot
