#include "actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::find_member;
using mcpivot::ListKind;
using mcpivot::Message;
using mcpivot::Method;
using mcpivot::request_line;
using mcpivot::string_value;

namespace {

// Calls in flight of one client of a shared server; and some that are repeated for the next generation.
constexpr int most_of_one = 32 + 4;

int number_in(std::string_view object, std::string_view key, int fallback) {
  const std::string_view text = find_member(object, key);
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Actor::Actor(Body& body, Script& script, Ledger& ledger, Birth birth, bool is_cli, int generation)
    : body_(body),
      script_(script),
      ledger_(ledger),
      birth_(birth),
      tongue_(is_cli ? Tongue() : script.tongue),
      is_cli_(is_cli),
      generation_(generation) {
  // The client of a CLI sees a failed schema command as a refusal; that command has its own time limit.
  if (is_cli_ && birth_ != Birth::slow && birth_ != Birth::good) birth_ = Birth::rejects;
}

void Actor::start() {
  if (birth_ == Birth::dies_at_once) body_.after(Millis(2), [this] { body_.die("exited with code 3"); });
  // Before its era is known, one that may be modern asks nothing.
  if (birth_ == Birth::asks_early && !tongue_.modern) put(R"("early")", "roots/list", {});
}

std::vector<int> Actor::open() const {
  std::vector<int> numbers;
  for (const auto& [id, open] : open_) numbers.push_back(open.number);
  return numbers;
}

mcpivot::Clock::Time Actor::last_task() const {
  mcpivot::Clock::Time last{};
  for (const auto& [id, call] : tasks_) last = std::max(last, call.began);
  return last;
}

void Actor::result(std::string_view id, std::string_view result) {
  if (is_modern() && result.find("resultType") == std::string_view::npos)
    return body_.say(mcpivot::result_answer(
        id, fmt::format(R"({{"resultType":"complete"{}{})", result == "{}" ? "" : ",", result.substr(1))));
  body_.say(mcpivot::result_answer(id, result));
}

void Actor::error(std::string_view id, int code, std::string_view words) {
  body_.say(mcpivot::error_answer(id, code, words));
}

void Actor::log(std::string_view params) {
  body_.say(request_line({}, "notifications/message", params));
}

void Actor::hear(std::string_view line) {
  const auto message = mcpivot::read_message(line);
  if (!message) return;
  if (message->kind == mcpivot::Kind::request) return on_request(*message);
  if (message->is_answer()) {
    on_answer(*message);
  } else if (message->known == Method::initialized) {
    if (is_modern()) ledger_.wrong(script_.name, "is of the modern era, and was told: " + std::string(line));
    if (birth_ == Birth::dies_while_listing) body_.die("was killed by SIGABRT");
  } else if (message->known == Method::cancelled) {
    stop(std::string(message->text(message->request_id)));
  }
}

void Actor::put(const std::string& id, std::string_view method, std::string_view params) {
  questions_.insert(id);
  body_.say(request_line(id, method, params));
}

void Actor::on_answer(const Message& message) {
  const std::string text(message.text(message.id));
  if (questions_.erase(text) == 0 && !withdrawn_.contains(text))
    return ledger_.wrong(script_.name,
                         "was answered what it did not ask, or twice: " + std::string(message.raw));
  int id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  const auto found = asking_.find(id);
  if (found == asking_.end()) return;
  const Call call = found->second;
  asking_.erase(found);
  const std::string_view result = message.text(message.result);
  if (message.kind == mcpivot::Kind::result && result != "{}" &&
      find_member(result, "action") != R"("cancel")" &&
      string_value(find_member(result, "to")) != fmt::format("{}/{}", id, call.number))
    ledger_.wrong(script_.name, "was given the answer to another question: " + std::string(message.raw));
  finish(call);
}

void Actor::withdraw(const std::string& id, std::string_view why) {
  questions_.erase(id);
  withdrawn_.insert(id);  // its answer may be on its way
  body_.say(mcpivot::cancellation(id, why));
}

// Nobody wants this call anymore, nor a task that it may just have begun, nor its questions to the client.
void Actor::stop(const std::string& id) {
  open_.erase(id);
  listens_.erase(id);
  std::erase_if(tasks_, [&](const auto& task) { return task.second.id == id; });
  for (auto asking = asking_.begin(); asking != asking_.end();) {
    if (asking->second.id != id) {
      ++asking;
      continue;
    }
    withdraw(std::to_string(asking->first), "the call was cancelled");
    asking = asking_.erase(asking);
  }
}

void Actor::on_request(const Message& message) {
  const std::string_view id = message.text(message.id);
  if (birth_ == Birth::hangs) return;
  const bool opens = message.known == Method::initialize || message.known == Method::discover;
  if ((birth_ == Birth::slow || birth_ == Birth::late) && !ready_ && !slept_ && opens) {
    slept_ = true;
    body_.after(Millis(birth_ == Birth::slow ? 900 : 2'400),
                [this, line = std::string(message.raw)] { on_request(*mcpivot::read_message(line)); });
    return;
  }
  if (!takes_era(message)) return;
  if (is_modern() && !judge_modern(message)) return;
  if (is_cli_ && message.known != Method::initialize && message.known != Method::tools_list &&
      message.known != Method::tools_call && message.known != Method::ping)
    return error(id, mcpivot::code::method_not_found, "Method not found");
  switch (message.known) {
    case Method::initialize:
      return initialize(message);
    case Method::discover:
      return discover(message);
    case Method::listen:
      return listen(message);
    case Method::tools_list:
      return list(message, ListKind::tools);
    case Method::prompts_list:
      return list(message, ListKind::prompts);
    case Method::resources_list:
      return list(message, ListKind::resources);
    case Method::resource_templates_list:
      return list(message, ListKind::templates);
    case Method::tools_call:
      return call(message);
    case Method::complete:
      return result(id, R"({"completion":{"values":["a"]}})");
    case Method::prompts_get:
      return result(id, R"({"messages":[]})");
    case Method::resources_read:
      return result(
          id, is_modern() ? R"({"contents":[],"ttlMs":5,"cacheScope":"private"})" : R"({"contents":[]})");
    default:
      break;
  }
  const std::string method = string_value(message.text(message.method));
  if (method.starts_with("tasks/")) {
    const auto task = tasks_.find(string_value(find_member(message.text(message.params), "taskId")));
    if (task == tasks_.end()) return error(id, mcpivot::code::invalid_params, "Unknown task");
    result(id, method == "tasks/result" ? content(task->second) : R"({"status":"working"})");
    if (method != "tasks/get") tasks_.erase(task);
    return;
  }
  if (message.known == Method::other) return error(id, mcpivot::code::method_not_found, "Method not found");
  result(id, "{}");
}

void Actor::initialize(const Message& message) {
  const std::string_view id = message.text(message.id);
  switch (birth_) {
    case Birth::dies_in_handshake:
      return body_.die("was killed by SIGSEGV");
    case Birth::rejects:
      return error(id, -32000, "not today");
    case Birth::no_version:
      return result(id, R"({"capabilities":{}})");
    case Birth::garbage:
      body_.say("Listening on port 3000");
      body_.say(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{"protocolVersion")");
      return;
    default:
      break;
  }
  const std::string_view client = find_member(message.text(message.params), "clientInfo");
  shared_ = string_value(find_member(client, "name")) == "mcpivot";
  const std::string_view version = find_member(message.text(message.params), "protocolVersion");
  const std::string_view capabilities =
      is_cli_
          ? R"({"tools":{"listChanged":true}})"
          : R"({"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}})";
  ready_ = true;
  result(
      id,
      fmt::format(
          R"({{"protocolVersion":{},"capabilities":{},"serverInfo":{{"name":"{}","version":"1.{}"}},"instructions":"of {}"}})",
          version.empty() ? R"("2025-06-18")" : version, capabilities, script_.name, script_.revision,
          script_.name));
}

void Actor::list(const Message& message, ListKind kind) {
  const std::string_view id = message.text(message.id);
  if (birth_ == Birth::dies_while_listing && is_modern()) return body_.die("was killed by SIGABRT");
  if (birth_ == Birth::refuses_lists && !listed_) {
    listed_ = kind == ListKind::tools;
    return error(id, mcpivot::code::internal_error, "the index is locked");
  }
  if (birth_ == Birth::endless_pages && kind == ListKind::tools && !listed_) {
    listed_ = true;
    return result(id, R"({"tools":[],"nextCursor":"more"})");
  }
  const std::string_view cursor = find_member(message.text(message.params), "cursor");
  if (birth_ == Birth::endless_pages && !cursor.empty())
    return result(id, R"({"tools":[],"nextCursor":"more"})");
  const std::string& whose = script_.lists_of.empty() ? script_.name : script_.lists_of;
  const std::string end = is_modern() ? R"(,"ttlMs":60000,"cacheScope":"public"})" : "}";
  switch (kind) {
    case ListKind::tools:
      return result(id, "{" + tools_of(whose, script_.revision) + end);
    case ListKind::prompts:
      return result(id, "{" + prompts_of(whose, body_.for_many() && !shared_ ? " " + canary_ : "") + end);
    case ListKind::resources:
      return result(id, "{" + resources_of(whose) + end);
    case ListKind::templates:
      return result(id, "{" + templates_of(whose) + end);
  }
}

// --- calls

void Actor::call(const Message& message) {
  const std::string_view arguments = find_member(message.text(message.params), "arguments");
  Call call{.id = std::string(message.text(message.id)),
            .token = std::string(message.text(message.progress_token)),
            .tool = string_value(message.text(message.name)),
            .how = string_value(find_member(arguments, "do")),
            .canary = string_value(find_member(arguments, "canary")),
            .level = string_value(find_member(message.text(message.meta), mcpivot::meta_key::log_level)),
            .capabilities =
                std::string(find_member(message.text(message.meta), mcpivot::meta_key::client_capabilities)),
            .number = number_in(arguments, "n", 0),
            .after = number_in(arguments, "after", 0),
            .task = message.task && !is_cli_ && !is_modern(),
            .structured = string_value(message.text(message.name)) == "shaped",
            .began = {}};
  if (const int kind = number_in(arguments, "check", -1); kind >= 0) return check(call, kind);
  // Only calls that a client makes, not those that are replayed before the server serves.
  if (held_ == script_.deaths && call.tool != "again")
    ledger_.wrong(script_.name, "is held back, and was called: " + std::string(message.raw));
  if (!call.canary.empty()) canary_ = call.canary;
  if (is_cli_ && (call.how == "die" || call.how == "exit" || call.how == "error")) call.how = "fail";
  if (is_cli_ && call.how == "hang") {
    call.how = "fail";
    call.after = static_cast<int>(body_.limit_of_calls().count());
  }
  if (is_cli_ && call.how != "fail" && call.how != "large") call.how = "";
  // What is sent again has the name that it had the first time, not the one that its client knows. (A modern
  // client goes on with a call that asks by the name that it knows, though it may be a legacy server's by
  // now.)
  const std::string& first = script_.called_as.try_emplace(call.number, call.tool).first->second;
  const bool is_retry =
      message.request_state || !find_member(message.text(message.params), "inputResponses").empty();
  const bool asks = find_member(arguments, "do") == R"("ask")";
  if (!is_retry && !asks && call.tool == fmt::format("{}__{}", script_.name, first))
    ledger_.wrong(script_.name, "is asked again, under another name: " + std::string(message.raw));
  if (tools_of(script_.name, script_.revision).find(fmt::format(R"("name":"{}")", call.tool)) ==
      std::string::npos)
    return error(call.id, mcpivot::code::invalid_params,
                 fmt::format("@{} has no {}", script_.name, call.tool));
  if (!is_modern() && is_retry)
    ledger_.wrong(script_.name, "is of the legacy era, and was sent a retry: " + std::string(message.raw));
  open_[call.id] = {call.number, call.canary};
  const auto theirs =
      std::ranges::count_if(open_, [&](const auto& entry) { return entry.second.canary == call.canary; });
  if (shared_ && !call.canary.empty() && theirs > most_of_one)
    ledger_.wrong(script_.name, fmt::format("is shared, and has {} calls of one client to work on", theirs));
  if (is_modern() && resume(call, message)) return;
  ledger_.executed(call.number, script_.name);
  // A replayed call may kill a server that survived it when it was first made.
  if (call.tool == "again" && call.how == "die-after")
    call.how = script_.again.insert(call.number).second ? "" : "die";
  if (call.how == "deaf") body_.stop_reading(Millis(call.after));
  if (call.how == "hang") return;
  if (call.after == 0) return perform(call);
  body_.after(Millis(call.after), [this, call] { perform(call); });
}

void Actor::check(const Call& call, int kind) {
  if (call.tool != "glance") ledger_.wrong(script_.name, "was put a recorded call that isn't safe");
  if (body_.serves()) ledger_.wrong(script_.name, "serves, and was put a recorded call");
  const auto answer = [&](std::string_view words) {
    result(call.id, fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})", words));
  };
  switch (kind) {
    case 1:  // as the program is
      return answer(fmt::format("@@revision {}", script_.revision % tool_revisions));
    case 2:  // never the same
      if (body_.gates() && body_.another_serves()) held_ = script_.deaths;
      return answer(fmt::format("@@unique {}", body_.number()));
    case 3:
      return;  // never
    case 4:
      return body_.die("was killed by SIGSEGV");
    case 5:
      if (!is_modern()) put(R"("@@asks")", "elicitation/create", R"({"message":"@@asks"})");
      break;
    case 6:
      if (!is_modern()) log(R"({"level":"info","data":"@@says"})");
      break;
    case 7:
      return body_.after(Millis(30), [this, id = call.id] {
        result(id, R"({"content":[{"type":"text","text":"@@steady"}]})");
      });
    default:
      break;
  }
  answer("@@steady");
}

