#include "client.h"

#include <chrono>

namespace chaos {
namespace {

// Includes everything mcpivot may do in between: wait for a start, retry, wait for the answer.
const long patience =
    limits::queue + limits::call + limits::start + (harness::is_instrumented() ? 20'000 : 6'000);

using Targets = std::vector<std::string>;

// JSON as no library would write it.
std::string odd_json(const std::string& token, std::uint32_t number) {
  const std::size_t sizes[] = {0, 10, 200, 4'000, 60'000, 400'000};
  const std::string padding(sizes[number % 6], static_cast<char>('a' + number % 26));
  return R"({ "token":")" + token +
         R"(","n":[1.0e5,-0.0,1E+2, 123456789012345678901234567890],"kéy" :"😀 \/ \ud83d\ude00 \u0000\t",)" +
         R"("":{ "id" :1,"id ":[ ] , "progressToken":null}, "padding":")" + padding + R"(","last":true })";
}

std::string arguments_with(const std::string& token) {
  return R"({"token":")" + token + R"("})";
}

// Of the tool `require`: one or two rounds of a question.
std::string rounds(const std::string& token, std::uint32_t number) {
  const std::string roots = R"({"inputRequests":{"q":{"method":"roots/list"}},"requestState":"s1"})";
  const std::string form =
      R"({"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":)"
      R"({"type":"object","properties":{}}}}},"requestState":"s2"})";
  return R"({"token":")" + token + R"(","rounds":[)" + (number % 3 == 0 ? roots : form) +
         (number % 3 == 2 ? "," + roots : "") + "]}";
}

}  // namespace

const std::vector<Kind>& Client::kinds() {
  static const Targets programs = {"alpha", "beta"};
  static const Targets nobody = {"-"};
  static const std::vector<Kind> all = {
      {"ping", nobody, 4},
      {"list", nobody, 4},
      {"mirror", {"alpha", "beta", "daemon"}, 25},
      {"record", {"alpha", "beta", "daemon", "cli"}, 25},
      {"read", {"alpha", "beta", "daemon"}, 15},
      {"progress", programs, 8},
      {"cancel", programs, 8},
      {"ask", {"alpha", "beta", "gamma"}, 10},
      {"never-answer", programs, 1},
      {"big", programs, 2},
      {"resource", programs, 4},
      {"prompt", programs, 4},
      {"complete", programs, 2},
      {"subscribe", nobody, 2},
      {"level", nobody, 1},
      {"through", {"alpha", "gamma", "daemon"}, 6},
      {"status", nobody, 2},
      {"search", nobody, 2},
      {"inactive", {"gamma"}, 1},
  };
  return all;
}

void Client::line(const std::string& text) {
  world_.pivot().offer(text + "\n", std::chrono::steady_clock::now());
}

// Numbers and strings in turn.
std::string Client::next_id() {
  ++next_;
  return next_ % 2 == 0 ? std::to_string(next_) : "\"r" + std::to_string(next_) + "\"";
}

std::string Client::request(Request request, const std::string& method, const std::string& params) {
  if (request.id.empty()) request.id = next_id();
  const std::string id = request.id;
  request.sent = world_.now();
  if (request.deadline == 0) request.deadline = request.sent + patience;
  const std::string server = request.server;
  const std::string expect = request.expect;
  oracle_.sent(std::move(request));
  // A modern request always identifies its client; a tool call already does.
  std::string all = params;
  if (modern_ && params.find("\"_meta\"") == std::string::npos)
    all = params.empty() ? "{" + meta("") + "}" : "{" + meta("") + "," + params.substr(1);
  // A legacy server doesn't say in which call it asks: any call that is open may have to carry the question.
  if (modern_ && (method == "tools/call" || method == "prompts/get" || method == "resources/read"))
    asking_.try_emplace(id, Asking{server, method, all, expect, 1});
  if (next_ % 64 == 0)
    std::erase_if(asking_, [&](const auto& one) { return oracle_.was_answered(one.first); });
  line(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + "\"" +
       (all.empty() ? "" : ",\"params\":" + all) + "}");
  return id;
}

std::string Client::meta(const std::string& more) const {
  if (!modern_) return more.empty() ? "" : R"("_meta":{)" + more + "}";
  return R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientInfo":{"name":"chaos","version":"1"},)"
         R"("io.modelcontextprotocol/clientCapabilities":{"roots":{},"sampling":{},"elicitation":{}})" +
         (more.empty() ? "" : "," + more) + "}";
}

