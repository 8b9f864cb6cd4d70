// The client on top of the child.
#include "harness.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace harness {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

json::object message_of(std::string_view method, const json::value& params) {
  json::object message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return message;
}

// Members that it already has are not replaced.
json::value with_meta(const json::value& params, const json::object& meta) {
  json::object all = params.is_null() ? json::object() : params.as_object();
  json::object merged = meta;
  if (const json::value* own = all.if_contains("_meta"))
    for (const auto& [key, value] : own->as_object()) merged[key] = value;
  all["_meta"] = std::move(merged);
  return all;
}

json::object call_params(std::string_view tool, const json::object& arguments) {
  return {{"name", tool}, {"arguments", arguments}};
}

}  // namespace

Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time * (is_instrumented() ? 5 : 1);
}

Deadline soon() {
  return in(std::chrono::seconds(5));
}

Deadline in_a_while() {
  return in(std::chrono::seconds(60));
}

std::vector<std::string> mcpivot_command(const ClientOptions& options) {
  std::vector<std::string> command;
  if (!options.direct) {
    command.push_back(mcpivot_binary());
    command.insert(command.end(), options.options.begin(), options.options.end());
    if (!options.config.empty()) {
      command.insert(command.end(), {"--config", "mcpivot.json"});
      return command;
    }
    if (!options.tools_from.empty()) {
      command.insert(command.end(), {"--tools-from", options.tools_from});
      return command;
    }
    for (const char* server : {"--url", "--config"})
      if (std::ranges::find(options.options, server) != options.options.end()) return command;
    command.emplace_back("--");
  }
  if (options.command.empty()) {
    command.push_back(fake_server_binary());
    command.insert(command.end(), options.server.begin(), options.server.end());
  } else {
    command.insert(command.end(), options.command.begin(), options.command.end());
  }
  return command;
}

Environment private_folders(const fs::path& directory) {
  return {{"XDG_STATE_HOME", directory / "state"},
          {"XDG_CACHE_HOME", directory / "cache"},
          {"XDG_CONFIG_HOME", directory / "config"},
          {"XDG_RUNTIME_DIR", directory / "run"},
          {"HOME", directory}};
}

