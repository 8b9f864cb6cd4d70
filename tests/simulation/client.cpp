#include "client.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <utility>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::find_member;
using mcpivot::Kind;
using mcpivot::Message;
using mcpivot::Method;
using mcpivot::request_line;

namespace {

// A client that sends `initialize` learns after 10 s what went wrong.
constexpr Millis longest_handshake{10'500};
// A call waits at most 2 s and takes at most 2.5 s, each of the six times that a call of a daemon may be
// tried.
constexpr Millis longest_call{35'000};
// What isn't known after 2 s is no longer waited for.
constexpr Millis longest_discover{2'500};

// What servers may still send to a client that doesn't read: what was in flight, and why calls failed.
constexpr std::size_t most_unread = 1'600'000;
// Including the log messages that such a client didn't ask for, which are next to its servers' stderr.
constexpr std::size_t most_unread_modern = 100'000'000;

// Whether a server answers such a call by itself: some it never answers, or only when others let it.
bool is_prompt(const std::string& arguments) {
  for (const char* never : {"\"hang\"", "\"lose\"", "\"ask\"", "\"deaf\""})
    if (arguments.find(never) != std::string::npos) return false;
  return true;
}

// How many there were before depends on others.
std::string without_secrets(std::string_view line) {
  std::string text(line);
  constexpr std::string_view secret = "secret";
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
    const auto end = text.find_first_not_of("0123456789", at + secret.size());
    text.erase(at + secret.size(), end - at - secret.size());
  }
  return text;
}

// The beginning of the result of a call by pivot_call, as JSON spells it.
std::string heading_of(const std::string& server, const std::string& tool) {
  return fmt::format(R"([mcpivot] server \"{}\", tool \"{}\")", server, tool);
}

}  // namespace

CallText call_from(const std::string& text, int number) {
  CallText call;
  std::string doing;
  std::istringstream words(text);
  words >> call.tool;
  for (std::string word; words >> word;) {
    if (word == "+token")
      call.token = true;
    else if (word == "+task")
      call.task = true;
    else
      doing = word;
  }
  call.arguments = fmt::format(R"({{"n":{}{}}})", number, doing);
  return call;
}

Client::Client(VirtualTime& time, Oracle& oracle, std::uint64_t seed, int& own_numbers, Seat seat)
    : time_(time),
      oracle_(oracle),
      seat_(std::move(seat)),
      wire_(std::make_shared<Wire>(time, seed, 100'000, static_cast<Wire::Peer&>(*this))),
      own_numbers_(own_numbers) {}

bool Client::keeps_transcript = false;

// --- what it asks

void Client::hello(int number, const std::string& how) {
  if (std::exchange(greeted_, true)) return;
  const bool blind = how.ends_with("-blind");
  if (how.starts_with("mixed")) speech_ = Speech::mixed;
  if (how.starts_with("modern")) speech_ = Speech::modern;
  if (speech_ == Speech::legacy && how != "dual") return initialize(number, how);
  if (blind) return;
  if (speech_ == Speech::mixed) return initialize(number, "2025-11-25");
  if (how == "dual") speech_ = Speech::dual;
  discover_ = number;
  ask(number, "server/discover", {});
}

void Client::initialize(int number, const std::string& version) {
  hello_ = number;
  oracle_.will_ask(
      {.number = number, .who = seat_.who, .server = {}, .cancellable = false, .limit = longest_handshake});
  wire_->say(request_line(
      Oracle::spelled(number), "initialize",
      fmt::format(
          R"({{"protocolVersion":"{}","capabilities":{},"clientInfo":{{"name":"sim{}","version":"1"}}}})",
          version, capabilities(), seat_.guest)));
}

void Client::ready() {
  if (hello_ == 0 || std::exchange(ready_, true)) return;
  wire_->say(request_line({}, "notifications/initialized", {}));
}

void Client::put(const Asked& asked, const std::string& method, std::string members) {
  wire_->say(line_of(asked, method, std::move(members)));
}

void Client::ask(int number, const std::string& method, const std::string& params) {
  Asked asked{.number = number, .who = seat_.who, .server = {}};
  asked.modern = speaks_modern(number);
  if (method == "server/discover") asked.limit = longest_discover;
  if (!greeted_) early_.insert(Oracle::spelled(number));
  if (asked.modern && (params.empty() || params.starts_with('{')))
    return put(asked, method, params.empty() ? "" : params.substr(1, params.size() - 2));
  asked.modern = false;
  oracle_.will_ask(asked);
  wire_->say(request_line(Oracle::spelled(number), method, params));
}

// The name under which it has seen the tool, or one that it could have heard of.
std::string Client::name_for(const std::string& server, const std::string& tool, int number,
                             bool& sure) const {
  std::string prefixed = fmt::format("{}__{}", server, tool);
  sure = true;
  if (names_.contains(prefixed)) return prefixed;
  sure = number % 4 == 0 && !names_.contains(tool);
  return sure ? prefixed : tool;
}

// Servers put it into whatever they send from then on; no other client may ever receive it.
std::string Client::with_canary(std::string arguments) const {
  if (const auto at = arguments.find(R"("n":)"); at != std::string::npos)
    arguments.insert(at, fmt::format(R"("canary":"{}",)", Oracle::canary(seat_.who)));
  return arguments;
}

std::string Client::call_members(const std::string& name, const CallText& call) const {
  std::string members =
      fmt::format(R"("name":{},"arguments":{})", mcpivot::quote(name), with_canary(call.arguments));
  if (call.task) members += R"(,"task":{"ttl":60000})";
  return members;
}

Asked Client::expected(int number, std::string server, const CallText& call) const {
  if (!server.empty()) server += seat_.guest;
  return {.number = number,
          .who = seat_.who,
          .server = std::move(server),
          .may_repeat = call.tool == "look" || call.tool == "put" || call.tool == "again",
          .is_call = true,
          .has_token = call.token,
          .is_task = call.task,
          .is_prompt = is_prompt(call.arguments),
          .in_batch = call.in_batch,
          .limit = call.in_batch ? 3 * longest_call : longest_call,
          .modern = !call.in_batch && speaks_modern(number)};
}

void Client::call(const std::string& server, int number, const CallText& call) {
  bool sure = false;
  const std::string name = name_for(server, call.tool, number, sure);
  call_named(name, sure ? server : std::string(), number, call);
}

void Client::call_named(const std::string& name, const std::string& server, int number,
                        const CallText& call) {
  Asked asked = expected(number, server, call);
  if (name == "pivot_call") asked.heading = heading_of(server, call.tool);
  put(asked, "tools/call", call_members(name, call));
}

void Client::call_through(const std::string& server, int number, const CallText& call) {
  CallText wrapped = call;
  wrapped.arguments = fmt::format(R"({{"tool":"{}__{}","arguments":{}}})", server, call.tool, call.arguments);
  Asked asked = expected(number, server, call);
  asked.heading = heading_of(server, call.tool);
  put(asked, "tools/call", call_members("pivot_call", wrapped));
}

void Client::control(int number, const std::string& text) {
  std::istringstream words(text);
  CallText call;
  words >> call.tool >> call.arguments;
  Asked asked{.number = number, .who = seat_.who, .server = {}, .has_token = text.ends_with("+token")};
  asked.modern = speaks_modern(number);
  put(asked, "tools/call", call_members(call.tool, call));
}

void Client::batch(const std::string& server, int number, const std::string& text) {
  if (!batches_) return;
  std::string lines;
  for (int i = number; i < number + 3; ++i) {
    CallText call = call_from(text, i);
    call.in_batch = true;
    bool sure = false;
    const std::string name = name_for(server, call.tool, i, sure);
    lines += (lines.empty() ? "" : ",") + line_of(expected(i, sure ? server : std::string(), call),
                                                  "tools/call", call_members(name, call));
  }
  wire_->say("[" + lines + "]");
}

void Client::cancel(int number) {
  tool_listens_.erase(number);
  listens_.erase(Oracle::spelled(number));
  wire_->say(mcpivot::cancellation(Oracle::spelled(number), "never mind"));
}

void Client::notify(const std::string& method, const std::string& params) {
  if (method == "notifications/initialized" && speech_ != Speech::legacy && hello_ == 0) return;
  if (method == "notifications/initialized") ready_ = true;  // so it will be told about changes
  wire_->say(request_line({}, method, params));
}

void Client::check_list() {
  check_ = own_number();
  ask(check_, "tools/list", {});
}

void Client::noise(int kind) {
  switch (kind) {
    case 0:
      return wire_->say("{ nothing");
    case 1:
      return wire_->say(R"({"jsonrpc":"2.0"})");
    case 2:
      return wire_->say(R"({"jsonrpc":"2.0","id":424242,"result":{}})");
    default:
      return wire_->say(
          fmt::format(R"({{"jsonrpc":"2.0","method":"x","params":["{}"]}})", std::string(100'001, 'z')));
  }
}

// --- what it receives

void Client::sent(std::string_view line) {
  oracle_.said(seat_.who, line);
  if (keeps_transcript) transcript_ += fmt::format("{}\n", without_secrets(line));
  if (wire_->waiting_bytes() > (has_modern() ? most_unread_modern : most_unread))
    oracle_.violate(fmt::format("{} bytes wait for a client that does not read", wire_->waiting_bytes()));
}

void Client::hear(std::string_view line) {
  const auto message = mcpivot::read_message(line);
  if (!message) return;
  if (message->kind == Kind::request) return answer(*message);
  if (message->is_answer()) return hear_answer(*message);
  if (message->known == Method::cancelled) {
    asked_.erase(std::string(message->text(message->request_id)));
  } else if (message->known == Method::acknowledged) {
    const std::string_view wanted = find_member(message->text(message->params), "notifications");
    const auto listen = listens_.find(message->text(message->subscription));
    if (listen == listens_.end() || find_member(wanted, "toolsListChanged") != "true") return;
    tool_listens_.insert(listen->second);
    ask(own_number(), "tools/list", {});
  } else if (message->known == Method::tools_changed && (ready_ || message->subscription)) {
    ask(own_number(), "tools/list", {});
  }
}

void Client::hear_answer(const Message& message) {
  const std::string_view id = message.text(message.id);
  const std::string_view result = message.text(message.result);
  if (hello_ != 0 && id == Oracle::spelled(hello_))
    batches_ = find_member(result, "protocolVersion") == R"("2025-03-26")";
  if (is_undecided() && id == Oracle::spelled(discover_)) return decide(result);
  if (const auto kept = kept_.extract(std::string(id)); !kept.empty())
    if (find_member(result, "resultType") == R"("input_required")") come_back(kept.mapped(), result);
  if (const auto ended = listens_.extract(std::string(id)); !ended.empty())
    tool_listens_.erase(ended.mapped());
  if (message.kind == Kind::result) learn_names(message);
}

void Client::learn_names(const Message& message) {
  const std::string_view id = message.text(message.id);
  const std::string_view result = message.text(message.result);
  if (!result.starts_with(R"({"tools":[)") || early_.contains(id)) return;
  const auto before = std::exchange(names_, {});
  constexpr std::string_view key = R"({"name":")";
  for (auto at = result.find(key); at != std::string_view::npos; at = result.find(key, at)) {
    at += key.size();
    names_.emplace(result.substr(at, result.find('"', at) - at));
  }
  // It is told about changes; and requests of a client that mixes eras may be rejected.
  const bool is_told =
      speech_ == Speech::legacy ? ready_ : speech_ == Speech::modern && !tool_listens_.empty();
  if (listed_ && check_ != 0 && id == Oracle::spelled(check_)) list_differs_ = names_ != before;
  listed_ = is_told;
}

// Soon, late or never; with progress, or as an error.
void Client::answer(const Message& request) {
  int number = 0;
  const std::string_view text = find_member(request.text(request.params), "n");
  std::from_chars(text.data(), text.data() + text.size(), number);
  asked_.emplace(request.text(request.id));
  if (number % 7 == 3) return;
  std::string line = number % 5 == 4 ? mcpivot::error_answer(request.text(request.id), -1, "declined")
                                     : mcpivot::result_answer(
                                           request.text(request.id),
                                           response_to(mcpivot::string_value(request.text(request.method)),
                                                       request.text(request.params)));
  if (request.progress_token && number % 3 == 0)
    notify("notifications/progress",
           fmt::format(R"({{"progressToken":{},"progress":1}})", request.text(request.progress_token)));
  time_.later(Millis(number % 11 == 0 ? 1'500 : number % 4),
              [this, weak = std::weak_ptr(wire_), line = std::move(line),
               id = std::string(request.text(request.id))] {
                const auto wire = weak.lock();
                if (!wire || asked_.erase(id) == 0) return;
                wire->say(line);
              });
}

void Client::stop_reading(Millis time) {
  wire_->stop_reading();
  time_.later(time, [weak = std::weak_ptr(wire_)] {
    if (const auto wire = weak.lock()) wire->read_again();
  });
}

void Client::vanish(std::function<void()> when_known) {
  oracle_.gone(seat_.who);
  when_known_ = std::move(when_known);
  wire_->leave();
  // mcpivot notices that even while it reads nothing, because nobody reads what it writes.
  time_.later(Millis(5), [this, weak = std::weak_ptr(wire_)] {
    if (!weak.expired()) emptied();
  });
}

void Client::emptied() {
  if (when_known_) std::exchange(when_known_, nullptr)();
}

}  // namespace simulation
