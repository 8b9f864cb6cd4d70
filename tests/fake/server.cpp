// Dispatch, and one small function for each method.
#include "server.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "tools.h"

namespace fake {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_seen_bytes = 4 << 20;

json::object object_or_empty(const json::object& in, std::string_view key) {
  const json::value* found = in.if_contains(key);
  return found && found->is_object() ? found->get_object() : json::object{};
}

std::string text_or(const json::object& in, std::string_view key, std::string_view otherwise) {
  const json::value* found = in.if_contains(key);
  return std::string(found && found->is_string() ? std::string_view(found->get_string()) : otherwise);
}

json::value message_of(std::string_view role, std::string_view text) {
  return {{"role", role}, {"content", {{"type", "text"}, {"text", text}}}};
}

}  // namespace

void die(const std::string& how) {
  if (how.find_first_not_of("0123456789") == std::string::npos) _exit(std::stoi(how));
  for (int number = 1; number < NSIG; ++number) {
    const char* name = sigabbrev_np(number);
    if (name == nullptr || how != std::string("SIG") + name) continue;
    // A sanitizer's handler would turn the signal into an exit code.
    signal(number, SIG_DFL);
    raise(number);
  }
  _exit(2);
}

Server::Server(const Options& options)
    : options_(options), wire_(options_), modern_(options.era == "modern") {}

void Server::run() {
  const auto wake = [this] {
    return timers_.empty() ? std::optional<Clock::time_point>() : timers_.begin()->first;
  };
  while (wire_.wait(wake(), [this](std::string_view line) { receive(line); })) fire_timers();
}

void Server::after(std::chrono::milliseconds delay, std::function<void()> action) {
  timers_.emplace(Clock::now() + delay, std::move(action));
}

void Server::fire_timers() {
  while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
    const auto action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    action();
  }
}

void Server::remember(std::string_view line) {
  seen_.emplace_back(line);
  seen_bytes_ += line.size();
  while (seen_bytes_ > max_seen_bytes && seen_.size() > 1) {
    seen_bytes_ -= seen_.front().size();
    seen_.pop_front();
  }
}

std::string Server::seen() const {
  std::string all;
  for (const std::string& line : seen_) all += line + "\n";
  return all;
}

void Server::receive(std::string_view line) {
  remember(line);
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 1024;  // as mcpivot
  const json::value parsed = json::parse(line, error, {}, options);
  if (error) return wire_.error(nullptr, -32700, "the fake server got a line that isn't valid JSON");
  if (!parsed.is_object())
    return wire_.error(nullptr, -32600, "the fake server got a value that isn't an object");
  const json::object& message = parsed.get_object();
  const json::value* method = message.if_contains("method");
  if (method == nullptr || !method->is_string()) return receive_answer(message);
  if (message.contains("id")) return receive_request(message, std::string(method->get_string()));
  receive_notification(message, method->get_string());
}

void Server::receive_request(const json::object& message, const std::string& method) {
  if (!admits(message, method) || options_.hold.contains(method)) return;
  const json::value& id = message.at("id");
  const json::object params = object_or_empty(message, "params");
  if (const auto delay = options_.delay.find(method); delay != options_.delay.end())
    return after(delay->second, [=, this] { handle(id, method, params); });
  handle(id, method, params);
}

void Server::receive_notification(const json::object& message, std::string_view method) {
  const json::object params = object_or_empty(message, "params");
  if (method == "notifications/initialized") {
    ++initialized_;
    if (options_.die_at == DieAt::initialized) die(options_.die_how);
    if (options_.early) ask(next_request_id(), "roots/list", nullptr, [](const json::object&) {});
  } else if (method == "notifications/cancelled" && params.contains("requestId")) {
    open_.erase(json::serialize(params.at("requestId")));
    listens_.erase(json::serialize(params.at("requestId")));
    cancelled_.push_back(params.at("requestId"));
  }
}

void Server::receive_answer(const json::object& message) {
  const json::value* id = message.if_contains("id");
  const auto found = id ? asked_.find(json::serialize(*id)) : asked_.end();
  if (found == asked_.end()) return;
  const auto on_answer = std::move(found->second);
  asked_.erase(found);
  on_answer(message);
}

const std::map<std::string, Server::Method>& Server::methods() {
  static const std::map<std::string, Method> table = {
      {"initialize", &Server::initialize},
      {"ping", &Server::ping},
      {"tools/list", &Server::list_tools},
      {"prompts/list", &Server::list_prompts},
      {"prompts/get", &Server::get_prompt},
      {"resources/list", &Server::list_resources},
      {"resources/templates/list", &Server::list_templates},
      {"resources/read", &Server::read_resource},
      {"resources/subscribe", &Server::subscribe},
      {"resources/unsubscribe", &Server::unsubscribe},
      {"logging/setLevel", &Server::set_level},
      {"completion/complete", &Server::complete},
      {"tasks/result", &Server::task_result},
  };
  return table;
}

