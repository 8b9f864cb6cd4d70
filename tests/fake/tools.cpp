// Each tool in a few lines, and the table that tools/list and tools/call read.
#include "tools.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fake {
namespace {

namespace json = boost::json;

std::string text(const Call& call, std::string_view key, std::string_view otherwise = "") {
  const json::value* found = call.arguments.if_contains(key);
  if (found == nullptr) return std::string(otherwise);
  return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
}

std::int64_t number(const Call& call, std::string_view key, std::int64_t otherwise = 0) {
  const json::value* found = call.arguments.if_contains(key);
  return found ? found->to_number<std::int64_t>() : otherwise;
}

bool truth(const Call& call, std::string_view key) {
  const json::value* found = call.arguments.if_contains(key);
  return found && found->is_bool() && found->get_bool();
}

json::value any(const Call& call, std::string_view key) {
  const json::value* found = call.arguments.if_contains(key);
  return found ? *found : json::value(nullptr);
}

void echo(Server& server, const Call& call) {
  server.answer(call, text(call, "text"));
}
void pid(Server& server, const Call& call) {
  server.answer(call, std::to_string(getpid()));
}
void count(Server& server, const Call& call) {
  server.answer(call, std::to_string(server.calls()));
}
void seen(Server& server, const Call& call) {
  server.answer(call, server.seen());
}
void state(Server& server, const Call& call) {
  server.answer(call, json::serialize(server.state()));
}
void cwd(Server& server, const Call& call) {
  server.answer(call, std::filesystem::current_path().native());
}

void sleep(Server& server, const Call& call) {
  const std::int64_t ms = number(call, "ms");
  const std::int64_t steps = call.progress_token.is_null() ? 0 : number(call, "steps");
  server.begin(call);
  for (std::int64_t step = 1; step <= steps; ++step) {
    server.after(std::chrono::milliseconds(ms * step / steps), [&server, call, step, steps] {
      if (!server.is_open(call)) return;
      server.wire().notify("notifications/progress",
                           {{"progressToken", call.progress_token}, {"progress", step}, {"total", steps}});
    });
  }
  server.after(std::chrono::milliseconds(ms), [&server, call, ms] {
    if (server.finish(call)) server.answer(call, "slept " + std::to_string(ms) + " ms");
  });
}

void crash(Server&, const Call& call) {
  const std::string last_words = text(call, "stderr");
  if (!last_words.empty()) std::fprintf(stderr, "%s\n", last_words.c_str());
  die(text(call, "signal", text(call, "exit_code", "SIGABRT")));
}

void write_stderr(Server& server, const Call& call) {
  for (std::int64_t i = 0; i < number(call, "lines", 1); ++i)
    std::fprintf(stderr, "%s\n", text(call, "text").c_str());
  server.answer(call, "written");
}

void garbage(Server& server, const Call& call) {
  server.wire().raw(text(call, "text") + "\n");
  server.answer(call, "printed");
}

void big(Server& server, const Call& call) {
  server.answer(call, std::string(static_cast<std::size_t>(number(call, "bytes")), 'x'));
}

// The text of a client's answer: its result, or its error.
void pass_on(Server& server, const Call& call, const json::object& answer) {
  if (!server.finish(call)) return;
  if (const json::value* result = answer.if_contains("result"))
    return server.answer(call, json::serialize(*result));
  const json::value* error = answer.if_contains("error");
  server.answer(call, error ? json::serialize(*error) : "neither result nor error", true);
}

void ask(Server& server, const Call& call) {
  const json::value id = call.arguments.contains("id") ? any(call, "id") : server.next_request_id();
  server.begin(call);
  server.ask(id, text(call, "method"), any(call, "params"),
             [&server, call](const json::object& answer) { pass_on(server, call, answer); });
  if (!truth(call, "cancel")) return;
  server.wire().notify("notifications/cancelled", {{"requestId", id}, {"reason", "no longer needed"}});
  if (server.finish(call)) server.answer(call, "asked and cancelled");
}

void notify(Server& server, const Call& call) {
  server.wire().notify(text(call, "method"), any(call, "params"));
  server.answer(call, "notified");
}

void log(Server& server, const Call& call) {
  server.log(call, text(call, "level", "info"), text(call, "text"));
  server.answer(call, "logged");
}

void stop_reading(Server& server, const Call& call) {
  server.wire().stop_reading();
  server.answer(call, "not reading any more");
}

void close_stdout(Server& server, const Call& call) {
  server.answer(call, "closing stdout");
  server.wire().close_stdout();
}

void fork_tool(Server& server, const Call& call) {
  server.answer(call, std::to_string(fork_sleeper(truth(call, "ignore_term"))));
}

void env(Server& server, const Call& call) {
  const char* value = std::getenv(text(call, "name").c_str());
  server.answer(call, value ? value : "", value == nullptr);
}

void args(Server& server, const Call& call) {
  json::array all;
  for (const std::string& argument : server.options().arguments) all.emplace_back(argument);
  server.answer(call, json::serialize(all));
}

void mutate(Server& server, const Call& call) {
  server.mutate();
  server.answer(call, "mutated");
}

void fail(Server& server, const Call& call) {
  server.answer(call, text(call, "text", "failed"), true);
}

void rpc_error(Server& server, const Call& call) {
  server.wire().error(call.id, static_cast<int>(number(call, "code", -32000)),
                      text(call, "message", "an error"), any(call, "data"));
}

// Only the first time; then it succeeds.
void rpc_error_once(Server& server, const Call& call) {
  json::array& before = server.rounds[json::serialize(call.arguments)];
  before.emplace_back(1);
  if (before.size() == 1) return rpc_error(server, call);
  server.answer(call, "called " + std::to_string(before.size()) + " times");
}

void touch(Server& server, const Call& call) {
  server.touch(text(call, "uri"));
  server.answer(call, "touched");
}

// Tool `require`: one round after another, each of which is an object with inputRequests and, in the modern
// era, requestState. The last answer has all that was said to it. In the legacy era the questions are
// requests.
struct Rounds {
  static json::array& said(Server& server, const Call& call) {
    return server.rounds[json::serialize(call.arguments)];
  }
  static void report(Server& server, const Call& call) {
    if (call.progress_token.is_null()) return;
    for (int step = 1; step <= number(call, "steps"); ++step)
      server.wire().notify("notifications/progress",
                           {{"progressToken", call.progress_token}, {"progress", step}});
  }
  static void end(Server& server, const Call& call) {
    if (truth(call, "hang")) return;
    if (server.finish(call)) server.answer(call, json::serialize(said(server, call)));
    server.rounds.erase(json::serialize(call.arguments));
  }
  static void require(Server& server, const Call& call) {
    const json::array all = any(call, "rounds").as_array();
    json::array& so_far = said(server, call);
    if (call.round.empty()) so_far.clear();
    if (!call.round.empty()) so_far.emplace_back(call.round);
    report(server, call);
    if (so_far.size() >= all.size() && !truth(call, "for_ever")) {
      server.begin(call);
      return end(server, call);
    }
    json::object result = all.at(std::min(so_far.size(), all.size() - 1)).as_object();
    result["resultType"] = "input_required";
    server.answer_with(call, result);
  }
  static void ask(Server& server, const Call& call, std::size_t round) {
    const json::array all = any(call, "rounds").as_array();
    if (!server.is_open(call)) return;
    report(server, call);
    if (round == all.size()) return end(server, call);
    said(server, call).emplace_back(json::object());
    const json::object questions = all.at(round).at("inputRequests").as_object();
    for (const auto& [key, question] : questions) {
      const json::value* params = question.as_object().if_contains("params");
      server.ask(
          server.next_request_id(), question.at("method").as_string(), params ? *params : json::value(),
          [&server, call, round, key = std::string(key), size = questions.size()](const json::object& got) {
            json::object& answers = said(server, call).back().as_object();
            const json::value* result = got.if_contains("result");
            answers[key] = result != nullptr ? *result : got.at("error");
            if (answers.size() == size) ask(server, call, round + 1);
          });
    }
  }
  static void run(Server& server, const Call& call) {
    if (server.is_modern()) return require(server, call);
    server.begin(call);
    ask(server, call, 0);
  }
};

void structured_value(Server& server, const Call& call) {
  server.answer_with(
      call, json::object{{"content", json::array{json::object{{"type", "text"}, {"text", "structured"}}}},
                         {"structuredContent", any(call, "value")}});
}

void structured(Server& server, const Call& call) {
  const json::object result = {
      {"content", json::array{json::object{{"type", "text"}, {"text", "structured"}}}},
      {"structuredContent", call.arguments}};
  server.answer_with(call, result);
}

// The object at the beginning of this JSON text.
std::string_view object_at(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '{') {
      ++depth;
    } else if (!quoted && text[i] == '}' && --depth == 0) {
      return text.substr(0, i + 1);
    }
  }
  return text;
}

