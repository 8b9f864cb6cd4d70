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

// A client that shakes hands is told after 10 s what is wrong.
constexpr Millis longest_handshake{10'500};
// A call waits 2 s at most and takes 2.5 s at most, and that for each of the six times that one to a daemon
// may be made.
constexpr Millis longest_call{35'000};

// What servers may still say to a client that does not read: what was under way, and why calls failed.
constexpr std::size_t most_unread = 1'500'000;

// Whether a server does something about such a call by itself: some it never answers, or when others let it.
bool is_prompt(const std::string& arguments) {
  for (const char* never : {"\"hang\"", "\"lose\"", "\"ask\"", "\"deaf\""})
    if (arguments.find(never) != std::string::npos) return false;
  return true;
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

void Client::hello(int number, const std::string& version) {
  if (std::exchange(greeted_, true)) return;
  hello_ = number;
  oracle_.will_ask(
      {.number = number, .who = seat_.who, .server = {}, .cancellable = false, .limit = longest_handshake});
  wire_->say(request_line(
      Oracle::spelled(number), "initialize",
      fmt::format(
          R"({{"protocolVersion":"{}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"sim{}","version":"1"}}}})",
          version, seat_.guest)));
}

void Client::ready() {
  if (!greeted_ || std::exchange(ready_, true)) return;
  wire_->say(request_line({}, "notifications/initialized", {}));
}

void Client::ask(int number, const std::string& method, const std::string& params) {
  oracle_.will_ask({.number = number, .who = seat_.who, .server = {}});
  if (!greeted_) early_.insert(Oracle::spelled(number));
  wire_->say(request_line(Oracle::spelled(number), method, params));
}

// The name under which it has seen the tool; else one that it might have heard of.
std::string Client::name_for(const std::string& server, const std::string& tool, int number,
                             bool& sure) const {
  std::string prefixed = fmt::format("{}__{}", server, tool);
  sure = true;
  if (names_.contains(prefixed)) return prefixed;
  sure = number % 4 == 0 && !names_.contains(tool);
  return sure ? prefixed : tool;
}

// Servers put it into whatever they say from then on; nobody else may ever hear it.
std::string Client::with_canary(std::string arguments) const {
  if (const auto at = arguments.find(R"("n":)"); at != std::string::npos)
    arguments.insert(at, fmt::format(R"("canary":"{}",)", Oracle::canary(seat_.who)));
  return arguments;
}

std::string Client::call_line(int number, const std::string& name, const CallText& call) const {
  std::string params =
      fmt::format(R"({{"name":{},"arguments":{})", mcpivot::quote(name), with_canary(call.arguments));
  if (call.token) params += fmt::format(R"(,"_meta":{{"progressToken":{}}})", Oracle::token(number));
  if (call.task) params += R"(,"task":{"ttl":60000})";
  return request_line(Oracle::spelled(number), "tools/call", params + "}");
}

void Client::expect(int number, std::string server, const CallText& call) {
  const bool may_repeat = call.tool == "look" || call.tool == "put" || call.tool == "again";
  if (!server.empty()) server += seat_.guest;
  oracle_.will_ask({.number = number,
                    .who = seat_.who,
                    .server = std::move(server),
                    .may_repeat = may_repeat,
                    .is_call = true,
                    .has_token = call.token,
                    .is_task = call.task,
                    .is_prompt = is_prompt(call.arguments),
                    .in_batch = call.in_batch,
                    .limit = call.in_batch ? 3 * longest_call : longest_call});
}

void Client::call(const std::string& server, int number, const CallText& call) {
  bool sure = false;
  const std::string name = name_for(server, call.tool, number, sure);
  call_named(name, sure ? server : std::string(), number, call);
}

void Client::call_named(const std::string& name, const std::string& server, int number,
                        const CallText& call) {
  expect(number, server, call);
  wire_->say(call_line(number, name, call));
}