json::value Server::task_result(const json::object& params) {
  const std::string task = text_or(params, "taskId", "");
  if (!tasks_.contains(task)) throw Refusal{-32602, "Unknown task: " + task};
  return {{"content", {{{"type", "text"}, {"text", "the result of " + task}}}}};
}

void Server::handle(const json::value& id, const std::string& method, const json::object& params) {
  if (const auto refusal = options_.refuse.find(method); refusal != options_.refuse.end())
    return wire_.error(id, -32000, refusal->second);
  if (const auto answer = options_.answers.find(method); answer != options_.answers.end())
    return wire_.result(id, json::parse(answer->second));
  const std::string capability = method.substr(0, method.find('/')) + (method[0] == 'c' ? "s" : "");
  const bool lacks = options_.without.contains(capability) ||
                     (method.ends_with("subscribe") && options_.without.contains("subscribe"));
  if (method == "tools/call" && !lacks) return handle_call(id, params);
  if (modern_ && method == "server/discover") return wire_.result(id, in_its_era(method, discover()));
  if (modern_ && method == "subscriptions/listen") return listen(id, params);
  const auto found = methods().find(method);
  if (found == methods().end() || lacks) return wire_.error(id, -32601, "Method not found: " + method);
  try {
    wire_.result(id, in_its_era(method, (this->*found->second)(params)));
  } catch (const Refusal& refusal) {
    if (!modern_ || refusal.code != -32002) return wire_.error(id, refusal.code, refusal.message);
    wire_.error(id, -32602, refusal.message, {{"uri", text_or(params, "uri", "")}});
  }
  if (method == "initialize" && options_.die_at == DieAt::after_initialize) die(options_.die_how);
}

void Server::handle_call(const json::value& id, const json::object& params) {
  const std::string name = text_or(params, "name", "");
  if (params.contains("task")) {  // its result can only be fetched in this life
    const std::string task = "task-" + std::to_string(options_.life) + "-" + std::to_string(++calls_);
    tasks_.insert(task);
    return wire_.result(id, {{"task", {{"taskId", task}, {"status", "working"}}}});
  }
  Call call{id, object_or_empty(params, "arguments"), nullptr};
  const json::object meta = object_or_empty(params, "_meta");
  if (meta.contains("progressToken")) call.progress_token = meta.at("progressToken");
  call.log_level = log_level_of(meta);
  for (const char* key : {"inputResponses", "requestState"})
    if (params.contains(key)) call.round[key] = params.at(key);
  ++calls_;
  if (!run_tool(*this, name, call, [&] { write_journal(name, call.arguments); }))
    wire_.error(id, -32602, "Unknown tool: " + name);
}

void Server::write_journal(std::string_view tool, const json::object& arguments) const {
  if (options_.journal.empty()) return;
  const int fd = open(options_.journal.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line =
      std::to_string(options_.life) + " " + std::string(tool) + " " + json::serialize(arguments) + "\n";
  if (fd < 0 || write(fd, line.data(), line.size()) < 0) die("2");
  close(fd);
}

void Server::answer(const Call& call, std::string_view text, bool is_error) {
  json::object result = {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}};
  if (is_error) result["isError"] = true;
  answer_with(call, result);
}

void Server::answer_with(const Call& call, const json::value& result) {
  if (options_.unknown_id) wire_.result(987654321, {{"content", json::array{}}});
  const json::value whole = in_its_era("tools/call", result);
  wire_.result(call.id, whole);
  if (options_.twice) wire_.result(call.id, whole);
  ++answered_calls_;
  if (options_.die_at == DieAt::calls && answered_calls_ >= options_.die_after_calls) die(options_.die_how);
}

void Server::ask(const json::value& id, std::string_view method, const json::value& params,
                 std::function<void(const json::object&)> on_answer) {
  asked_[json::serialize(id)] = std::move(on_answer);
  wire_.request(id, method, params);
}

void Server::log(const Call& call, std::string_view level, std::string_view text) {
  static const std::array<std::string_view, 8> levels = {"debug", "info",     "notice", "warning",
                                                         "error", "critical", "alert",  "emergency"};
  const auto rank = [](std::string_view name) { return std::ranges::find(levels, name); };
  if (modern_ && call.log_level.empty()) return;
  if (rank(level) >= rank(modern_ ? call.log_level : log_level_))
    wire_.notify("notifications/message", {{"level", level}, {"logger", options_.name}, {"data", text}});
}

void Server::mutate() {
  ++mutations_;
  announce("notifications/tools/list_changed", "toolsListChanged");
}