// The bytes of the arguments as they arrived.
void mirror(Server& server, const Call& call) {
  const std::string_view line = server.last_line();
  constexpr std::string_view key = "\"arguments\":";
  const std::string arguments(object_at(line.substr(line.find(key) + key.size())));
  server.wire().raw(R"({"jsonrpc":"2.0","id":)" + json::serialize(call.id) + R"(,"result":{)" +
                    (server.is_modern() ? R"("resultType":"complete",)" : "") +
                    R"("content":[{"type":"text","text":"mirrored"}],"structuredContent":)" + arguments +
                    "}}\n");
}

// A pixel, a sound and some bytes, valid only by their types.
void media(Server& server, const Call& call) {
  auto block = [](const char* type, const char* mime_type) {
    return json::object{{"type", type}, {"data", "aGVsbG8="}, {"mimeType", mime_type}};
  };
  server.answer_with(
      call, json::object{{"content", json::array{block("image", "image/png"), block("audio", "audio/wav")}}});
}

void tear(Server& server, const Call& call) {
  server.wire().raw(R"({"jsonrpc":"2.0","id":)" + json::serialize(call.id) + R"(,"result":{"content":[{"ty)");
  die("SIGKILL");
}

struct Tool {
  const char* name;
  const char* parameters;  // "name:type" separated by spaces
  const char* description;
  void (*run)(Server&, const Call&);
};