void Actor::perform(const Call& call) {
  if (!open_.contains(call.id)) return;  // cancelled
  if (call.how == "die") return body_.die("was killed by SIGSEGV");
  if (call.how == "exit") return body_.die("exited with code 0");
  if (call.how == "ask")
    return is_modern() && !is_rudely_asked(call) ? require_input(call, 1, {}) : ask(call);
  if (call.how == "lose") {
    open_.erase(call.id);
    return body_.lose(call.id, true);
  }
  // The first time, its user has to open an address.
  if (call.how == "urls" && !is_modern() && script_.again.insert(-call.number).second) {
    open_.erase(call.id);
    ledger_.finished(call.number);
    ledger_.not_yet(call.number);
    return body_.say(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-32042,"message":"@{}#{}. {}","data":{{"elicitations":[{{"mode":"url","elicitationId":"e","url":"https://sim/","message":"{}"}}]}}}}}})",
        call.id, script_.name, call.number, call.canary, call.canary));
  }
  if (call.how == "flood") flood(call);
  if (call.how == "change") change_tools();
  finish(call);
}

std::string Actor::content(const Call& call) const {
  std::string text = fmt::format(R"({{"content":[{{"type":"text","text":"@{}#{}. {}"}}])", script_.name,
                                 call.number, call.canary);
  if (call.structured) text += fmt::format(R"(,"structuredContent":{{"n":{}}})", call.number);
  return text + "}";
}

