#include "journal/journal_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>
#include <set>

#include "journal/journal_file.h"
#include "journal/journal_folder.h"
#include "journal/sqlite.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::system_clock;

constexpr int reader_wait_ms = 2000;

constexpr const char* call_columns =
    "id, at, took, outcome, client, client_name, method, name, server, tool, generation, bytes_in, bytes_out,"
    " complete, request, sent, received, answer";

system_clock::time_point time_of(std::int64_t micros) {
  return system_clock::time_point(microseconds(micros));
}

std::string session_of(const std::string& path) {
  const auto name = JournalName::read(fs::path(path).filename().string());
  return name ? name->session : fs::path(path).stem().string();
}

// A file of a journal that can be read; else why not, in words that begin with its name.
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

// --- which calls -----------------------------------------------------------------------------------------

std::string like(std::string_view part) {
  std::string pattern = "%";
  for (const char c : part) {
    if (c == '%' || c == '_' || c == '~') pattern += '~';
    pattern += c;
  }
  return pattern + "%";
}

// The text as it is spelled within a JSON string.
std::string spelled(std::string_view text) {
  std::string quoted = boost::json::serialize(boost::json::string_view(text.data(), text.size()));
  return quoted.substr(1, quoted.size() - 2);
}

// As a condition, and its arguments in order.
struct Condition {
  std::string sql = "1";
  std::vector<std::string> texts{};

  explicit Condition(const CallFilter& filter) {
    if (!filter.all_methods) sql += " AND method = 'tools/call'";
    if (!filter.with_own) sql += " AND server <> ''";
    if (filter.errors) sql += " AND outcome IN ('error', 'tool_error')";
    if (filter.slow.count() > 0) sql += fmt::format(" AND took >= {}", filter.slow.count());
    if (filter.since)
      sql += fmt::format(" AND at >= {}",
                         std::chrono::duration_cast<microseconds>(filter.since->time_since_epoch()).count());
    if (!filter.tool.empty()) {
      sql += " AND (tool LIKE ? ESCAPE '~' OR name LIKE ? ESCAPE '~')";
      texts.insert(texts.end(), 2, like(filter.tool));
    }
    if (!filter.server.empty()) {
      sql += " AND server LIKE ? ESCAPE '~'";
      texts.push_back(like(filter.server));
    }
    if (!filter.text.empty()) {
      sql +=
          " AND EXISTS(SELECT 1 FROM messages m WHERE m.call = calls.id AND"
          " (m.text LIKE ? ESCAPE '~' OR m.text LIKE ? ESCAPE '~'))";
      texts.push_back(like(filter.text));
      texts.push_back(like(spelled(filter.text)));
    }
  }
  void bind(SqliteStatement& statement) const {
    for (const std::string& text : texts) statement.with(text);
  }
};

// The columns above, and where its messages are.
struct FoundCall {
  RecordedCall call{};
  std::int64_t request = 0, sent = 0, received = 0, answer = 0;
  bool operator<(const FoundCall& other) const {
    return std::tie(call.when, call.session, call.id) <
           std::tie(other.call.when, other.call.session, other.call.id);
  }
};

