#include "journal/recorded_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "journal/journal_file.h"
#include "mcp/era.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

using std::chrono::microseconds;
using std::chrono::system_clock;

constexpr int reader_wait_ms = 2000;
constexpr int most_rounds = 20;  // of input that a server asks for, in one call

system_clock::time_point time_of(std::int64_t micros) {
  return system_clock::time_point(microseconds(micros));
}

}  // namespace

const char* const call_columns =
    "id, at, took, outcome, client, client_name, method, name, server, tool, generation, bytes_in, bytes_out,"
    " complete, request, sent, received, answer";
const char* const message_columns =
    "m.id, m.at, m.way, m.what, m.kind, m.method, m.client, m.server, m.generation, m.call, m.bridged, "
    "m.size,"
    " m.why, m.same_as, coalesce(m.text, s.text), m.redacted, m.pair";
const char* const message_tables = "messages m LEFT JOIN messages s ON s.id = m.same_as";

// A journal file that can be read. The error begins with its name.
std::expected<Sqlite, std::string> open_journal(const std::string& path) {
  auto opened = Sqlite::open(path, Sqlite::Mode::read, reader_wait_ms);
  if (!opened) return std::unexpected(opened.error().words);
  const auto owner = opened->number("PRAGMA application_id");
  if (!owner) return std::unexpected(owner.error().words);
  const auto version = opened->number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error().words);
  if (*owner != journal_application) return std::unexpected(path + " isn't a journal of mcpivot");
  if (*version > journal_schema)
    return std::unexpected(fmt::format("{} was written by a newer mcpivot (schema {}; this one knows {})",
                                       path, *version, journal_schema));
  return std::move(*opened);
}

FoundCall found_call(const SqliteStatement& row, const std::string& session) {
  FoundCall found;
  RecordedCall& call = found.call;
  call.session = session;
  call.id = row.number(0);
  call.when = time_of(row.number(1));
  call.took = microseconds(row.number(2));
  call.outcome = outcome_of(row.text(3));
  call.client = row.text(5);
  found.client = row.number(4);
  if (call.client.empty()) call.client = fmt::format("#{}", found.client);
  call.method = row.text(6);
  call.called = row.text(7);
  call.server = row.text(8);
  call.tool = row.text(9);
  call.generation = static_cast<int>(row.number(10));
  call.bytes_in = static_cast<std::uint64_t>(row.number(11));
  call.bytes_out = static_cast<std::uint64_t>(row.number(12));
  call.is_complete = row.number(13) != 0;
  call.is_error = call.outcome == RecordedCall::Outcome::error;
  call.tool_failed = call.outcome == RecordedCall::Outcome::tool_error;
  found.request = row.number(14);
  found.sent = row.number(15);
  found.received = row.number(16);
  found.answer = row.number(17);
  return found;
}

FoundMessage found_message(const SqliteStatement& row, const std::string& session) {
  FoundMessage found{.message = {.id = row.number(0),
                                 .session = session,
                                 .when = time_of(row.number(1)),
                                 .way = row.text(2),
                                 .what = row.text(3),
                                 .kind = row.text(4),
                                 .method = row.text(5),
                                 .client = row.number(6),
                                 .server = row.text(7),
                                 .generation = static_cast<int>(row.number(8)),
                                 .call = row.number(9),
                                 .bridged = row.number(10) != 0,
                                 .is_same = !row.is_null(13),
                                 .size = static_cast<std::uint64_t>(row.number(11)),
                                 .why = row.text(12),
                                 .text = row.text(14)},
                     .redacted = row.number(15) != 0,
                     .pair = row.number(16),
                     .same_as = row.number(13)};
  return found;
}

RecordedSession::RecordedSession(std::string name, std::vector<std::string> paths) : name_(std::move(name)) {
  for (std::string& path : paths) files_.emplace_back(std::move(path), std::nullopt);
}

std::vector<FoundMessage> RecordedSession::messages_of(std::int64_t call) {
  std::vector<FoundMessage> messages;
  for (const Sqlite* journal : all()) {
    SqliteStatement asked(*journal, fmt::format("SELECT {} FROM {} WHERE m.call = ? ORDER BY m.id",
                                                message_columns, message_tables));
    asked.with(call);
    while (asked.row().value_or(false)) messages.push_back(found_message(asked, name_));
  }
  // One that is the same as a message in an earlier file.
  for (FoundMessage& message : messages)
    if (message.message.text.empty() && message.same_as != 0)
      for (const FoundMessage& other : messages)
        if (other.message.id == message.same_as) message.message.text = other.message.text;
  return messages;
}