void Actor::finish(const Call& call) {
  if (open_.erase(call.id) == 0) return;
  ledger_.finished(call.number);
  if (call.task) {
    const std::string task = fmt::format("{}-{}-{}", script_.name, generation_, call.number);
    tasks_[task] = call;
    tasks_[task].began = body_.now();
    return result(call.id, fmt::format(R"({{"task":{{"taskId":"{}","status":"working"}}}})", task));
  }
  if (call.how == "error")
    return error(call.id, -32050, fmt::format("@{}#{}. {}", script_.name, call.number, call.canary));
  if (call.how == "fail")
    return result(call.id, fmt::format(R"({{"content":[],"isError":true,"note":"@{}#{}."}})", script_.name,
                                       call.number));
  if (call.how == "garble")
    return body_.say(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"content":[@{}#{}.]}}}})", call.id,
                                 script_.name, call.number));
  if (call.how == "twins")  // two messages run together
    return body_.say(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}}{{"jsonrpc":"2.0","method":"x"}})", call.id));
  if (call.how == "batch") return body_.say("[" + mcpivot::result_answer(call.id, content(call)) + "]");
  if (call.how == "oversize")
    return body_.say(
        mcpivot::result_answer(call.id, fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})",
                                                    std::string(body_.longest_message(), 'x'))));
  if (call.how == "large")
    return result(call.id, fmt::format(R"({{"content":[{{"type":"text","text":"@{}#{}. {}"}}]}})",
                                       script_.name, call.number, std::string(6'000, 'y')));
  if (call.how == "bare")
    return result(call.id, fmt::format(R"({{"note":"@{}#{}."}})", script_.name, call.number));
  if (call.how == "float" && call.id.find('"') == std::string::npos)
    return result(call.id + ".0", content(call));
  result(call.id, content(call));
  answered_ = answered_ || call.tool != "again";  // else it may have been a replay
  if (call.how == "twice") result(call.id, content(call));
  if (call.how == "die-after") body_.die("was killed by SIGBUS");
}

void Actor::flood(const Call& call) {
  for (int i = 0; i < 4; ++i) {
    if (!call.token.empty())
      body_.say(request_line(
          {}, "notifications/progress",
          fmt::format(R"({{"progressToken":{},"progress":{},"message":"{}"}})", call.token, i, call.canary)));
    if (!is_modern() || call.level == "debug" || call.level == "info")
      log(fmt::format(R"({{"level":"info","data":"{} {} {}"}})", call.number, i, call.canary));
  }
}

// The call is answered once the client has answered.
void Actor::ask(const Call& call) {
  const int id = ++asked_;
  asking_[id] = call;
  const std::string_view method =
      std::to_array<std::string_view>({"sampling/createMessage", "elicitation/create", "roots/list",
                                       "ping"})[static_cast<std::size_t>(call.number) % 4];
  put(std::to_string(id), method,
      fmt::format(R"({{"n":{},"key":"{}","of":"{}","canary":"{}","_meta":{{"progressToken":"t{}"}}}})",
                  call.number, id, shared_ ? "shared" : "one", call.canary, id));
  if (call.number % 8 == 7) {  // it withdraws the question
    withdraw(std::to_string(id), "never mind");
    asking_.erase(id);
    finish(call);
  }
}

void Actor::change_tools() {
  ++script_.revision;
  announce("notifications/tools/list_changed", {});
}

void Actor::heal() {
  if (birth_ == Birth::hangs) return;
  birth_ = Birth::good;
  tongue_.listening = Tongue::Listening::good;
  for (auto& [id, listen] : listens_) acknowledge(listen);
  if (!ready_ || is_cli_) return;
  for (const char* list : {"tools", "prompts", "resources"})
    announce(fmt::format("notifications/{}/list_changed", list), {});
}

void Actor::blurt(std::string_view what) {
  if (what == "tools") return change_tools();
  if (what == "prompts") return announce("notifications/prompts/list_changed", {});
  if (what == "resources") return announce("notifications/resources/list_changed", {});
  // A modern one logs what belongs to a call.
  if (is_modern() && (what.starts_with("log") || what == "flood")) return;
  if (what == "log") return log(fmt::format(R"({{"level":"info","logger":"a\"b","data":"{}"}})", canary_));
  if (what == "log-empty") return log("{}");
  if (what == "log-array") return log("[1]");
  if (what == "log-none") return log({});
  if (what == "log-number") return log(R"({"logger":7})");
  if (what == "flood") {  // more than may wait for a client that doesn't read
    for (int i = 0; i < 300; ++i) log(fmt::format(R"({{"data":"{}"}})", std::string(3'000, 'w')));
    return;
  }
  if (what == "questions") {
    for (int i = 0; i < 100; ++i)
      body_.say(request_line(fmt::format(R"("q{}")", ++asked_), "roots/list", {}));
    return;
  }
  if (what == "garbage") return body_.say("}{ not a message");
  if (what == "answer") return result("987654321", "{}");
  if (what == "no-id") return body_.say(R"({"jsonrpc":"2.0","error":{"code":-1,"message":"?"}})");
  if (what == "progress")
    return body_.say(request_line({}, "notifications/progress", R"({"progressToken":77777,"progress":1})"));
  if (what == "updated")
    return announce("notifications/resources/updated", fmt::format(R"({{"uri":"sim://{}/one","of":"{}"}})",
                                                                   script_.name, shared_ ? "shared" : "one"));
  if (what == "ask" && (!is_modern() || tongue_.rude))
    return put(fmt::format(R"("q{}")", ++asked_), "roots/list",
               fmt::format(R"({{"of":"{}"}})", shared_ ? "shared" : "one"));
}

}  // namespace simulation
