// An HTTP request and its answer as plain data: what the code that decides about requests sees of
// HTTP.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// One request that is being answered. Ids are never reused.
enum class ReplyId : std::uint64_t { none = 0 };

// The head of a request, and where it came from.
class HttpAsk {
 public:
  std::string method;
  std::string target;  // the path and the query, or whatever else was sent
  std::string peer;    // "127.0.0.1", "::1", or "unix"
  bool secure = false;
  std::uint16_t local_port = 0;  // of the listener; 0 for a Unix socket

  // Without surrounding blanks; empty if there is none. Names are case-insensitive. The values of a header
  // that was sent more than once are joined with ", ": correct for lists, and never accepted where a single
  // value is expected.
  std::string_view header(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool repeated(std::string_view name) const;

  void add(std::string_view name, std::string_view value);
  // Replaces what was sent.
  void set(std::string_view name, std::string_view value);
  // Forgets the request, but not where it came from.
  void clear();

 private:
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct Field {
    Piece name;
    Piece value;
    bool repeated = false;
  };

  std::string_view text(Piece piece) const { return std::string_view(text_).substr(piece.begin, piece.size); }
  Piece keep(std::string_view text);
  const Field* find(std::string_view name) const;

  std::string text_;  // names and values; one block of memory for all of them
  std::vector<Field> fields_;
};

struct HttpAnswer {
  int status = 200;
  std::string headers{};  // lines that end in "\r\n"; those about length and connection are added
  std::string body{};
  bool close = false;  // the connection, once the answer is written
};

// An answer that a person may see.
HttpAnswer plain_answer(int status, std::string_view text);
// 503: the client may try again in a second.
HttpAnswer busy_answer(std::string_view words);

}  // namespace mcpivot