constexpr auto tool_table = std::to_array<Tool>({
    {"echo", "text:string", "Answers with the text.", echo},
    {"pid", "", "Answers with its process id.", pid},
    {"count", "", "Answers with the number of calls in this life, this one included.", count},
    {"sleep", "ms:integer steps:integer",
     "Answers after ms, with that many steps of progress; honours cancellation.", sleep},
    {"crash", "signal:string exit_code:integer stderr:string", "Writes to stderr and dies.", crash},
    {"stderr", "text:string lines:integer", "Writes the text to stderr that many times.", write_stderr},
    {"garbage", "text:string", "Prints the text to stdout as it is, then answers.", garbage},
    {"big", "bytes:integer", "Answers with that many bytes of text.", big},
    {"ask", "method:string params:object id:string cancel:boolean",
     "Makes a request of the client and answers with what it said; with cancel, takes the request back.",
     ask},
    {"notify", "method:string params:object", "Sends a notification.", notify},
    {"log", "level:string text:string", "Sends a log message if its level is high enough.", log},
    {"seen", "", "Answers with the lines received in this life, as they came.", seen},
    {"state", "", "Answers with life, log level, subscriptions, cancelled ids and the client's handshake.",
     state},
    {"stop_reading", "", "Answers, and never reads stdin again.", stop_reading},
    {"close_stdout", "", "Answers, and closes stdout.", close_stdout},
    {"fork", "ignore_term:boolean", "Forks a process that sleeps forever; answers with its id.", fork_tool},
    {"env", "name:string", "Answers with an environment variable.", env},
    {"cwd", "", "Answers with its working directory.", cwd},
    {"args", "", "Answers with its arguments, as JSON.", args},
    {"mutate", "", "Adds a tool and says that the list has changed.", mutate},
    {"fail", "text:string", "Answers with isError.", fail},
    {"rpc_error", "code:integer message:string data:object", "Answers with a JSON-RPC error.", rpc_error},
    {"rpc_error_once", "code:integer message:string data:object",
     "Answers with a JSON-RPC error the first time, and counts how often it was called.", rpc_error_once},
    {"touch", "uri:string", "Says that this resource has changed, to those who listen.", touch},
    {"require", "rounds:array steps:integer for_ever:boolean hang:boolean",
     "Needs answers, round after round, and answers with them. It reports progress in each.", Rounds::run},
    {"structured_value", "value:string", "Answers with this value as structuredContent.", structured_value},
    {"structured", "", "Answers with its arguments as structuredContent.", structured},
    {"mirror", "", "Answers with the very bytes of its arguments as structuredContent.", mirror},
    {"media", "", "Answers with an image and a sound.", media},
    {"tear", "", "Dies in the middle of its answer.", tear},
});

