#include "journal/call_book.h"

#include <algorithm>
#include <boost/json.hpp>

#include "mcp/era.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using Way = JournalEntry::Way;
using What = JournalEntry::What;
using Kind_ = JournalEntry::Kind;
using Outcome = RecordedCall::Outcome;

// Requests that are never answered, because their client has gone, are eventually forgotten.
constexpr std::size_t most_open = 20'000;
constexpr std::size_t most_questions = 10'000;
constexpr std::size_t most_names = 10'000;
constexpr std::size_t longest_arguments = 1'000;  // of an open call, for on_end

Kind_ kind_of(const Message& message) {
  switch (message.kind) {
    case Kind::request:
      return Kind_::request;
    case Kind::notification:
      return Kind_::notification;
    case Kind::result:
      return Kind_::result;
    case Kind::error:
      return Kind_::error;
  }
  return Kind_::unknown;
}

// An id, however it was spelled.
std::string plain(std::string_view id) {
  return id.starts_with('"') ? '"' + string_value(id) : std::string(id);
}

// What terminals ask mcpivot itself, again and again for `mcpivot status --watch`. A client's methods may
// have these names, too.
bool is_control_method(std::string_view method) {
  return method == "status" || method == "logs" || method == "sessions" || method == "sessions/end" ||
         method == "journal";
}

bool is_answer(Kind_ kind) {
  return kind == Kind_::result || kind == Kind_::error;
}

template <class Map>
void keep_below(Map& map, std::size_t most) {
  if (map.size() > most) map.erase(map.begin());
}

}  // namespace

std::string CallBook::safe(std::string text) const {
  redactor_.redact(text);
  return text;
}

void CallBook::know(std::uint64_t client, const std::string& name) {
  names_[client] = safe(name);
  keep_below(names_, most_names);
}

std::string CallBook::name_of(std::uint64_t client) const {
  const auto name = names_.find(client);
  if (name != names_.end()) return name->second;
  return terminals_.contains(client) ? "terminal" : "";
}

void CallBook::take(const JournalEntry& entry, std::int64_t offset) {
  const JournalEntry::Head& head = entry.head;
  const std::int64_t at = head.when / 1000 + offset;
  if (head.way == Way::gap) return lost(head.size, at);
  MessageRow& row = rows_.messages.emplace_back();
  row.id = ++last_message_;
  row.at = at;
  row.way = head.way;
  row.what = head.what;
  row.kind = head.kind;
  row.bridged = head.bridged;
  row.client = head.client;
  row.server = entry.server;
  row.generation = head.generation.number;
  row.pair = head.pair;
  row.size = head.size;
  row.why = safe(std::string(entry.why));
  Reading reading{.entry = entry,
                  .text = head.same ? std::string_view(received_) : entry.text,
                  .message = {},
                  .at = at,
                  .row = row,
                  .id = entry.id};
  if (auto read = read_message(reading.text)) {
    reading.message = std::move(*read);
    if (row.kind == Kind_::unknown) row.kind = kind_of(*reading.message);
    if (reading.message->method)
      row.method = safe(string_value(reading.message->text(reading.message->method)));
    if (head.kind == Kind_::unknown) reading.id = reading.message->text(reading.message->id);
  }
  if (head.same) {
    row.same_as = received_row_;
    row.redacted = received_redacted_;
  } else if (!entry.text.empty()) {
    row.text = std::string(entry.text);
    row.redacted = redactor_.redact(*row.text);
  }
  switch (head.way) {
    case Way::from_client:
      from_client(reading);
      break;
    case Way::to_server:
      to_server(reading);
      break;
    case Way::from_server:
      from_server(reading);
      break;
    case Way::to_client:
      to_client(reading);
      break;
    case Way::gap:
      break;
  }
  if (reading.is_control) {
    rows_.messages.pop_back();
    --last_message_;
    return;
  }
  if (!head.same && (head.way == Way::from_client || head.way == Way::from_server)) {
    received_ = entry.text;
    received_row_ = row.id;
    received_redacted_ = row.redacted;
    const bool is_servers_answer = head.way == Way::from_server && is_answer(row.kind);
    received_server_ = is_servers_answer ? entry.server : std::string_view();
  }
}