json::object Server::state() const {
  json::array subscriptions;
  for (const std::string& uri : subscriptions_) subscriptions.emplace_back(uri);
  return {{"life", options_.life},     {"initialized", initialized_},    {"logLevel", log_level_},
          {"cancelled", cancelled_},   {"subscriptions", subscriptions}, {"client", client_},
          {"listens", listens_.size()}};
}

json::value Server::paged(const char* key, json::array all, const json::object& params) const {
  if (options_.page == 0) return json::object{{key, std::move(all)}};
  const std::string cursor = text_or(params, "cursor", "0");
  if (cursor.find_first_not_of("0123456789") != std::string::npos) throw Refusal{-32602, "no such cursor"};
  const std::size_t begin = std::min(std::stoul(cursor), all.size());
  const std::size_t end = std::min(begin + options_.page, all.size());
  json::array part(all.begin() + begin, all.begin() + end);
  json::object result = {{key, std::move(part)}};
  if (end < all.size()) result["nextCursor"] = std::to_string(end);
  return result;
}

json::object Server::capabilities() const {
  json::object capabilities = {{"tools", {{"listChanged", true}}},
                               {"prompts", {{"listChanged", true}}},
                               {"resources", {{"subscribe", true}, {"listChanged", true}}},
                               {"logging", json::object{}},
                               {"completions", json::object{}}};
  if (options_.without.contains("subscribe")) capabilities["resources"].as_object().erase("subscribe");
  for (const std::string& word : options_.without) capabilities.erase(word);
  return capabilities;
}

json::value Server::initialize(const json::object& params) {
  client_ = params;
  if (options_.early) wire_.notify("notifications/tools/list_changed", nullptr);
  json::object result = {{"protocolVersion", text_or(params, "protocolVersion", "2025-06-18")},
                         {"capabilities", capabilities()},
                         {"serverInfo", {{"name", options_.name}, {"version", options_.version}}}};
  if (options_.protocol) result["protocolVersion"] = *options_.protocol;
  if (options_.protocol && options_.protocol->is_null()) result.erase("protocolVersion");
  if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
  return result;
}

json::value Server::ping(const json::object&) {
  return json::object{};
}

json::value Server::list_tools(const json::object& params) {
  if (options_.die_at == DieAt::tools_list) die(options_.die_how);
  return paged("tools", describe_tools(options_, mutations_), params);
}

json::value Server::list_prompts(const json::object& params) {
  json::array all = {
      json::object{{"name", "greet"},
                   {"description", "Greets somebody."},
                   {"arguments", json::array{json::object{{"name", "name"}, {"required", true}}}}}};
  for (const std::string& name : options_.prompts) all.emplace_back(json::object{{"name", name}});
  return paged("prompts", std::move(all), params);
}

json::value Server::get_prompt(const json::object& params) {
  const std::string name = text_or(params, "name", "");
  if (name != "greet" && std::ranges::find(options_.prompts, name) == options_.prompts.end())
    throw Refusal{-32602, "Unknown prompt: " + name};
  const std::string whom = text_or(object_or_empty(params, "arguments"), "name", "you");
  return json::object{{"messages", json::array{message_of("user", name + " " + whom)}}};
}

json::value Server::list_resources(const json::object& params) {
  json::array all = {json::object{{"uri", "fake://hello"}, {"name", "hello"}, {"mimeType", "text/plain"}}};
  for (const std::string& uri : options_.resources)
    all.emplace_back(json::object{{"uri", uri}, {"name", uri}});
  return paged("resources", std::move(all), params);
}

json::value Server::list_templates(const json::object& params) {
  json::array all = {json::object{{"uriTemplate", "fake://item/{id}"}, {"name", "item"}}};
  return paged("resourceTemplates", std::move(all), params);
}

json::value Server::read_resource(const json::object& params) {
  const std::string uri = text_or(params, "uri", "");
  const bool known = uri == "fake://hello" || uri.starts_with("fake://item/") ||
                     std::ranges::find(options_.resources, uri) != options_.resources.end();
  if (!known) throw Refusal{-32002, "Resource not found: " + uri};
  return json::object{
      {"contents",
       json::array{json::object{{"uri", uri}, {"mimeType", "text/plain"}, {"text", "the text of " + uri}}}}};
}

json::value Server::subscribe(const json::object& params) {
  subscriptions_.insert(text_or(params, "uri", ""));
  return json::object{};
}

json::value Server::unsubscribe(const json::object& params) {
  subscriptions_.erase(text_or(params, "uri", ""));
  return json::object{};
}

json::value Server::set_level(const json::object& params) {
  log_level_ = text_or(params, "level", "debug");
  return json::object{};
}

json::value Server::complete(const json::object& params) {
  const std::string typed = text_or(object_or_empty(params, "argument"), "value", "");
  json::array values = {typed + "1", typed + "2"};
  return json::object{{"completion", {{"values", values}, {"total", 2}, {"hasMore", false}}}};
}

}  // namespace fake