Outcome run_mcpivot(const Strings& arguments, const fs::path& directory, const Environment& added) {
  Strings command = {mcpivot_binary()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment environment = private_folders(directory);
  environment.insert(environment.end(), added.begin(), added.end());
  return run_to_end(command, environment, directory);
}

namespace {

Environment client_environment(const ClientOptions& options, const fs::path& directory) {
  Environment all = private_folders(directory);
  all.emplace_back("FAKE", fake_server_binary());
  all.insert(all.end(), options.environment.begin(), options.environment.end());
  return all;
}

ClientOptions with_program(ClientOptions options, const fs::path& directory) {
  if (!options.config.empty()) std::ofstream(directory / "mcpivot.json") << options.config;
  if (!options.own_program) return options;
  const fs::path copy = directory / "fake_server";
  fs::copy_file(fake_server_binary(), copy);
  options.command = {copy};
  options.command.insert(options.command.end(), options.server.begin(), options.server.end());
  return options;
}

}  // namespace

Client::Client(const ClientOptions& options)
    : child_(mcpivot_command(with_program(options, directory_.path())),
             client_environment(options, directory_.path()), directory_.path()) {}

void Client::give_up(const std::string& what) const {
  throw std::runtime_error(what + "; stderr says:\n" + child_.stderr_text());
}

bool Client::receive(Deadline deadline) {
  const std::optional<std::string> line = child_.read_line(deadline);
  if (!line) return false;
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 1024;  // as mcpivot
  json::value message = json::parse(*line, error, {}, options);
  if (error || !message.is_object()) give_up("mcpivot wrote a line that isn't a JSON object: " + *line);
  json::object& object = message.get_object();
  if (!object.contains("method")) {
    answers.push_back(std::move(object));
  } else if (object.contains("id")) {
    requests.push_back(std::move(object));
  } else {
    notifications.push_back(std::move(object));
  }
  return true;
}

std::int64_t Client::send(std::string_view method, const json::value& params) {
  json::object message = message_of(method, meta ? with_meta(params, *meta) : params);
  message["id"] = next_id_;
  child_.send_line(json::serialize(message));
  return next_id_++;
}

json::object Client::await(const json::value& id, Deadline deadline) {
  while (true) {
    const auto found = std::ranges::find_if(answers, [&](const json::object& answer) {
      const json::value* own = answer.if_contains("id");
      return own && *own == id;
    });
    if (found != answers.end()) {
      json::object answer = std::move(*found);
      answers.erase(found);
      return answer;
    }
    if (!receive(deadline)) give_up("no answer to request " + json::serialize(id));
  }
}

json::object Client::request(std::string_view method, const json::value& params, Deadline deadline) {
  return await(send(method, params), deadline);
}

std::int64_t Client::send_call(std::string_view tool, const json::object& arguments) {
  return send("tools/call", call_params(tool, arguments));
}

json::object Client::call(std::string_view tool, const json::object& arguments, Deadline deadline) {
  return request("tools/call", call_params(tool, arguments), deadline);
}

std::string Client::call_text(std::string_view tool, const json::object& arguments) {
  const json::object answer = call(tool, arguments);
  const json::value* result = answer.if_contains("result");
  const json::value* failed = result != nullptr ? result->as_object().if_contains("isError") : nullptr;
  if (result == nullptr || (failed != nullptr && *failed == true))
    give_up("calling " + std::string(tool) + " failed: " + json::serialize(answer));
  return text_of(answer);
}

void Client::notify(std::string_view method, const json::value& params) {
  child_.send_line(json::serialize(message_of(method, params)));
}

json::object Client::initialize(std::string_view version) {
  const json::object capabilities = {
      {"roots", {{"listChanged", true}}}, {"sampling", json::object{}}, {"elicitation", json::object{}}};
  json::object answer = request("initialize", {{"protocolVersion", version},
                                               {"capabilities", capabilities},
                                               {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  notify("notifications/initialized");
  return answer;
}

json::object Client::expect(std::deque<json::object>& in, std::string_view method, Deadline deadline) {
  while (true) {
    const auto found = std::ranges::find_if(
        in, [&](const json::object& message) { return message.at("method") == json::value(method); });
    if (found != in.end()) {
      json::object message = std::move(*found);
      in.erase(found);
      return message;
    }
    if (!receive(deadline)) give_up("no " + std::string(method) + " came");
  }
}

json::object Client::expect_notification(std::string_view method, Deadline deadline) {
  return expect(notifications, method, deadline);
}

json::object Client::expect_request(std::string_view method, Deadline deadline) {
  return expect(requests, method, deadline);
}

void Client::answer(const json::object& request, const json::value& result) {
  child_.send_line(
      json::serialize(json::object{{"jsonrpc", "2.0"}, {"id", request.at("id")}, {"result", result}}));
}

void Client::refuse(const json::object& request, int code, std::string_view message) {
  child_.send_line(json::serialize(json::object{
      {"jsonrpc", "2.0"}, {"id", request.at("id")}, {"error", {{"code", code}, {"message", message}}}}));
}

std::string text_of(const json::object& answer) {
  if (const json::value* error = answer.if_contains("error"))
    return std::string(error->at("message").as_string());
  return std::string(answer.at("result").at("content").at(0).at("text").as_string());
}

std::string content_of(const fs::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool wait_at_rest(const std::vector<pid_t>& pids, Deadline deadline) {
  // One look doesn't see all of them at once, so one could wake another unnoticed.
  constexpr int looks = 20;
  int in_a_row = 0;
  return wait_until(
      [&] {
        in_a_row = std::ranges::all_of(pids, process_at_rest) ? in_a_row + 1 : 0;
        return in_a_row == looks;
      },
      deadline);
}

bool wait_until(const std::function<bool()>& predicate, Deadline deadline) {
  while (!predicate()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace harness
