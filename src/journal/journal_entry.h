// One thing that happened to a message, on its way from the event loop to the thread that writes the journal:
// a head of numbers, and the few texts that belong to it, in one stretch of bytes.
//
// Plain data. Any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mcpivot {

struct JournalEntry {
  enum class Way : std::uint8_t { from_client, to_server, from_server, to_client, gap };
  enum class What : std::uint8_t { passed, changed, retried, made, cancelled, refused, dropped };
  enum class Kind : std::uint8_t { unknown, request, notification, result, error };

  // The life of a server that it is about.
  struct Generation {
    std::uint64_t client = 0;
    std::uint32_t instance = 0;
    std::int32_t number = 0;  // as people count them
    std::uint64_t birth = 0;
    bool operator==(const Generation&) const = default;
  };

  struct Head {
    Way way = Way::gap;
    What what = What::passed;
    Kind kind = Kind::unknown;  // unknown: it has not been read yet
    bool terminal = false;      // the client is one
    bool bridged = false;
    bool same = false;  // as what was received last, except for ids; has no text of its own
    std::uint32_t exchange = 0;
    std::uint64_t client = 0;
    Generation generation{};
    std::int64_t pair = 0;
    std::int64_t when = 0;   // ns, of the steady clock
    std::uint64_t size = 0;  // in bytes; of a gap: how many messages
    std::uint32_t id_size = 0;
    std::uint32_t server_size = 0;
    std::uint32_t why_size = 0;
    std::uint32_t text_size = 0;
  };

  Head head{};
  std::string_view id{};  // as its sender spelled it
  std::string_view server{};
  std::string_view why{};
  std::string_view text{};

  // Of an entry with these texts.
  static std::size_t size_of(const Head& head) {
    return (sizeof(Head) + head.id_size + head.server_size + head.why_size + head.text_size + 7) &
           ~std::size_t{7};
  }
  // Borrows the bytes.
  static JournalEntry read(const char* bytes) {
    JournalEntry entry;
    std::memcpy(&entry.head, bytes, sizeof(Head));
    bytes += sizeof(Head);
    const auto next = [&](std::uint32_t size) {
      const std::string_view text(bytes, size);
      bytes += size;
      return text;
    };
    entry.id = next(entry.head.id_size);
    entry.server = next(entry.head.server_size);
    entry.why = next(entry.head.why_size);
    entry.text = next(entry.head.text_size);
    return entry;
  }
};

}  // namespace mcpivot