std::vector<const Sqlite*> RecordedSession::all() {
  std::vector<const Sqlite*> opened;
  for (auto& [path, journal] : files_) {
    if (!journal)
      if (auto now = open_journal(path)) journal.emplace(std::move(*now));
    if (journal) opened.push_back(&*journal);
  }
  return opened;
}

namespace {

const FoundMessage* message_with(const std::vector<FoundMessage>& messages, std::int64_t id) {
  const auto found = std::ranges::find(messages, id, [](const FoundMessage& one) { return one.message.id; });
  return id == 0 || found == messages.end() ? nullptr : &*found;
}

// The result or the error of an answer, as raw JSON.
std::string answer_in(std::string_view text) {
  const std::string_view result = find_member(text, "result");
  return std::string(result.empty() ? find_member(text, "error") : result);
}

// Each member of a JSON object: its key and its value as they are spelled.
template <class Take>
void each_of(std::string_view object, Take&& take) {
  JsonCursor cursor(object);
  cursor.object([&](JsonCursor::Key key) {
    Span where;
    if (!cursor.value(where)) return false;
    take(key.text, object.substr(where.begin, where.size));
    return true;
  });
}

}  // namespace

// A modern server asks by answering `input_required`; the client calls again with its answers.
void RecordedSession::add_rounds(FoundCall& found, std::string_view params, int rounds) {
  const std::string_view responses = find_member(params, "inputResponses");
  if (responses.empty()) return;
  const auto has_asked = [&](std::string_view requests) {
    bool all = !requests.empty();
    each_of(responses, [&](std::string_view key, std::string_view) {
      all = all && !find_member(requests, key).empty();
    });
    return all;
  };
  for (const Sqlite* journal : all()) {
    SqliteStatement asked(*journal,
                          fmt::format("SELECT {} FROM calls WHERE id < ? AND client = ? AND method = ? AND "
                                      "name = ? ORDER BY id DESC LIMIT 100",
                                      call_columns));
    asked.with(found.call.id).with(found.client).with(found.call.method).with(found.call.called);
    while (rounds < most_rounds && asked.row().value_or(false)) {
      FoundCall before = found_call(asked, name_);
      add_texts(before, most_rounds);  // only to see whether it is the one
      const std::string_view requests = find_member(before.call.answer, "inputRequests");
      if (!before.call.asks || !has_asked(requests)) continue;
      FoundCall whole = found_call(asked, name_);
      add_texts(whole, rounds + 1);
      found.call.asked = std::move(whole.call.asked);
      found.call.is_complete = found.call.is_complete && whole.call.is_complete;
      each_of(responses, [&](std::string_view key, std::string_view answer) {
        const std::string_view question = find_member(requests, key);
        found.call.asked.push_back({.method = string_value(find_member(question, "method")),
                                    .params = std::string(find_member(question, "params")),
                                    .answer = std::string(answer)});
      });
      return;
    }
  }
  found.call.is_complete = false;
}

void RecordedSession::add_texts(FoundCall& found, int rounds) {
  RecordedCall& call = found.call;
  const std::vector<FoundMessage> messages = messages_of(call.id);
  const FoundMessage* request = message_with(messages, found.sent);
  if (request == nullptr || request->message.text.empty()) request = message_with(messages, found.request);
  const FoundMessage* answer = message_with(messages, found.received);
  if (answer == nullptr || answer->message.text.empty()) answer = message_with(messages, found.answer);
  if (call.outcome == RecordedCall::Outcome::cancelled) answer = nullptr;
  if (request != nullptr) {
    const std::string_view params = find_member(request->message.text, "params");
    if (const FoundMessage* const own = message_with(messages, found.request))
      add_rounds(found, find_member(own->message.text, "params"), rounds);
    call.arguments = call.method == "tools/call" ? find_member(params, "arguments") : params;
    call.is_redacted = request->redacted;
  }
  if (answer != nullptr) {
    call.answer = answer_in(answer->message.text);
    call.is_redacted = call.is_redacted || answer->redacted;
  }
  call.asks = !call.is_error && is_input_required(call.answer);
  if (request == nullptr || call.answer.empty()) call.is_complete = false;
  for (const FoundMessage& question : messages) {
    if (question.message.way != "to_client" || question.message.kind != "request") continue;
    Asked asked{.method = question.message.method,
                .params = std::string(find_member(question.message.text, "params"))};
    for (const FoundMessage& one : messages) {
      if (one.message.way != "from_client" || one.pair != question.pair) continue;
      if (one.message.kind != "result" && one.message.kind != "error") continue;
      asked.answer = answer_in(one.message.text);
      call.is_redacted = call.is_redacted || one.redacted;
      asked.is_error = one.message.kind == "error";
    }
    call.asked.push_back(std::move(asked));
  }
}

}  // namespace mcpivot
