#include "journal/journal_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <filesystem>
#include <functional>
#include <ranges>
#include <set>

#include "journal/journal_file.h"
#include "journal/journal_folder.h"
#include "journal/recorded_session.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"
#include "sqlite/sqlite.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::chrono::microseconds;
using std::chrono::system_clock;

std::string session_of(const std::string& path) {
  const auto name = JournalName::read(fs::path(path).filename().string());
  return name ? name->session : fs::path(path).stem().string();
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
    if (!filter.of_server.empty()) {
      sql += " AND server = ?";
      texts.push_back(filter.of_server);
    }
    if (!filter.folder.empty()) {
      sql += " AND (SELECT folder FROM run) = ?";
      texts.push_back(filter.folder);
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

std::vector<std::string> of_session(const std::vector<std::string>& files, const std::string& session) {
  std::vector<std::string> own;
  for (const std::string& file : files)
    if (session_of(file) == session) own.push_back(file);
  return own;
}

// Without those for which there is no room; the newest come first.
void keep_what_fits(std::vector<FoundCall>& sorted, std::uint64_t room) {
  std::ranges::reverse(sorted);
  std::erase_if(sorted, [&](const FoundCall& one) {
    const std::uint64_t bytes = one.call.bytes_in + one.call.bytes_out;
    if (bytes > room) return true;
    room -= bytes;
    return false;
  });
  std::ranges::reverse(sorted);
}

// Adds what was said, file by file of each session.
std::vector<RecordedCall> complete(std::vector<FoundCall> found, const std::vector<std::string>& files,
                                   bool with_texts) {
  std::map<std::string, RecordedSession> sessions;
  std::vector<RecordedCall> calls;
  for (FoundCall& one : found) {
    if (with_texts) {
      auto session = sessions.find(one.call.session);
      if (session == sessions.end())
        session = sessions
                      .emplace(one.call.session,
                               RecordedSession(one.call.session, of_session(files, one.call.session)))
                      .first;
      session->second.add_texts(one);
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

system_clock::time_point written(const std::string& path) {
  system_clock::time_point last{};
  for (const char* part : {"", "-wal"}) {
    struct stat file{};
    if (::stat((path + part).c_str(), &file) == 0)
      last = std::max(last, system_clock::from_time_t(file.st_mtim.tv_sec + 1));
  }
  return last;
}

template <class Calls>
system_clock::time_point nth_newest(const Calls& calls, std::size_t n) {
  std::vector<system_clock::time_point> times;
  for (const auto& [name, one] : calls) times.push_back(one.call.when);
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(n - 1), std::greater());
  return times[n - 1];
}

// The last message that ended a call.
std::int64_t last_answer(Sqlite& journal) {
  return journal.number("SELECT max(answer) FROM calls").value_or(0);
}

// `folder`: only if mcpivot was started there; empty: no matter where.
bool has_calls(const std::string& path, const std::string& folder) {
  const auto journal = open_journal(path);
  if (!journal) return false;
  const Condition condition(CallFilter{.folder = folder});
  SqliteStatement asked(*journal, fmt::format("SELECT 1 FROM calls WHERE {} LIMIT 1", condition.sql));
  condition.bind(asked);
  return asked.row().value_or(false);
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
    const auto newest_of = [&](const std::string& folder) {
      return std::find_if(all.rbegin(), all.rend(),
                          [&](const std::string& file) { return has_calls(file, folder); });
    };
    // Somebody may be working on other projects, too.
    auto newest = newest_of(fs::current_path(error).string());
    if (newest == all.rend()) newest = newest_of("");
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
  // The newest file first: a file that ends before the oldest call that is wanted contains none.
  for (const std::string& file : files_ | std::views::reverse) {
    if (filter.most > 0 && found.size() >= filter.most && written(file) < nth_newest(found, filter.most))
      continue;
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
    for (FoundCall& one : *some) found.try_emplace({session, one.call.id}, std::move(one));
  }
  std::vector<FoundCall> sorted;
  for (auto& [name, one] : found) sorted.push_back(std::move(one));
  std::ranges::sort(sorted, [](const FoundCall& a, const FoundCall& b) { return a < b; });
  if (filter.most > 0 && sorted.size() > filter.most)
    sorted.erase(sorted.begin(), sorted.end() - static_cast<std::ptrdiff_t>(filter.most));
  if (filter.most_bytes > 0) keep_what_fits(sorted, filter.most_bytes);
  return complete(std::move(sorted), files_, filter.with_texts);
}

std::expected<RecordedCall, std::string> JournalReader::call(const std::string& name) const {
  if (name == "last") {
    auto newest = calls({.most = 1});
    if (!newest) return std::unexpected(newest.error());
    if (newest->empty()) return std::unexpected("the journal has no calls yet");
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
  for (FoundMessage& one :
       RecordedSession(call.session, of_session(files_, call.session)).messages_of(call.id))
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

JournalReader::Seen JournalReader::all_so_far() const {
  Seen seen;
  for (const std::string& file : current_files()) {
    const std::int64_t stamp = stamp_of(file);  // before it is read, as in newer()
    auto journal = open_journal(file);
    if (!journal) continue;
    seen[file] = {.answer = last_answer(*journal), .stamp = stamp};
  }
  return seen;
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
    const std::int64_t last = last_answer(*journal);
    if (last <= place.answer) continue;
    if (auto some = calls_in(*journal, session_of(file), filter, place.answer, last))
      std::ranges::move(*some, std::back_inserter(found));
    place.answer = last;
  }
  // As they ended, whichever sessions they are of.
  std::ranges::stable_sort(found, {}, [](const FoundCall& one) { return one.call.when + one.call.took; });
  return complete(std::move(found), files, filter.with_texts);
}

}  // namespace mcpivot