// --- what clients say ------------------------------------------------------------------------------------

void CallBook::from_client(Reading& reading) {
  const JournalEntry::Head& head = reading.entry.head;
  MessageRow& row = reading.row;
  if (head.what == What::cancelled) {
    row.call = call_of_id(head.client, head.exchange, reading.id);
    if (row.call != 0) end(row.call, reading, Outcome::cancelled);
  } else if (row.kind == Kind_::request && head.what == What::passed) {
    begin(reading);
  } else if (is_answer(row.kind)) {
    if (const auto asked = questions_.find({head.client, head.pair}); asked != questions_.end())
      row.call = asked->second.call;
  } else if (row.kind == Kind_::notification && !reading.id.empty()) {
    row.call = call_of_id(head.client, 0, reading.id);
  }
}

void CallBook::begin(Reading& reading) {
  if (!reading.message) return;
  const Message& message = *reading.message;
  const bool is_terminal = reading.entry.head.terminal;
  if (is_terminal) {
    terminals_.insert(reading.entry.head.client);
    keep_below(terminals_, most_names);
  }
  if (is_terminal && is_control_method(reading.row.method)) {
    reading.is_control = true;
    control_.emplace(reading.entry.head.client, plain(reading.id));
    return keep_below(control_, most_questions);
  }
  if (message.known == Method::initialize || message.version) learn_client(reading);
  const std::int64_t id = ++last_call_;
  Open& open = open_[id];
  CallRow& call = open.row;
  call.id = id;
  call.at = reading.at;
  call.client = reading.entry.head.client;
  call.client_name = name_of(call.client);
  call.method = reading.row.method;
  call.name = safe(string_value(message.text(message.name ? message.name : message.uri)));
  call.tool = call.name;
  call.bytes_in = reading.row.size;
  call.request = reading.row.id;
  open.id = plain(reading.id);
  open.exchange = reading.entry.head.exchange;
  open.when = reading.entry.head.when;
  if (on_end_ && message.known == Method::tools_call && reading.row.text)
    open.arguments =
        find_member(find_member(*reading.row.text, "params"), "arguments").substr(0, longest_arguments);
  by_id_.emplace(std::pair(call.client, open.id), id);
  reading.row.call = id;
  if (open_.size() > most_open) close(open_.begin());
}

// "claude-code", as it introduces itself.
void CallBook::learn_client(const Reading& reading) {
  const Message& message = *reading.message;
  std::string_view info = find_member(message.text(message.params), "clientInfo");
  if (info.empty()) info = find_member(message.text(message.meta), "io.modelcontextprotocol/clientInfo");
  if (!info.empty()) know(reading.entry.head.client, string_value(find_member(info, "name")));
}

// --- what servers get and say ----------------------------------------------------------------------------

void CallBook::to_server(Reading& reading) {
  const JournalEntry& entry = reading.entry;
  MessageRow& row = reading.row;
  if (row.kind == Kind_::request) {
    if (entry.head.what != What::made) return sent(reading);
    if (entry.head.pair == 0) return;
    inquiries_[pair_of(entry.head.generation, entry.head.pair)] = row.method;
    return keep_below(inquiries_, most_questions);
  }
  if (is_answer(row.kind)) {
    if (const auto asked = questions_.find({entry.head.client, entry.head.pair}); asked != questions_.end()) {
      row.call = asked->second.call;
      questions_.erase(asked);
    }
    return;
  }
  row.call = call_of_pair(entry);
}

void CallBook::sent(Reading& reading) {
  const JournalEntry& entry = reading.entry;
  const std::int64_t id = call_of_id(entry.head.client, entry.head.exchange, reading.id);
  Open* const open = find(id);
  if (open == nullptr) return;
  reading.row.call = id;
  if (open->pair != 0) by_pair_.erase(pair_of(open->generation, open->pair));
  open->generation = entry.head.generation;
  open->pair = entry.head.pair;
  by_pair_[pair_of(open->generation, open->pair)] = id;
  open->changed = true;
  CallRow& call = open->row;
  call.server = entry.server;
  call.generation = entry.head.generation.number;
  call.sent = reading.row.id;
  if (entry.head.what == What::retried) ++call.retries;
  if (!entry.head.same && reading.message && reading.message->name)
    call.tool = safe(string_value(reading.message->text(reading.message->name)));
}

