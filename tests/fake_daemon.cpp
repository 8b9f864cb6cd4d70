// An MCP server over HTTP that misbehaves as it is told to: by its options for all requests, by the tool
// "misbehave" for a single call. One thread per connection, blocking: each misdeed is a few lines of code.
//
// It supports the legacy era, the modern one or both (--era). In the modern one it rejects a request whose
// headers contradict its body, and records when the client closes a connection for which it is still
// working.
//
// It prints "listening on PORT", then serves until it is killed.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/json.hpp>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "fake/modern_check.h"

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using asio::ip::tcp;

struct Options {
  unsigned short port = 0;
  std::string journal;            // a file; each call is a line in it
  std::string life = "1";         // comes first on each line
  std::set<std::string> tools;    // more of them, which do nothing
  std::string header;             // this line must be among the headers, else 401
  std::string redirect;           // each POST is sent there first
  int status = 0;                 // each POST is answered with it
  bool no_stream = false;         // 405 for GET
  bool no_session = false;        // gives no session id
  bool old = false;               // speaks HTTP+SSE of 2024-11-05 alone
  bool forgetful = false;         // forgets each session as soon as it has listed its tools
  bool bad_request = false;       // an unknown session is a 400, as with some servers
  unsigned short tunnel = 0;      // CONNECT to anywhere leads to this port
  std::string era = "legacy";     // or modern, or both
  std::string reject;             // handshakes of both eras, with these words
  std::string region = "Region";  // the header that repeats an argument of this name
} options;

// What all connections share.
std::mutex mutex;
std::condition_variable changed;
std::set<std::string> sessions;
std::map<std::string, std::shared_ptr<tcp::socket>> streams;  // by session
std::map<std::string, json::value> late_answers;              // by the id of the event that they follow
json::array answers;                                          // what clients answered
struct Listen {                                               // a subscription
  std::shared_ptr<tcp::socket> socket;
  json::value id;
  json::value filter;
};
std::map<int, Listen> listens;
int last_listen = 0;
int released = 0;
int waiting = 0;
std::int64_t polls = 0;  // how often a client that resumes is sent away first