// The arguments come last, as the mirror tool requires.
std::string Client::call(Request request, const std::string& tool, const std::string& arguments,
                         bool with_progress) {
  request.id = next_id();
  const std::string who = meta(with_progress ? R"("progressToken":)" + request.id : "");
  return this->request(
      std::move(request), "tools/call",
      R"({"name":")" + tool + "\"," + who + (who.empty() ? "" : ",") + R"("arguments":)" + arguments + "}");
}

std::string Client::call(const std::string& what, const std::string& server, const std::string& tool,
                         const std::string& arguments, bool may_fail) {
  Request request{.id = {}, .what = what, .server = server};
  request.may_fail = may_fail;
  return call(std::move(request), tool, arguments);
}

// A ping follows the cancellation: once it is answered, mcpivot has seen the cancellation.
void Client::cancel_later(const std::string& id, long milliseconds) {
  world_.after(milliseconds, [this, id] {
    if (oracle_.was_answered(id)) return;
    oracle_.cancelled(id, world_.now());
    line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}");
    Request ping{.id = {}, .what = "ping-behind", .server = "-"};
    ping.token = id;
    request(std::move(ping), modern_ ? "server/discover" : "ping", "");
  });
}

void Client::open_listen(const std::string& id, const std::string& filter) {
  oracle_.listens(id);
  line(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"subscriptions/listen","params":{)" + meta("") +
       R"(,"notifications":)" + filter + "}}");
}

void Client::call_again(const Oracle::Required& required) {
  const auto found = asking_.find(required.id);
  if (found == asking_.end()) return;
  const Asking asking = found->second;
  asking_.erase(found);
  if (asking.number % 11 == 0) return;  // its user has left
  std::string responses;
  for (const auto& [key, question] : required.questions)
    responses +=
        (responses.empty() ? "\"" : ",\"") + std::string(key) + "\":" +
        (question.at("method") == "roots/list" ? R"({"roots":[]})" : R"({"action":"accept","content":{}})");
  world_.after(static_cast<long>(asking.number % 900), [this, asking, responses, state = required.state] {
    Request again{.id = next_id(), .what = "ask-again", .server = asking.server};
    again.expect = asking.expect;
    std::string params = asking.params;
    if (const auto token = params.find(R"("progressToken":)"); token < params.find(R"("arguments":)"))
      params.replace(token + 16, params.find_first_of(",}", token) - token - 16, again.id);
    asking_[again.id] = {asking.server, asking.method, params, asking.expect, asking.number};
    params.pop_back();
    request(std::move(again), asking.method,
            params + R"(,"inputResponses":{)" + responses + "}" +
                (state.empty() ? "" : R"(,"requestState":)" + state) + "}");
  });
}