void Client::call_through(const std::string& server, int number, const CallText& call) {
  expect(number, server, call);
  CallText wrapped = call;
  wrapped.arguments = fmt::format(R"({{"tool":"{}__{}","arguments":{}}})", server, call.tool, call.arguments);
  wire_->say(call_line(number, "pivot_call", wrapped));
}

void Client::control(int number, const std::string& text) {
  std::istringstream words(text);
  CallText call;
  words >> call.tool >> call.arguments;
  call.token = text.ends_with("+token");
  oracle_.will_ask({.number = number, .who = seat_.who, .server = {}, .has_token = call.token});
  wire_->say(call_line(number, call.tool, call));
}

void Client::batch(const std::string& server, int number, const std::string& text) {
  if (!batches_) return;
  std::string lines;
  for (int i = number; i < number + 3; ++i) {
    CallText call = call_from(text, i);
    call.in_batch = true;
    bool sure = false;
    const std::string name = name_for(server, call.tool, i, sure);
    expect(i, sure ? server : std::string(), call);
    lines += (lines.empty() ? "" : ",") + call_line(i, name, call);
  }
  wire_->say("[" + lines + "]");
}

void Client::cancel(int number) {
  wire_->say(mcpivot::cancellation(Oracle::spelled(number), "never mind"));
}

void Client::notify(const std::string& method, const std::string& params) {
  if (method == "notifications/initialized") ready_ = true;  // so it will be told what changes
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

// --- what it hears

void Client::sent(std::string_view line) {
  oracle_.said(seat_.who, line);
  if (keeps_transcript) transcript_ += fmt::format("{}\n", line);
  if (wire_->waiting_bytes() > most_unread)
    oracle_.violate(fmt::format("{} bytes wait for a client that does not read", wire_->waiting_bytes()));
}

void Client::hear(std::string_view line) {
  const auto message = mcpivot::read_message(line);
  if (!message) return;
  if (message->kind == Kind::request) return answer(*message);
  if (message->known == Method::cancelled) {
    asked_.erase(std::string(message->text(message->request_id)));
  } else if (message->known == Method::tools_changed && ready_) {
    const int number = own_number();
    ask(number, "tools/list", {});
  } else if (message->kind == Kind::result) {
    const std::string_view result = message->text(message->result);
    const bool is_handshake = hello_ != 0 && message->text(message->id) == Oracle::spelled(hello_);
    if (is_handshake) batches_ = find_member(result, "protocolVersion") == R"("2025-03-26")";
    if (!result.starts_with(R"({"tools":[)") || early_.contains(message->text(message->id))) return;
    const auto before = std::exchange(names_, {});
    constexpr std::string_view key = R"({"name":")";
    for (auto at = result.find(key); at != std::string_view::npos; at = result.find(key, at)) {
      at += key.size();
      names_.emplace(result.substr(at, result.find('"', at) - at));
    }
    if (listed_ && check_ != 0 && message->text(message->id) == Oracle::spelled(check_))
      list_differs_ = names_ != before;
    listed_ = true;
  }
}

// Soon, late or never; with progress, or an error.
void Client::answer(const Message& request) {
  int number = 0;
  const std::string_view text = find_member(request.text(request.params), "n");
  std::from_chars(text.data(), text.data() + text.size(), number);
  asked_.emplace(request.text(request.id));
  if (number % 7 == 3) return;
  std::string line = number % 5 == 4 ? mcpivot::error_answer(request.text(request.id), -1, "declined")
                                     : mcpivot::result_answer(request.text(request.id), R"({"roots":[]})");
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
  // mcpivot learns of it also while it does not listen: nobody reads what it writes.
  time_.later(Millis(5), [this, weak = std::weak_ptr(wire_)] {
    if (!weak.expired()) emptied();
  });
}

void Client::emptied() {
  if (when_known_) std::exchange(when_known_, nullptr)();
}

}  // namespace simulation