struct Request {
  std::string method, target, head, body;
  std::string header(const std::string& name) const {
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    const std::string line = "\r\n" + name + ": ";
    const auto found = std::search(head.begin(), head.end(), line.begin(), line.end(), same);
    if (found == head.end()) return {};
    const auto at = static_cast<std::size_t>(found - head.begin());
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class Connection {
 public:
  explicit Connection(tcp::socket socket) : socket_(std::make_shared<tcp::socket>(std::move(socket))) {}

  void serve() {
    while (true) {
      Request request;
      const std::size_t head = asio::read_until(*socket_, asio::dynamic_buffer(input_), "\r\n\r\n");
      request.head = input_.substr(0, head);
      input_.erase(0, head);
      request.method = request.head.substr(0, request.head.find(' '));
      const auto target = request.method.size() + 1;
      request.target = request.head.substr(target, request.head.find(' ', target) - target);
      if (request.target.starts_with("http://")) {  // we are its proxy
        request.target.erase(0, request.target.find('/', 7));
        journal("proxied", request.target);
      }
      const std::string length = request.header("Content-Length");
      const std::size_t size = length.empty() ? 0 : std::stoul(length);
      if (input_.size() < size)
        asio::read(*socket_, asio::dynamic_buffer(input_), asio::transfer_exactly(size - input_.size()));
      request.body = input_.substr(0, size);
      input_.erase(0, size);
      handle(request);
    }
  }

 private:
  static void journal(std::string_view what, std::string_view details) {
    if (options.journal.empty()) return;
    static std::mutex one_line_at_a_time;
    const std::scoped_lock lock(one_line_at_a_time);
    std::ofstream file(options.journal, std::ios::app);
    file << options.life << ' ' << what << ' ' << details << std::endl;
    if (!file) ::_exit(3);  // nothing may happen that isn't recorded
  }

  void write(const std::string& bytes) { asio::write(*socket_, asio::buffer(bytes)); }
  void reply(int status, const std::string& type, const std::string& body, const std::string& headers = {}) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " Fake\r\n" + headers;
    if (!type.empty()) text += "Content-Type: " + type + "\r\n";
    write(text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  void begin_events(const std::string& headers = {}) {
    write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n" + headers +
          "\r\n");
  }
  static std::string chunk(const std::string& bytes) {
    std::ostringstream text;
    text << std::hex << bytes.size() << "\r\n" << bytes << "\r\n";
    return text.str();
  }
  static std::string event(const json::value& message, const std::string& id = {}) {
    return (id.empty() ? "" : "id: " + id + "\n") + "event: message\ndata: " + json::serialize(message) +
           "\n\n";
  }
  json::object result(const json::value& id, json::object value) const {
    if (modern_ && !value.contains("resultType")) value["resultType"] = "complete";
    return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(value)}};
  }
  json::object text_result(const json::value& id, std::string_view text) const {
    return result(id, {{"content", json::array{{{"type", "text"}, {"text", text}}}}});
  }
  static json::object error(const json::value& id, int code, std::string_view message) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
  }

  void turn_away(int status, const std::string& words) {
    journal("turned away", std::to_string(status));
    reply(status, "text/plain", words);
  }

  void handle(const Request& request) {
    if (request.method == "CONNECT") return tunnel();
    // It offers no sign-in, and tells everyone so.
    if (request.target.starts_with("/.well-known/")) return reply(404, "text/plain", "no");
    if (!options.header.empty() && request.head.find("\r\n" + options.header + "\r\n") == std::string::npos)
      return turn_away(401, "who are you?");
    if (options.era == "modern" && request.method != "POST") {
      journal(request.method, "refused");
      return reply(405, "text/plain", "no");
    }
    if (request.method == "GET") return get(request);
    if (request.method == "DELETE") {
      const std::scoped_lock lock(mutex);
      sessions.erase(request.header("Mcp-Session-Id"));
      journal("DELETE", "");
      return reply(200, "", "");
    }
    if (request.method != "POST" || (options.old && !request.target.starts_with("/message")))
      return reply(405, "text/plain", "no");
    if (!options.redirect.empty() && request.target != options.redirect)
      return reply(307, "", "", "Location: " + options.redirect + "\r\n");
    if (options.status != 0) return turn_away(options.status, "as told");
    const json::object message = json::parse(request.body).as_object();
    if (!options.reject.empty() && message.contains("id")) {
      journal("turned away", options.reject);
      return answer(request, error(message.at("id"), -32602, options.reject));
    }
    modern_ = options.era == "modern" || (options.era == "both" && fake::is_modern(message));
    if (modern_) return modern_post(request, message);
    post(request, message);
  }

  // --- the modern era

  void modern_post(const Request& request, const json::object& message) {
    const json::value id = message.contains("id") ? message.at("id") : json::value();
    const json::value* method = message.if_contains("method");
    auto refuse = [&](int status, int code, const std::string& words, const json::value& data = {}) {
      journal("refused", std::to_string(code) + " " + words);
      json::object body = error(id, code, words);
      if (id.is_null()) body.erase("id");
      if (!data.is_null()) body["error"].as_object()["data"] = data;
      reply(status, "application/json", json::serialize(body));
    };
    if (method != nullptr && *method == "initialize")
      return refuse(400, -32022, "Unsupported protocol version",
                    {{"supported", json::array{fake::modern_version}}, {"requested", "2025-11-25"}});
    const auto header = [&](const std::string& name) { return request.header(name); };
    const fake::Fault fault = fake::modern_fault(header, message, list_tools());
    if (fault.code == -32022)
      return refuse(fault.status, fault.code, fault.words,
                    {{"supported", json::array{fake::modern_version}},
                     {"requested", request.header("MCP-Protocol-Version")}});
    if (fault.status != 0) return refuse(fault.status, fault.code, fault.words);
    const json::value* params = message.if_contains("params");
    if (!message.contains("id")) {
      journal(json::value_to<std::string>(*method), params == nullptr ? "" : json::serialize(*params));
      return reply(202, "", "");
    }
    auto answer_list = [&](json::object list) {
      list["ttlMs"] = 0;
      list["cacheScope"] = "private";
      reply(200, "application/json", json::serialize(result(id, std::move(list))));
    };
    if (*method == "server/discover") {
      journal("server/discover", "");
      return answer_list(
          {{"supportedVersions", json::array{fake::modern_version}},
           {"capabilities", {{"tools", {{"listChanged", true}}}, {"logging", json::object()}}},
           {"_meta",
            {{"io.modelcontextprotocol/serverInfo", {{"name", "fake-daemon"}, {"version", options.life}}}}}});
    }
    if (*method == "tools/list") return answer_list({{"tools", list_tools()}});
    if (*method == "resources/read") return answer_list({{"contents", json::array()}});
    if (*method == "prompts/get")
      return reply(200, "application/json", json::serialize(result(id, {{"messages", json::array()}})));
    if (*method == "subscriptions/listen") return listen(id, params->as_object());
    if (*method != "tools/call") return refuse(404, -32601, "Method not found");
    call(request, {}, id, params->as_object());
  }

  // Until the client closes the connection, or we do.
  void listen(const json::value& id, const json::object& params) {
    const json::value filter = params.at("notifications");
    std::unique_lock lock(mutex);
    begin_events("X-Accel-Buffering: no\r\n");
    const int number = ++last_listen;
    listens[number] = {socket_, id, filter};
    journal("listen", json::serialize(filter));
    write(chunk(":\r\n") + chunk(event(on_subscription("notifications/subscriptions/acknowledged",
                                                       listens[number], {{"notifications", filter}}))));
    await(lock, [&] { return !listens.contains(number); }, "listen");
    if (listens.erase(number) > 0) throw std::runtime_error("closed by the client");
  }

  static json::object on_subscription(std::string_view method, const Listen& listen,
                                      json::object params = {}) {
    params["_meta"] = {{fake::subscription_key, listen.id}};
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
  }

  // Called with the lock: to all subscriptions that want it.
  static std::size_t announce(std::string_view method, const char* wish) {
    std::size_t count = 0;
    for (auto& [number, listen] : listens) {
      const json::value* wanted = listen.filter.as_object().if_contains(wish);
      if (wanted == nullptr || *wanted != json::value(true)) continue;
      ++count;
      asio::write(*listen.socket,
                  asio::buffer(chunk(": still here\n\n") + chunk(event(on_subscription(method, listen)))));
    }
    return count;
  }

  // Ends all subscriptions: with an answer, or by closing the connection.
  void end_listens(bool gracefully) {
    for (auto& [number, listen] : std::exchange(listens, {})) {
      if (gracefully) {
        const json::object end = result(listen.id, {{"_meta", {{fake::subscription_key, listen.id}}}});
        asio::write(*listen.socket, asio::buffer(chunk(event(end)) + "0\r\n\r\n"));
      } else {
        listen.socket->shutdown(tcp::socket::shutdown_both);
      }
    }
    changed.notify_all();
  }

  bool closed_by_client() const {
    char byte = 0;
    return ::recv(socket_->native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  // Waits for something, or until the client closes the connection, which in the modern era takes the request
  // back.
  template <class Ready>
  void await(std::unique_lock<std::mutex>& lock, Ready ready, const std::string& what) {
    if (!modern_) return changed.wait(lock, ready);
    while (!changed.wait_for(lock, std::chrono::milliseconds(10), ready)) {
      if (!closed_by_client()) continue;
      journal("closed", what);
      return;
    }
  }

  void tunnel() {
    journal("tunnel", "");
    tcp::socket other(socket_->get_executor());
    other.connect({asio::ip::address_v4::loopback(), options.tunnel});
    write("HTTP/1.1 200 Connection established\r\n\r\n");
    auto pump = [](tcp::socket& from, tcp::socket& to) {
      char bytes[16384];
      boost::system::error_code failed;
      while (!failed) {
        const std::size_t count = from.read_some(asio::buffer(bytes), failed);
        if (!failed) asio::write(to, asio::buffer(bytes, count), failed);
      }
      boost::system::error_code ignored;
      to.shutdown(tcp::socket::shutdown_send, ignored);
    };
    std::jthread back([&] { pump(other, *socket_); });
    pump(*socket_, other);
    back.join();
    throw std::runtime_error("tunnel closed");
  }

  void get(const Request& request) {
    const std::string last = request.header("Last-Event-ID");
    journal("GET", last);
    const std::string session = options.old ? "old" : request.header("Mcp-Session-Id");
    if (options.no_stream && last.empty()) return reply(405, "text/plain", "no stream here");
    std::unique_lock lock(mutex);
    if (!options.old && !options.no_session && !sessions.contains(session))
      return reply(404, "application/json", json::serialize(error(nullptr, -32001, "Session not found")));
    begin_events();
    if (const auto late = late_answers.find(last); late != late_answers.end()) {
      if (polls-- > 0) return write("0\r\n\r\n");
      write(chunk(event(late->second, last + "+")) + "0\r\n\r\n");
      late_answers.erase(late);
      return;
    }
    streams[session] = socket_;
    if (options.old) write(chunk("event: endpoint\ndata: /message?session=old\n\n"));
    changed.notify_all();
    changed.wait(lock, [&] { return streams[session] != socket_; });
  }

  // To the client of this session, over its stream.
  static bool tell(const std::string& session, const json::value& message) {
    const auto stream = streams.find(session);
    if (stream == streams.end() || !stream->second) return false;
    asio::write(*stream->second, asio::buffer(chunk(event(message))));
    return true;
  }

  void answer(const Request& request, const json::value& message, const std::string& headers = {}) {
    if (options.old) {
      reply(202, "", "");
      const std::scoped_lock lock(mutex);
      tell("old", message);
    } else {
      reply(200, "application/json", json::serialize(message), headers);
    }
    (void)request;
  }

  void post(const Request& request, const json::object& message) {
    const std::string session = options.old ? "old" : request.header("Mcp-Session-Id");
    const json::value* method = message.if_contains("method");
    if (method == nullptr) {  // the client answers
      const std::scoped_lock lock(mutex);
      answers.emplace_back(message);
      changed.notify_all();
      return reply(202, "", "");
    }
    if (*method == "initialize") {
      const std::scoped_lock lock(mutex);
      const std::string id =
          options.life + "-" + std::to_string(sessions.size() + 1) + "-" + std::to_string(getpid());
      if (!options.no_session) sessions.insert(id);
      journal("initialize", request.header("Authorization"));
      return answer_initialize(request, message, id);
    }
    {
      const std::scoped_lock lock(mutex);
      if (!options.old && !options.no_session && !sessions.contains(session)) {
        const std::string body =
            json::serialize(error(nullptr, -32000, "Bad Request: No valid session ID provided"));
        return reply(options.bad_request ? 400 : 404, "application/json", body);
      }
    }
    if (!message.contains("id")) {
      const json::value* params = message.if_contains("params");
      journal(json::value_to<std::string>(*method), params == nullptr ? "" : json::serialize(*params));
      return reply(202, "", "");
    }
    const json::value& id = message.at("id");
    if (*method == "server/discover") return answer(request, error(id, -32601, "Method not found"));
    if (*method == "tools/list" && options.forgetful) {
      const std::scoped_lock lock(mutex);
      sessions.clear();
    }
    if (*method == "tools/list") return answer(request, result(id, {{"tools", list_tools()}}));
    if (*method != "tools/call") return answer(request, result(id, json::object()));
    call(request, session, id, message.at("params").as_object());
  }

  // Called with the lock.
  void answer_initialize(const Request&, const json::object& message, const std::string& session) {
    const json::object answer =
        result(message.at("id"),
               {{"protocolVersion", message.at("params").at("protocolVersion")},
                {"capabilities", {{"tools", {{"listChanged", true}}}, {"logging", json::object()}}},
                {"serverInfo", {{"name", "fake-daemon"}, {"version", options.life}}}});
    if (options.old) {
      reply(202, "", "");
      tell("old", answer);
    } else {
      reply(200, "application/json", json::serialize(answer),
            options.no_session ? "" : "Mcp-Session-Id: " + session + "\r\n");
    }
  }

  json::array list_tools() const {
    json::array list;
    if (modern_) {
      json::object properties{
          {"region", {{"type", "string"}, {"x-mcp-header", options.region}}},
          {"count", {{"type", "integer"}, {"x-mcp-header", "Count"}}},
          {"where",
           {{"type", "object"}, {"properties", {{"zone", {{"type", "string"}, {"x-mcp-header", "Zone"}}}}}}}};
      list.push_back({{"name", "route"}, {"inputSchema", {{"type", "object"}, {"properties", properties}}}});
      // No client may list this tool.
      list.push_back(
          {{"name", "wrong_route"}, {"inputSchema", {{"type", "object"}, {"x-mcp-header", "Root"}}}});
      list.push_back({{"name", "change"}, {"inputSchema", {{"type", "object"}}}});
    }
    auto add = [&](std::string_view name, bool reads) {
      list.push_back({{"name", name},
                      {"inputSchema", {{"type", "object"}}},
                      {"annotations", {{"readOnlyHint", reads}}}});
    };
    for (const char* name :
         {"echo", "misbehave", "hold", "release", "events", "ask", "life", "flood", "mirror"})
      add(name, false);
    for (const char* name : {"read", "hold_read"}) add(name, true);
    for (const std::string& name : options.tools) add(name, false);
    return list;
  }

  void call(const Request& request, const std::string& session, const json::value& id,
            const json::object& params) {
    const std::string name = json::value_to<std::string>(params.at("name"));
    const json::value* given = params.if_contains("arguments");
    const json::object arguments = given == nullptr ? json::object() : given->as_object();
    auto text = [&](const char* key, const std::string& fallback = {}) {
      const json::value* value = arguments.if_contains(key);
      return value == nullptr ? fallback : json::value_to<std::string>(*value);
    };
    const bool holds = name == "hold" || name == "hold_read";
    if (!holds) journal(name, json::serialize(arguments));
    if (holds) {
      std::unique_lock lock(mutex);
      ++waiting;
      const int seen = released;
      journal(name, json::serialize(arguments));  // a test that reads it may rely on our waiting
      changed.notify_all();
      const bool streams_it = arguments.contains("stream");
      if (streams_it) {
        begin_events();
        const json::value given_meta = params.contains("_meta") ? params.at("_meta") : json::value();
        if (const json::value* token = fake::member(&given_meta, "progressToken"))
          write(chunk(event({{"jsonrpc", "2.0"},
                             {"method", "notifications/progress"},
                             {"params", {{"progressToken", *token}, {"progress", 1}}}})));
      }
      await(lock, [&] { return released > seen; }, name);
      --waiting;
      const bool done = released > seen;
      lock.unlock();
      if (!done) throw std::runtime_error("closed by the client");
      if (streams_it) return write(chunk(event(text_result(id, "released"))) + "0\r\n\r\n");
      return answer(request, text_result(id, "released"));
    }
    if (name == "change") {  // of the list of tools, for those who listen
      const std::scoped_lock lock(mutex);
      const std::size_t told = announce("notifications/tools/list_changed", "toolsListChanged");
      return reply(200, "application/json", json::serialize(text_result(id, std::to_string(told))));
    }
    if (name == "ask" && modern_) {
      const json::value* responses = params.if_contains("inputResponses");
      if (responses != nullptr) return answer(request, text_result(id, json::serialize(*responses)));
      return answer(request, result(id, {{"resultType", "input_required"},
                                         {"inputRequests", {{"q", {{"method", "roots/list"}}}}},
                                         {"requestState", "a state"}}));
    }
    if (name == "release") {
      const std::scoped_lock lock(mutex);
      ++released;
      changed.notify_all();
      return reply(200, "application/json", json::serialize(text_result(id, std::to_string(waiting))));
    }
    if (name == "events") {  // its answer is a stream of events
      begin_events();
      const json::object note{
          {"jsonrpc", "2.0"}, {"method", "notifications/message"}, {"params", {{"data", "first"}}}};
      return write(chunk(": hello\n\n") + chunk(event(note)) + chunk(event(text_result(id, text("text")))) +
                   "0\r\n\r\n");
    }
    if (name == "flood") {  // of notifications, before the answer
      const json::object note{{"jsonrpc", "2.0"},
                              {"method", "notifications/message"},
                              {"params", {{"data", std::string(100'000, 'f')}}}};
      begin_events();
      for (auto left = arguments.at("count").as_int64(); left > 0; --left) write(chunk(event(note)));
      return write(chunk(event(text_result(id, "flooded"))) + "0\r\n\r\n");
    }
    if (name == "ask") {
      std::unique_lock lock(mutex);
      const std::size_t before = answers.size();
      tell(session, {{"jsonrpc", "2.0"}, {"id", "q"}, {"method", "roots/list"}});
      changed.wait(lock, [&] { return answers.size() > before; });
      const std::string said = json::serialize(answers.back());
      lock.unlock();
      return answer(request, text_result(id, said));
    }
    if (name == "mirror" && modern_)
      return answer(request, result(id, {{"content", json::array()}, {"structuredContent", arguments}}));
    if (name == "mirror") {  // the bytes of the arguments, which stand last
      constexpr std::string_view key = "\"arguments\":";
      const auto begin = request.body.find(key) + key.size();
      return reply(200, "application/json",
                   R"({"jsonrpc":"2.0","id":)" + json::serialize(id) +
                       R"(,"result":{"content":[{"type":"text","text":"mirrored"}],"structuredContent":)" +
                       request.body.substr(begin, request.body.size() - begin - 2) + "}}");
    }
    if (name == "life") return answer(request, text_result(id, options.life));
    if (name == "misbehave") return misbehave(request, id, text("how"), arguments);
    answer(request, text_result(id, text("text", "done")));
  }

  void misbehave(const Request& request, const json::value& id, const std::string& how,
                 const json::object& arguments) {
    const json::object good = text_result(id, "too good");
    const std::string type = "application/json";
    if (how == "html") return reply(200, "text/html; charset=utf-8", "<html>hello</html>");
    if (how == "not json") return reply(200, type, "this isn't JSON");
    if (how == "empty") return reply(200, type, "");
    if (how == "accepted") return reply(202, "", "");
    if (how == "other id")
      return reply(
          200, type,
          json::serialize(text_result(arguments.contains("id") ? arguments.at("id") : 987654, "whose?")));
    if (how == "status")
      return reply(static_cast<int>(arguments.at("code").as_int64()), "text/plain", "because I was told to");
    if (how == "rpc error") return reply(400, type, json::serialize(error(nullptr, -32099, "a reason")));
    if (how == "pretty")
      return reply(200, type,
                   "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": " + json::serialize(id) +
                       ",\n  \"result\": " + json::serialize(good.at("result")) + "\n}\n");
    if (how == "split") {  // data in several lines, cut within a character
      const std::string line = json::serialize(text_result(id, "gr\xC3\xBC\xC3\x9F"));
      const std::string data = "data: {\ndata: " + line.substr(1) + "\n\n";
      const auto middle = data.find('\xC3') + 1;
      begin_events();
      return write(chunk(data.substr(0, middle)) + chunk(data.substr(middle)) + "0\r\n\r\n");
    }
    if (how == "cut") {  // the stream ends within a character
      begin_events();
      const std::string data = "data: " + json::serialize(text_result(id, "gr\xC3\xBC\xC3\x9F"));
      write(chunk(data.substr(0, data.find('\xC3') + 1)));
      throw std::runtime_error("cut");
    }
    if (how == "close") throw std::runtime_error("closed");
    if (how == "reset") {
      socket_->set_option(asio::socket_base::linger(true, 0));
      throw std::runtime_error("reset");
    }
    if (how == "big event") {
      const auto size = static_cast<std::size_t>(arguments.at("bytes").as_int64());
      begin_events();
      const std::string data = event(text_result(id, "x"));
      const auto at = data.find("\"x\"") + 1;
      write(chunk(data.substr(0, at)));
      const std::string block(1024 * 1024, 'x');
      for (std::size_t sent = 0; sent < size; sent += block.size()) write(chunk(block));
      return write(chunk(data.substr(at)) + "0\r\n\r\n");
    }
    if (how == "endless") {
      write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
      while (true) write(chunk(std::string(64 * 1024, '[')));
    }
    if (how == "no http") {
      write("220 mail.example.com ESMTP\r\n\r\n");
      throw std::runtime_error("no http");
    }
    if (how == "long header") {
      write("HTTP/1.1 200 OK\r\nX-Long: " + std::string(1024 * 1024, 'x') + "\r\n\r\n");
      throw std::runtime_error("long header");
    }
    if (how == "loop") return reply(307, "", "", "Location: " + request.target + "\r\n");
    if (how == "elsewhere") return reply(307, "", "", "Location: http://127.0.0.1:1/mcp\r\n");
    if (how == "move" && request.target == "/mcp") return reply(307, "", "", "Location: /mcp?moved\r\n");
    if (how == "resume") {  // breaks off, and the answer is to be fetched later
      const std::string at = "e" + json::serialize(id);
      {
        const std::scoped_lock lock(mutex);
        late_answers[at] = text_result(id, "resumed");
        polls = arguments.contains("polls") ? arguments.at("polls").as_int64() : 0;
      }
      begin_events();
      const json::value* retry = arguments.if_contains("retry");
      if (retry != nullptr) write(chunk("retry: " + json::serialize(*retry) + "\n\n"));
      write(chunk("id: " + at + "\ndata: \n\n"));
      if (arguments.contains("cleanly")) return write("0\r\n\r\n");
      throw std::runtime_error("broken off");
    }
    if (how == "break stream") {  // the stream for its own notifications
      const std::scoped_lock lock(mutex);
      for (auto& [session, stream] : streams)
        if (stream) stream->shutdown(tcp::socket::shutdown_both);
      streams.clear();
      changed.notify_all();
      return answer(request, good);
    }
    if (how == "end listens" || how == "break listens") {
      const std::scoped_lock lock(mutex);
      end_listens(how == "end listens");
      return answer(request, good);
    }
    if (how == "forget") {
      const std::scoped_lock lock(mutex);
      sessions.clear();
      return reply(200, type, json::serialize(good));
    }
    if (how == "new tool") {
      const std::scoped_lock lock(mutex);
      options.tools.insert("brand_new");
      return reply(200, type, json::serialize(good));
    }
    if (how == "new header") {
      const std::scoped_lock lock(mutex);
      options.region = json::value_to<std::string>(arguments.at("name"));
      return reply(200, type, json::serialize(good));
    }
    if (how == "die") ::_exit(1);
    answer(request, good);
  }

  std::shared_ptr<tcp::socket> socket_;
  std::string input_;
  bool modern_ = false;  // what is being served
};

void parse(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    auto value = [&] { return arguments.at(++i); };
    if (name == "--port")
      options.port = static_cast<unsigned short>(std::stoi(value()));
    else if (name == "--journal")
      options.journal = value();
    else if (name == "--life")
      options.life = value();
    else if (name == "--tool")
      options.tools.insert(value());
    else if (name == "--header")
      options.header = value();
    else if (name == "--redirect")
      options.redirect = value();
    else if (name == "--status")
      options.status = std::stoi(value());
    else if (name == "--no-stream")
      options.no_stream = true;
    else if (name == "--no-session")
      options.no_session = true;
    else if (name == "--old")
      options.old = true;
    else if (name == "--forgetful")
      options.forgetful = true;
    else if (name == "--reject")
      options.reject = value();
    else if (name == "--era")
      options.era = value();
    else if (name == "--bad-request")
      options.bad_request = true;
    else if (name == "--tunnel")
      options.tunnel = static_cast<unsigned short>(std::stoi(value()));
    else
      throw std::invalid_argument("fake_daemon: no option " + name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  parse({argv + 1, argv + argc});
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), options.port});
  std::cout << "listening on " << acceptor.local_endpoint().port() << std::endl;
  while (true) {
    std::thread([socket = acceptor.accept()]() mutable {
      try {
        Connection(std::move(socket)).serve();
        // NOLINTNEXTLINE(bugprone-empty-catch): the connection is over
      } catch (const std::exception&) {
      }
    }).detach();
  }
}