void Client::make(const Action& action) {
  const std::string& what = action.what;
  const std::string& server = action.target;
  const std::uint32_t number = action.number;
  const std::string token = "t" + std::to_string(++next_token_);
  Request made{.id = {}, .what = what, .server = server};
  const auto tool = [&](const char* name) { return server + "__" + name; };

  if (what == "ping") {
    request(std::move(made), modern_ ? "server/discover" : "ping", "");
  } else if (what == "list") {
    const char* lists[] = {"tools/list", "prompts/list", "resources/list", "resources/templates/list"};
    request(std::move(made), lists[number % 4], "");
  } else if (what == "mirror") {
    const std::string arguments = odd_json(token, number);
    made.token = token;
    made.expect = "\"structuredContent\":" + arguments + "}";
    call(std::move(made), tool("mirror"), arguments);
  } else if (what == "record") {
    made.token = token;
    if (server == "cli") made.expect = token;
    call(std::move(made), tool(server == "cli" ? "record" : "echo"), arguments_with(token));
  } else if (what == "read") {  // may be asked again, and so may run twice
    call(std::move(made), tool(server == "daemon" ? "read" : "state"), "{}");
  } else if (what == "progress") {
    made.token = token;
    call(std::move(made), tool("sleep"),
         R"({"token":")" + token + R"(","ms":)" + std::to_string(number % 800) + R"(,"steps":5})", true);
  } else if (what == "cancel") {
    made.token = token;
    const std::string id =
        call(std::move(made), tool("sleep"), R"({"token":")" + token + R"(","ms":600,"steps":6})", true);
    cancel_later(id, number % 700);
  } else if (what == "ask") {
    if (!is_modern(server)) made.token = token;  // a modern one runs each round
    // Only the answer to its last question: a server that was restarted doesn't know the earlier ones.
    made.expect = number % 3 == 1 ? "accept" : "roots";
    made.id = next_id();
    const bool through = server == "gamma";  // it is inactive
    const std::string arguments =
        through ? R"({"tool":"gamma__require","arguments":)" + rounds(token, number) + "}"
                : rounds(token, number);
    const std::string params = R"({"name":")" + (through ? "pivot_call" : tool("require")) + "\"," +
                               (modern_ ? meta("") + "," : "") + R"("arguments":)" + arguments + "}";
    if (modern_) asking_[made.id] = {server, "tools/call", params, made.expect, number};
    request(std::move(made), "tools/call", params);
  } else if (what == "never-answer") {  // it sleeps for longer than a call may take
    made.may_fail = true;
    call(std::move(made), tool("sleep"), R"({"ms":60000})");
  } else if (what == "big") {
    made.token = token;
    const long bytes = 100'000 + static_cast<long>(number % 2'000'000);
    made.expect = std::string(static_cast<std::size_t>(bytes), 'x');
    call(std::move(made), tool("big"),
         R"({"token":")" + token + R"(","bytes":)" + std::to_string(bytes) + "}");
  } else if (what == "resource") {  // which all of them have: the first one answers
    made.expect = "the text of fake://hello";
    request(std::move(made), "resources/read", R"({"uri":"fake://hello"})");
  } else if (what == "prompt") {
    made.expect = "greet " + token;
    request(std::move(made), "prompts/get",
            R"({"name":")" + tool("greet") + R"(","arguments":{"name":")" + token + "\"}}");
  } else if (what == "complete") {
    made.expect = token + "1";
    request(std::move(made), "completion/complete",
            R"({"ref":{"type":"ref/prompt","name":")" + tool("greet") +
                R"("},"argument":{"name":"name","value":")" + token + "\"}}");
  } else if (what == "subscribe" && modern_) {
    const std::string id = "\"listen-" + token + "\"";
    open_listen(id, R"({"toolsListChanged":true,"resourceSubscriptions":["fake://hello"]})");
    world_.after(static_cast<long>(number % 3'000), [this, id] {
      line(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" + id + "}}");
    });
  } else if (what == "subscribe") {
    request(std::move(made), number % 2 == 0 ? "resources/subscribe" : "resources/unsubscribe",
            R"({"uri":"fake://hello"})");
  } else if (what == "level" && modern_) {
    request(std::move(made), "tools/call",
            R"({"name":"alpha__log",)" + meta(R"("io.modelcontextprotocol/logLevel":"debug")") +
                R"(,"arguments":{"text":"x"}})");
  } else if (what == "level") {
    request(std::move(made), "logging/setLevel",
            number % 2 == 0 ? R"({"level":"debug"})" : R"({"level":"error"})");
  } else if (what == "through") {
    made.token = token;
    call(std::move(made), "pivot_call",
         R"({"tool":")" + tool("echo") + R"(","arguments":)" + arguments_with(token) + "}");
  } else if (what == "status") {
    call(std::move(made), "pivot_status", number % 2 == 0 ? "{}" : R"({"server":"alpha"})");
  } else if (what == "search") {
    call(std::move(made), "pivot_search", R"({"query":"echo a text"})");
  } else if (what == "inactive") {
    made.token = token;
    call(std::move(made), tool("echo"), arguments_with(token));
  } else {
    throw std::runtime_error("no request is called " + what);
  }
}

void Client::greet() {
  const Request first{.id = "0", .what = "greeting", .server = "-"};
  if (modern_)
    request(first, "server/discover", "");
  else
    request(first, "initialize",
            R"({"protocolVersion":"2025-06-18","capabilities":{"roots":{},"sampling":{},"elicitation":{}},)"
            R"("clientInfo":{"name":"chaos","version":"1"}})");
  while (!oracle_.was_answered("0"))
    if (world_.now() > 10'000 || !listen(world_.now() + 50))
      throw std::runtime_error("mcpivot does not answer");
  if (!modern_) return line(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  open_listen("\"listen\"",
              R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true})");
}

bool Client::listen(long until) {
  while (true) {
    const long left = until - world_.now();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(0L, left));
    const auto text = world_.pivot().read_line(deadline);
    if (text) {
      const std::string answer = oracle_.received(*text, world_.now());
      if (!answer.empty()) line(answer);
      for (const Oracle::Required& required : oracle_.take_required()) call_again(required);
      if (left <= 0) return true;
      continue;
    }
    if (world_.now() < until) return false;  // the end, not the deadline
    return true;
  }
}

}  // namespace chaos