FoundCall found_call(const SqliteStatement& row, const std::string& session) {
  FoundCall found;
  RecordedCall& call = found.call;
  call.session = session;
  call.id = row.number(0);
  call.when = time_of(row.number(1));
  call.took = microseconds(row.number(2));
  call.outcome = outcome_of(row.text(3));
  call.client = row.text(5);
  if (call.client.empty()) call.client = fmt::format("#{}", row.number(4));
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

// The calls of one file, the oldest first. `after`, `until`: only those that ended with a message
// between them.
std::expected<std::vector<FoundCall>, std::string> calls_in(const Sqlite& journal, const std::string& session,
                                                            const CallFilter& filter,
                                                            std::optional<std::int64_t> after = {},
                                                            std::int64_t until = 0) {
  const Condition condition(filter);
  std::string sql = fmt::format("SELECT {} FROM calls WHERE {}", call_columns, condition.sql);
  if (after) sql += fmt::format(" AND answer > {} AND answer <= {}", *after, until);
  sql += after ? " ORDER BY answer" : " ORDER BY id DESC";
  if (filter.most > 0 && !after) sql += fmt::format(" LIMIT {}", filter.most);
  SqliteStatement asked(journal, sql);
  condition.bind(asked);
  std::vector<FoundCall> calls;
  while (true) {
    const auto row = asked.row();
    if (!row) return std::unexpected(row.error().words);
    if (!*row) break;
    calls.push_back(found_call(asked, session));
  }
  if (!after) std::ranges::reverse(calls);
  return calls;
}

// --- what was said ---------------------------------------------------------------------------------------

constexpr const char* message_columns =
    "m.id, m.at, m.way, m.what, m.kind, m.method, m.client, m.server, m.generation, m.call, m.bridged, "
    "m.size,"
    " m.why, m.same_as, coalesce(m.text, s.text), m.redacted, m.pair";
constexpr const char* message_tables = "messages m LEFT JOIN messages s ON s.id = m.same_as";

struct FoundMessage {
  RecordedMessage message{};
  bool redacted = false;
  std::int64_t pair = 0;
  std::int64_t same_as = 0;
};

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

// The files of one session, opened when they are needed: what belongs to a call may be in several of them.
class Session {
 public:
  Session(std::string name, std::vector<std::string> paths) : name_(std::move(name)) {
    for (std::string& path : paths) files_.emplace_back(std::move(path), std::nullopt);
  }

  // In order.
  std::vector<FoundMessage> messages_of(std::int64_t call) {
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

  ToolHints hints_of(const std::string& server, const std::string& tool) {
    ToolHints hints;
    for (const Sqlite* journal : all()) {
      SqliteStatement asked(*journal, "SELECT annotations FROM tools WHERE server = ? AND tool = ?");
      asked.with(server).with(tool);
      if (!asked.row().value_or(false)) continue;
      const std::string annotations = asked.text(0);
      const auto flag = [&](std::string_view key) -> std::optional<bool> {
        const std::string_view value = find_member(annotations, key);
        if (value != "true" && value != "false") return {};
        return value == "true";
      };
      hints = {.read_only = flag("readOnlyHint"),
               .destructive = flag("destructiveHint"),
               .idempotent = flag("idempotentHint"),
               .open_world = flag("openWorldHint")};
    }
    return hints;
  }

 private:
  std::vector<const Sqlite*> all() {
    std::vector<const Sqlite*> opened;
    for (auto& [path, journal] : files_) {
      if (!journal)
        if (auto now = open_journal(path)) journal.emplace(std::move(*now));
      if (journal) opened.push_back(&*journal);
    }
    return opened;
  }

  std::string name_;
  std::vector<std::pair<std::string, std::optional<Sqlite>>> files_;
};

const FoundMessage* message_with(const std::vector<FoundMessage>& messages, std::int64_t id) {
  const auto found = std::ranges::find(messages, id, [](const FoundMessage& one) { return one.message.id; });
  return id == 0 || found == messages.end() ? nullptr : &*found;
}

// The result or the error of an answer, as raw JSON.
std::string answer_in(std::string_view text) {
  const std::string_view result = find_member(text, "result");
  return std::string(result.empty() ? find_member(text, "error") : result);
}

void add_texts(FoundCall& found, Session& session) {
  RecordedCall& call = found.call;
  const std::vector<FoundMessage> messages = session.messages_of(call.id);
  const FoundMessage* request = message_with(messages, found.sent);
  if (request == nullptr || request->message.text.empty()) request = message_with(messages, found.request);
  const FoundMessage* answer = message_with(messages, found.received);
  if (answer == nullptr || answer->message.text.empty()) answer = message_with(messages, found.answer);
  if (call.outcome == RecordedCall::Outcome::cancelled) answer = nullptr;
  if (request != nullptr) {
    const std::string_view params = find_member(request->message.text, "params");
    call.arguments = call.method == "tools/call" ? find_member(params, "arguments") : params;
    call.is_redacted = request->redacted;
  }
  if (answer != nullptr) {
    call.answer = answer_in(answer->message.text);
    call.is_redacted = call.is_redacted || answer->redacted;
  }
  if (request == nullptr || call.answer.empty()) call.is_complete = false;
  for (const FoundMessage& question : messages) {
    if (question.message.way != "to_client" || question.message.kind != "request") continue;
    Asked asked{.method = question.message.method,
                .params = std::string(find_member(question.message.text, "params"))};
    for (const FoundMessage& one : messages) {
      if (one.message.way != "from_client" || one.pair != question.pair) continue;
      if (one.message.kind != "result" && one.message.kind != "error") continue;
      asked.answer = answer_in(one.message.text);
      asked.is_error = one.message.kind == "error";
    }
    call.asked.push_back(std::move(asked));
  }
  call.hints = session.hints_of(call.server, call.tool);
}

std::vector<std::string> of_session(const std::vector<std::string>& files, const std::string& session) {
  std::vector<std::string> own;
  for (const std::string& file : files)
    if (session_of(file) == session) own.push_back(file);
  return own;
}

// Adds what was said, file by file of each session.
std::vector<RecordedCall> complete(std::vector<FoundCall> found, const std::vector<std::string>& files,
                                   bool with_texts) {
  std::map<std::string, Session> sessions;
  std::vector<RecordedCall> calls;
  for (FoundCall& one : found) {
    if (with_texts) {
      auto session = sessions.find(one.call.session);
      if (session == sessions.end())
        session =
            sessions.emplace(one.call.session, Session(one.call.session, of_session(files, one.call.session)))
                .first;
      add_texts(one, session->second);
    }
    calls.push_back(std::move(one.call));
  }
  return calls;
}

// Changes when the file is written: what is new is in its log first.
std::int64_t stamp_of(const std::string& path) {
  std::uint64_t stamp = 1;
  for (const char* part : {"", "-wal"}) {
    struct stat file{};
    if (::stat((path + part).c_str(), &file) != 0) continue;
    for (const auto number : {file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_size})
      stamp = stamp * 1'000'003 + static_cast<std::uint64_t>(number);
  }
  return static_cast<std::int64_t>(stamp);
}

bool has_calls(const std::string& path) {
  auto journal = open_journal(path);
  return journal && journal->number("SELECT count(*) FROM calls WHERE method = 'tools/call'").value_or(0) > 0;
}

}  // namespace

// --- which journals --------------------------------------------------------------------------------------

std::expected<JournalReader, std::string> JournalReader::open(const std::string& which) {
  JournalReader reader;
  std::error_code error;
  const std::string home = journal_folder();
  const auto turn_on = "turn it on with --journal, \"journal\": true, or: mcpivot journal on";
  if (!which.empty() && which != "last" && fs::is_regular_file(which, error)) {
    if (auto journal = open_journal(which); !journal) return std::unexpected(journal.error());
    reader.files_ = {which};
    return reader;
  }
  if (!which.empty() && which != "last" && fs::is_directory(which, error)) {
    reader.folder_ = which;
    reader.files_ = journals_in(which);
    if (reader.files_.empty()) return std::unexpected(fmt::format("there is no journal in {}", which));
    return reader;
  }
  const std::vector<std::string> all = home.empty() ? std::vector<std::string>() : journals_in(home);
  if (which.empty()) {
    reader.folder_ = home;
    reader.files_ = all;
    if (all.empty()) return std::unexpected(fmt::format("there is no journal yet; {}", turn_on));
    return reader;
  }
  if (which == "last") {
    const auto newest = std::ranges::find_if(all.rbegin(), all.rend(), has_calls);
    if (newest == all.rend())
      return std::unexpected(fmt::format("there is no journal with a call in it; {}", turn_on));
    reader.files_ = of_session(all, session_of(*newest));
    return reader;
  }
  reader.files_ = of_session(all, which);
  if (reader.files_.empty())
    return std::unexpected(fmt::format(
        "no journal is called \"{}\"; give a session (mcpivot journal shows them, before the colon), "
        "a file, or \"last\"",
        which));
  return reader;
}

std::vector<std::string> JournalReader::current_files() const {
  return folder_.empty() ? files_ : journals_in(folder_);
}

void JournalReader::note(const std::string& words) const {
  if (std::ranges::find(notes_, words) == notes_.end()) notes_.push_back(words);
}

// --- questions -------------------------------------------------------------------------------------------

std::expected<std::vector<RecordedCall>, std::string> JournalReader::calls(const CallFilter& filter) const {
  std::map<std::pair<std::string, std::int64_t>, FoundCall> found;
  for (const std::string& file : files_) {
    const std::string session = session_of(file);
    auto journal = open_journal(file);
    if (!journal) {
      note(journal.error());
      continue;
    }
    auto some = calls_in(*journal, session, filter);
    if (!some) {
      note(some.error());
      continue;
    }
    // A call that was open at midnight is in two files; the later one knows more.
    for (FoundCall& one : *some) found.insert_or_assign({session, one.call.id}, std::move(one));
  }
  std::vector<FoundCall> sorted;
  for (auto& [name, one] : found) sorted.push_back(std::move(one));
  std::ranges::sort(sorted, [](const FoundCall& a, const FoundCall& b) { return a < b; });
  if (filter.most > 0 && sorted.size() > filter.most)
    sorted.erase(sorted.begin(), sorted.end() - static_cast<std::ptrdiff_t>(filter.most));
  return complete(std::move(sorted), files_, filter.with_texts);
}

std::expected<RecordedCall, std::string> JournalReader::call(const std::string& name) const {
  if (name == "last") {
    auto newest = calls({.most = 1});
    if (!newest) return std::unexpected(newest.error());
    if (newest->empty()) return std::unexpected("the journal has no call yet");
    return std::move(newest->back());
  }
  const auto colon = name.find(':');
  const std::string session = colon == std::string::npos ? "" : name.substr(0, colon);
  const std::string number = colon == std::string::npos ? name : name.substr(colon + 1);
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (error != std::errc() || end != number.data() + number.size() || id <= 0)
    return std::unexpected(
        fmt::format("\"{}\" isn't the id of a call; mcpivot journal lists them, like 1f3a:17", name));
  for (auto file = files_.rbegin(); file != files_.rend(); ++file) {
    if (!session.empty() && session_of(*file) != session) continue;
    auto journal = open_journal(*file);
    if (!journal) {
      note(journal.error());
      continue;
    }
    SqliteStatement asked(*journal, fmt::format("SELECT {} FROM calls WHERE id = ?", call_columns));
    asked.with(id);
    if (!asked.row().value_or(false)) continue;
    return complete({found_call(asked, session_of(*file))}, files_, true).front();
  }
  return std::unexpected(fmt::format("there is no call {} in the journal; mcpivot journal lists them", name));
}

std::vector<RecordedMessage> JournalReader::messages_of(const RecordedCall& call) const {
  std::vector<RecordedMessage> messages;
  for (FoundMessage& one : Session(call.session, of_session(files_, call.session)).messages_of(call.id))
    messages.push_back(std::move(one.message));
  return messages;
}

std::expected<void, std::string> JournalReader::each_message(
    const std::optional<CallFilter>& filter,
    const std::function<bool(const RecordedMessage& message)>& take) const {
  for (const std::string& file : files_) {
    auto journal = open_journal(file);
    if (!journal) {
      note(journal.error());
      continue;
    }
    std::string sql = fmt::format("SELECT {} FROM {}", message_columns, message_tables);
    const Condition condition(filter.value_or(CallFilter()));
    if (filter) sql += fmt::format(" WHERE m.call IN (SELECT id FROM calls WHERE {})", condition.sql);
    SqliteStatement asked(*journal, sql + " ORDER BY m.id");
    if (filter) condition.bind(asked);
    while (true) {
      const auto row = asked.row();
      if (!row) {
        note(row.error().words);
        break;
      }
      if (!*row) break;
      if (!take(found_message(asked, session_of(file)).message)) return {};
    }
  }
  return {};
}

std::uint64_t JournalReader::missing() const {
  std::int64_t missing = 0;
  for (const std::string& file : files_)
    if (auto journal = open_journal(file))
      missing += journal->number("SELECT sum(messages) FROM gaps").value_or(0);
  return static_cast<std::uint64_t>(missing);
}

std::vector<RecordedCall> JournalReader::newer(const CallFilter& filter, Seen& seen) const {
  const std::vector<std::string> files = current_files();
  std::vector<FoundCall> found;
  for (const std::string& file : files) {
    Place& place = seen[file];
    const std::int64_t stamp = stamp_of(file);
    if (stamp == place.stamp) continue;
    auto journal = open_journal(file);
    if (!journal) {
      note(journal.error());
      continue;
    }
    // Before it is read: what is written meanwhile is found the next time.
    place.stamp = stamp;
    const auto last = journal->number("SELECT max(answer) FROM calls").value_or(0);
    if (last <= place.answer) continue;
    if (auto some = calls_in(*journal, session_of(file), filter, place.answer, last))
      std::ranges::move(*some, std::back_inserter(found));
    place.answer = last;
  }
  return complete(std::move(found), files, filter.with_texts);
}

}  // namespace mcpivot