void CallBook::from_server(Reading& reading) {
  const JournalEntry& entry = reading.entry;
  MessageRow& row = reading.row;
  if (is_answer(row.kind)) {
    row.call = call_of_pair(entry);
    if (Open* const open = find(row.call)) {
      // A modern server that asks a legacy client something isn't done yet.
      const bool asks = entry.head.bridged && reading.message &&
                        is_input_required(reading.message->text(reading.message->result));
      if (!asks) open->row.received = row.id;
      open->changed = true;
    } else if (const auto inquiry = inquiries_.extract(pair_of(entry.head.generation, entry.head.pair));
               !inquiry.empty() && inquiry.mapped() == "tools/list") {
      learn_tools(reading);
    }
  } else if (row.kind == Kind_::request) {
    row.call = asking_call(entry);
  } else if (reading.message && reading.message->progress_token) {
    const Message& message = *reading.message;
    const std::string token(message.text(message.progress_token));
    const auto call = by_pair_.find(pair_of(entry.head.generation, std::strtoll(token.c_str(), nullptr, 10)));
    if (call != by_pair_.end()) row.call = call->second;
  }
}

void CallBook::learn_tools(const Reading& reading) {
  if (!reading.message) return;
  boost::json::parse_options options;
  options.max_depth = JsonCursor::max_depth;
  boost::system::error_code error;
  const std::string_view list = find_member(reading.message->text(reading.message->result), "tools");
  const boost::json::value tools = boost::json::parse(list, error, {}, options);
  if (error || !tools.is_array()) return;
  for (const boost::json::value& tool : tools.as_array()) {
    if (!tool.is_object()) continue;
    const boost::json::value* const name = tool.as_object().if_contains("name");
    const boost::json::value* const hints = tool.as_object().if_contains("annotations");
    if (name == nullptr || !name->is_string()) continue;
    rows_.tools.push_back({.server = std::string(reading.entry.server),
                           .tool = safe(std::string(name->as_string())),
                           .annotations = hints == nullptr ? "{}" : safe(boost::json::serialize(*hints))});
  }
}

// A question doesn't say which call it is for. If only one call is open, it belongs to that; otherwise it is
// assigned to the newest, and none of them can be replayed reliably.
std::int64_t CallBook::asking_call(const JournalEntry& entry) {
  std::int64_t newest = 0;
  std::size_t count = 0;
  for (auto& [id, open] : open_)
    if (open.pair != 0 && open.generation == entry.head.generation && open.row.received == 0) {
      newest = id;
      ++count;
    }
  if (count < 2) return newest;
  for (auto& [id, open] : open_)
    if (open.pair != 0 && open.generation == entry.head.generation) {
      open.row.complete = false;
      open.changed = true;
    }
  return newest;
}

// --- what clients are told -------------------------------------------------------------------------------

void CallBook::to_client(Reading& reading) {
  const JournalEntry::Head& head = reading.entry.head;
  MessageRow& row = reading.row;
  if (row.kind == Kind_::request) {
    row.call = asking_call(reading.entry);
    questions_[{head.client, head.pair}] = {
        .call = row.call, .server = row.server, .generation = row.generation};
    return keep_below(questions_, most_questions);
  }
  if (!is_answer(row.kind)) {
    row.call = call_of_pair(reading.entry);
    return;
  }
  if (!control_.empty() && head.pair == 0 && reading.message) {
    const Message& message = *reading.message;
    reading.is_control = control_.erase({head.client, plain(message.text(message.id))}) > 0;
    if (reading.is_control) return;
  }
  row.call = head.pair != 0 ? call_of_pair(reading.entry) : 0;
  if (row.call == 0 && reading.message)
    row.call = call_of_id(head.client, head.exchange, reading.message->text(reading.message->id));
  if (row.call == 0) return;
  if (Open* const open = find(row.call); open != nullptr && head.generation.number > 0)
    join_with_received(*open, reading);
  const bool failed = reading.message && reading.message->is_error;
  end(row.call, reading,
      row.kind == Kind_::error ? Outcome::error
      : failed                 ? Outcome::tool_error
                               : Outcome::ok);
}