json::object schema_of(std::string_view parameters) {
  json::object properties;
  while (!parameters.empty()) {
    const auto end = std::min(parameters.find(' '), parameters.size());
    const std::string_view one = parameters.substr(0, end);
    const auto colon = one.find(':');
    properties[one.substr(0, colon)] = {{"type", one.substr(colon + 1)}};
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  return {{"type", "object"}, {"properties", properties}};
}

bool is_offered(const Options& options, const Tool& tool) {
  return options.only.empty() || options.only.contains(tool.name);
}

// Applies --describe and --hint.
void adorn(json::object& entry, const Options& options) {
  const std::string name(entry["name"].as_string());
  if (const auto found = options.describe.find(name); found != options.describe.end())
    entry["description"] = found->second;
  const auto [begin, end] = options.hints.equal_range(name);
  json::object annotations;
  for (auto hint = begin; hint != end; ++hint) annotations[hint->second] = true;
  if (!annotations.empty()) entry["annotations"] = annotations;
}

bool is_added(const Options& options, const std::string& name) {
  return name.starts_with("mutant_") || std::ranges::any_of(options.tools, [&](const json::value& tool) {
           return tool.at("name").as_string() == name;
         });
}

}  // namespace

json::array describe_tools(const Options& options, int mutations) {
  json::array all;
  for (const Tool& tool : tool_table) {
    if (!is_offered(options, tool) || is_added(options, tool.name)) continue;
    json::object entry = {
        {"name", tool.name}, {"description", tool.description}, {"inputSchema", schema_of(tool.parameters)}};
    if (std::string_view(tool.name) == "structured") entry["outputSchema"] = {{"type", "object"}};
    all.emplace_back(std::move(entry));
  }
  all.insert(all.end(), options.tools.begin(), options.tools.end());
  for (int i = 1; i <= mutations; ++i)
    all.emplace_back(
        json::object{{"name", "mutant_" + std::to_string(i)}, {"inputSchema", {{"type", "object"}}}});
  for (json::value& entry : all) adorn(entry.as_object(), options);
  return all;
}

bool run_tool(Server& server, const std::string& name, const Call& call,
              const std::function<void()>& before) {
  const Options& options = server.options();
  for (const Tool& tool : tool_table) {
    if (name != tool.name || !is_offered(options, tool)) continue;
    before();
    tool.run(server, call);
    return true;
  }
  if (is_added(options, name)) {
    before();
    server.answer(
        call, name + " in life " + std::to_string(options.life) + " with " + json::serialize(call.arguments));
    return true;
  }
  return false;
}

pid_t fork_sleeper(bool stubborn) {
  const pid_t child = fork();
  if (child != 0) return child;
  if (stubborn) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_IGN);
  }
  while (true) pause();
}

}  // namespace fake
