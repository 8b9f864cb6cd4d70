// Turns what was seen of messages into the journal's rows: finds the answer to each request, the questions
// that came up meanwhile, and the tool behind a name.
//
// It knows neither files nor threads, so the simulation uses it, too. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "journal/journal_rows.h"
#include "journal/redactor.h"
#include "rpc/message.h"

namespace mcpivot {

class CallBook {
 public:
  // A call that has ended. Secrets are gone from what was asked and answered.
  struct Ended {
    const CallRow& call;
    std::string_view id;         // of the request
    std::string_view arguments;  // of a tool, or how they begin
    std::string_view answer;     // the whole message; empty: it was cancelled
  };
  using OnEnd = std::function<void(const Ended& ended)>;

  explicit CallBook(Redactor redactor, OnEnd on_end = {})
      : redactor_(std::move(redactor)), on_end_(std::move(on_end)) {}

  // A client that introduced itself before.
  void know(std::uint64_t client, const std::string& name);
  void set_redactor(Redactor redactor) { redactor_ = std::move(redactor); }
  // What was seen, in order. `offset`: what to add to a time of the steady clock to get the calendar time, in
  // µs.
  void take(const JournalEntry& entry, std::int64_t offset);
  // The rows since the last time, including those of calls that have no answer yet.
  JournalRows rows();
  // Includes the calls without an answer again, for a new file.
  void write_open_again();
  // The last rows could not be written: this many messages are missing.
  void lost(std::size_t messages, std::int64_t at);

  std::size_t open_calls() const { return open_.size(); }

 private:
  struct Open {
    CallRow row{};
    std::string id{};  // of the request, as the client spelled it
    std::uint32_t exchange = 0;
    JournalEntry::Generation generation{};
    std::int64_t pair = 0;
    std::int64_t when = 0;    // by the steady clock: the calendar may be set in the meantime
    std::string arguments{};  // for on_end: only how they begin, because a call may stay open for long
    bool changed = true;      // since the last rows()
  };
  using Opens = std::map<std::int64_t, Open>;  // by the call's id, so the oldest is first
  // In one life of a server.
  struct Pair {
    std::uint64_t client, birth;
    std::uint32_t instance;
    std::int64_t pair;
    auto operator<=>(const Pair&) const = default;
  };
  static Pair pair_of(const JournalEntry::Generation& generation, std::int64_t pair) {
    return {generation.client, generation.birth, generation.instance, pair};
  }
  struct Question {
    std::int64_t call = 0;
    std::string server{};
    int generation = 0;
  };

  // What is known about one entry while it is being processed.
  struct Reading {
    const JournalEntry& entry;
    std::string_view text;  // its own, or that of what was received last
    std::optional<Message> message;
    std::int64_t at;
    MessageRow& row;
    std::string_view id;
    bool is_control = false;  // between a terminal and us
  };

  void from_client(Reading& reading);
  void to_server(Reading& reading);
  void from_server(Reading& reading);
  void to_client(Reading& reading);
  void begin(Reading& reading);
  void sent(Reading& reading);
  void join_with_received(Open& open, Reading& reading);
  void end(std::int64_t call, Reading& reading, RecordedCall::Outcome outcome);
  void close(Opens::iterator call);
  std::string name_of(std::uint64_t client) const;
  std::string_view safe_text(const Reading& reading, std::string& own) const;
  void learn_client(const Reading& reading);
  void learn_tools(const Reading& reading);
  std::int64_t asking_call(const JournalEntry& entry);
  std::int64_t call_of_pair(const JournalEntry& entry) const;
  std::int64_t call_of_id(std::uint64_t client, std::uint32_t exchange, std::string_view id) const;
  Open* find(std::int64_t call);
  std::string safe(std::string text) const;

  Redactor redactor_;
  OnEnd on_end_;
  JournalRows rows_;
  std::int64_t last_message_ = 0;
  std::int64_t last_call_ = 0;
  Opens open_;
  std::multimap<std::pair<std::uint64_t, std::string>, std::int64_t> by_id_;
  std::map<Pair, std::int64_t> by_pair_;
  std::map<Pair, std::string> inquiries_;  // our own requests to servers: their methods
  std::map<std::pair<std::uint64_t, std::int64_t>, Question> questions_;  // by the client, and its id there
  std::map<std::uint64_t, std::string> names_;                            // of clients
  std::set<std::uint64_t> terminals_;                                     // clients that are one
  std::set<std::pair<std::uint64_t, std::string>> control_;               // what terminals asked
  // What was received last.
  std::string received_;
  std::int64_t received_row_ = 0;
  std::size_t received_redacted_ = 0;
  std::string received_server_;  // whose answer it is; empty: it is something else
};

}  // namespace mcpivot