// Between the eras, the server may have answered a different request from the client's: one that the bridge
// sent with the client's answers, or one that was parked when the server asked. Its answer belongs to what
// was received last.
void CallBook::join_with_received(Open& open, Reading& reading) {
  if (open.row.received != 0 || received_server_.empty()) return;
  open.row.received = received_row_;
  if (open.row.server.empty()) {
    open.row.server = received_server_;
    open.row.generation = reading.entry.head.generation.number;
  }
  for (auto row = rows_.messages.rbegin(); row != rows_.messages.rend() && row->id >= received_row_; ++row)
    if (row->id == received_row_ && row->call == 0) row->call = open.row.id;
}

void CallBook::end(std::int64_t call, Reading& reading, Outcome outcome) {
  const auto found = open_.find(call);
  if (found == open_.end()) return;
  Open& open = found->second;
  open.row.outcome = outcome;
  open.row.took = (reading.entry.head.when - open.when) / 1000;
  open.row.answer = reading.row.id;
  if (outcome != Outcome::cancelled) open.row.bytes_out = reading.row.size;
  if (on_end_) {
    std::string own;
    const std::string_view answer =
        outcome == Outcome::cancelled ? std::string_view() : safe_text(reading, own);
    on_end_({.call = open.row, .id = open.id, .arguments = open.arguments, .answer = answer});
  }
  close(found);
}

// It has ended, or nobody waits for its end.
void CallBook::close(Opens::iterator call) {
  Open& open = call->second;
  if (open.pair != 0) by_pair_.erase(pair_of(open.generation, open.pair));
  auto [begin, end] = by_id_.equal_range({open.row.client, open.id});
  const auto own = std::find_if(begin, end, [&](const auto& one) { return one.second == call->first; });
  if (own != end) by_id_.erase(own);
  rows_.calls.push_back(std::move(open.row));
  open_.erase(call);
}

// What was received last is usually among the rows, where its secrets have been replaced already.
std::string_view CallBook::safe_text(const Reading& reading, std::string& own) const {
  if (reading.row.text) return *reading.row.text;
  const auto row = static_cast<std::size_t>(reading.row.same_as - rows_.messages.front().id);
  if (row < rows_.messages.size() && rows_.messages[row].text) return *rows_.messages[row].text;
  return own = safe(std::string(reading.text));
}

// --- finding them ----------------------------------------------------------------------------------------

CallBook::Open* CallBook::find(std::int64_t call) {
  const auto found = open_.find(call);
  return found == open_.end() ? nullptr : &found->second;
}

std::int64_t CallBook::call_of_pair(const JournalEntry& entry) const {
  const auto found = by_pair_.find(pair_of(entry.head.generation, entry.head.pair));
  return found == by_pair_.end() ? 0 : found->second;
}

// Exchanges of one client may use the same ids. Without one, or with one that isn't known, the oldest is
// meant.
std::int64_t CallBook::call_of_id(std::uint64_t client, std::uint32_t exchange, std::string_view id) const {
  auto [begin, end] = by_id_.equal_range({client, plain(id)});
  if (begin == end) return 0;
  if (exchange != 0)
    for (auto one = begin; one != end; ++one)
      if (open_.at(one->second).exchange == exchange) return one->second;
  return begin->second;
}

// --- what is written -------------------------------------------------------------------------------------

JournalRows CallBook::rows() {
  for (auto& [id, open] : open_)
    if (std::exchange(open.changed, false)) rows_.calls.push_back(open.row);
  return std::exchange(rows_, {});
}

void CallBook::write_open_again() {
  for (auto& [id, open] : open_) open.changed = true;
}

// Any call that was open at that time may be incomplete.
void CallBook::lost(std::size_t messages, std::int64_t at) {
  rows_.gaps.push_back({.after = last_message_, .at = at, .messages = messages});
  received_.clear();
  received_row_ = 0;
  received_server_.clear();
  for (auto& [id, open] : open_) {
    open.row.complete = false;
    open.changed = true;
  }
}

}  // namespace mcpivot
