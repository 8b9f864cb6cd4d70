// Messages for tests of the journal, as the observer would put them into the queue.
//
// One thread, the one that puts.
#pragma once

#include <cstring>
#include <string>

#include "journal/journal_queue.h"

namespace mcpivot {

// Puts what is seen of calls into a queue, one thing after the other, a millisecond apart.
class JournalFeed {
 public:
  explicit JournalFeed(JournalQueue& queue) : queue_(queue) {}

  struct What {
    JournalEntry::Way way;
    JournalEntry::What what = JournalEntry::What::passed;
    JournalEntry::Kind kind = JournalEntry::Kind::unknown;
    std::uint64_t client = 1;
    std::string id{};
    std::string server{};
    std::int64_t pair = 0;
    std::string text{};
    bool same = false;
    std::string why{};
    std::uint64_t birth = 1;
    std::uint32_t exchange = 0;
    bool bridged = false;
    bool terminal = false;
  };
  bool put(const What& seen) {
    JournalEntry::Head head{.way = seen.way,
                            .what = seen.what,
                            .kind = seen.kind,
                            .terminal = seen.terminal,
                            .bridged = seen.bridged,
                            .same = seen.same,
                            .exchange = seen.exchange,
                            .client = seen.client,
                            .pair = seen.pair,
                            .when = now += 1'000'000,
                            .size = seen.text.size(),
                            .id_size = static_cast<std::uint32_t>(seen.id.size()),
                            .server_size = static_cast<std::uint32_t>(seen.server.size()),
                            .why_size = static_cast<std::uint32_t>(seen.why.size()),
                            .text_size = static_cast<std::uint32_t>(seen.text.size())};
    if (!seen.server.empty() || seen.pair != 0)
      head.generation = {
          .client = 1, .instance = 1, .number = static_cast<int>(seen.birth), .birth = seen.birth};
    char* at = queue_.room(head);
    if (at == nullptr) return false;
    for (const std::string* text : {&seen.id, &seen.server, &seen.why, &seen.text}) {
      std::memcpy(at, text->data(), text->size());
      at += text->size();
    }
    queue_.publish();
    return true;
  }

  static std::string call_text(std::int64_t id, const std::string& tool, const std::string& arguments) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"tools/call","params":{"name":")" +
           tool + R"(","arguments":)" + arguments + "}}";
  }
  static std::string result_text(std::int64_t id, const std::string& text, bool failed = false) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"result":{"content":[{"type":"text","text":")" + text + R"("}])" +
           (failed ? R"(,"isError":true)" : "") + "}}";
  }

  // A call of a tool, with its answer.
  void call(std::int64_t id, const std::string& tool, const std::string& arguments, const std::string& answer,
            bool failed = false) {
    ask(id, tool, arguments);
    this->answer(id, answer, failed);
  }
  void ask(std::int64_t id, const std::string& tool, const std::string& arguments) {
    using enum JournalEntry::Way;
    put({.way = from_client,
         .kind = JournalEntry::Kind::request,
         .id = std::to_string(id),
         .text = call_text(id, tool, arguments)});
    put({.way = to_server,
         .kind = JournalEntry::Kind::request,
         .id = std::to_string(id),
         .server = "dev",
         .pair = id + 100,
         .same = true});
  }
  void answer(std::int64_t id, const std::string& answer, bool failed = false) {
    using enum JournalEntry::Way;
    put({.way = from_server,
         .kind = JournalEntry::Kind::result,
         .client = 0,
         .id = std::to_string(id + 100),
         .server = "dev",
         .pair = id + 100,
         .text = result_text(id + 100, answer, failed)});
    put({.way = to_client,
         .kind = JournalEntry::Kind::result,
         .id = std::to_string(id + 100),
         .pair = id + 100,
         .same = true});
  }

  std::int64_t now = 0;

 private:
  JournalQueue& queue_;
};

}  // namespace mcpivot
