#include "serves.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <fstream>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace harness {

namespace json = boost::json;

// --- connections -------------------------------------------------------------------------------------------

std::string Reply::header(std::string_view name) const {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at + 2)) {
    const std::size_t begin = at + 2;
    if (head.size() <= begin + name.size() || head[begin + name.size()] != ':' ||
        strncasecmp(head.data() + begin, name.data(), name.size()) != 0)
      continue;
    const std::size_t value = begin + name.size() + 2;
    return head.substr(value, head.find("\r\n", value) - value);
  }
  return {};
}

Connection::Connection(const Address& to) {
  sockaddr_in tcp{};
  tcp.sin_family = AF_INET;
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tcp.sin_port = htons(to.port);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  to.path.copy(local.sun_path, sizeof(local.sun_path) - 1);
  const bool is_local = !to.path.empty();
  fd_ = ::socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* const where =
      is_local ? reinterpret_cast<sockaddr*>(&local) : reinterpret_cast<sockaddr*>(&tcp);
  if (fd_ < 0 || ::connect(fd_, where, is_local ? sizeof(local) : sizeof(tcp)) != 0)
    throw std::runtime_error("can't connect to mcpivot: " + std::string(std::strerror(errno)));
}

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      heard_(std::move(other.heard_)),
      taken_(other.taken_),
      events_(std::move(other.events_)),
      last_id_(std::move(other.last_id_)) {}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) throw std::runtime_error("mcpivot doesn't take the request");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Connection::receive(Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd wait{.fd = fd_, .events = POLLIN, .revents = 0};
  const std::string so_far =
      "; so far it said:\n" + heard_.substr(heard_.size() - std::min<std::size_t>(heard_.size(), 2000));
  if (::poll(&wait, 1, static_cast<int>(std::max(left, milliseconds(0)).count())) != 1)
    throw std::runtime_error("mcpivot says no more" + so_far);
  char room[64 * 1024];
  const ssize_t count = ::recv(fd_, room, sizeof(room), 0);
  if (count <= 0) throw std::runtime_error("mcpivot closed the connection" + so_far);
  heard_.append(room, static_cast<std::size_t>(count));
}

std::string Connection::take_until(std::string_view end, Deadline deadline) {
  while (heard_.find(end, taken_) == std::string::npos) receive(deadline);
  return take(heard_.find(end, taken_) + end.size() - taken_, deadline);
}

std::string Connection::take(std::size_t count, Deadline deadline) {
  while (heard_.size() - taken_ < count) receive(deadline);
  std::string text = heard_.substr(taken_, count);
  taken_ += count;
  return text;
}

Reply Connection::read_head(Deadline deadline) {
  Reply reply;
  reply.head = take_until("\r\n\r\n", deadline);
  if (!reply.head.starts_with("HTTP/1.1 ")) throw std::runtime_error("not HTTP: " + reply.head);
  reply.status = std::stoi(reply.head.substr(9));
  return reply;
}

Reply Connection::read(Deadline deadline) {
  Reply reply = read_head(deadline);
  if (reply.header("Transfer-Encoding") == "chunked") {
    while (take_chunk(deadline)) {
    }
    reply.body = std::exchange(events_, {});
  } else if (const std::string length = reply.header("Content-Length"); !length.empty()) {
    reply.body = take(std::stoul(length), deadline);
  }
  return reply;
}

bool Connection::take_chunk(Deadline deadline) {
  const std::size_t size = std::stoul(take_until("\r\n", deadline), nullptr, 16);
  events_ += take(size, deadline);
  if (take(2, deadline) != "\r\n") throw std::runtime_error("a chunk has no end");
  return size > 0;
}

std::optional<Event> Connection::read_event(Deadline deadline) {
  for (;;) {
    while (events_.find("\n\n") == std::string::npos)
      if (!take_chunk(deadline)) return std::nullopt;
    const std::size_t end = events_.find("\n\n");
    const Strings lines = lines_in(events_.substr(0, end));
    events_.erase(0, end + 2);
    Event event;
    bool has_data = false;
    for (const std::string& line : lines) {
      if (line.starts_with("id: ")) last_id_ = event.id = line.substr(4);
      if (!line.starts_with("data:")) continue;
      if (std::exchange(has_data, true)) event.data += '\n';
      event.data += line.substr(std::min<std::size_t>(line.size(), 6));
    }
    if (has_data) return event;
  }
}

std::optional<json::object> Connection::read_message(Deadline deadline) {
  for (;;) {
    const auto event = read_event(deadline);
    if (!event) return std::nullopt;
    if (!event->data.empty()) return json::parse(event->data).as_object();
  }
}

// --- mcpivot -----------------------------------------------------------------------------------------------

std::string request_text(std::string_view method, std::string_view target, const Headers& headers,
                         std::string_view body) {
  std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n" + headers;
  if (headers.find("Host: ") == std::string::npos) text += "Host: localhost\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

Headers bearer(const std::string& token) {
  return "Authorization: Bearer " + token + "\r\n";
}

std::string private_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path fresh = path.string() + ".new";
  std::ofstream(fresh) << text;
  std::filesystem::permissions(fresh,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(fresh, path);
  return path;
}

Serve::Serve(Strings options, Strings server, Strings listen, Environment environment)
    : command_{mcpivot_binary(), "serve"},
      environment_(std::move(environment)),
      on_socket_(listen.front().starts_with("unix:")) {
  std::filesystem::copy_file(fake_server_binary(), directory() / "fake_server");
  for (const std::string& address : listen) command_.insert(command_.end(), {"--listen", address});
  command_.insert(command_.end(), options.begin(), options.end());
  if (std::ranges::find(options, "--config") == options.end()) {
    command_.insert(command_.end(), {"--", directory() / "fake_server"});
    command_.insert(command_.end(), server.begin(), server.end());
  }
  start();
}

void Serve::start() {
  child_.reset();
  Environment environment = private_folders(directory());
  environment.emplace_back("FAKE", directory() / "fake_server");
  environment.insert(environment.end(), environment_.begin(), environment_.end());
  child_.emplace(command_, environment, directory());
  if (on_socket_) {
    address_.path = command_[3].substr(5);
    if (!address_.path.starts_with('/')) address_.path = directory() / address_.path;
    if (!child_->wait_stderr("listening on unix:", soon()))
      throw std::runtime_error("it doesn't listen: " + child_->stderr_text());
    return;
  }
  if (!child_->wait_stderr("/mcp\n", in(std::chrono::seconds(20))))
    throw std::runtime_error("it doesn't listen: " + child_->stderr_text());
  const std::string& said = child_->stderr_text();
  const std::size_t colon = said.find("listening on http");
  const std::size_t slash = said.find("/mcp\n", colon);
  const auto port = static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':', slash) + 1)));
  if (address_.port != port) address_.port = port;  // clients in other threads may read it
}

Reply Serve::ask(std::string_view method, std::string_view target, const Headers& headers,
                 std::string_view body) const {
  Connection connection(address_);
  connection.send(request_text(method, target, headers, body));
  return connection.read();
}

constexpr const char* json_headers =
    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

Reply Serve::post(std::string_view body, const Headers& headers, std::string_view target) const {
  return ask("POST", target, json_headers + headers, body);
}

std::vector<pid_t> Serve::servers() const {
  std::vector<pid_t> found;
  for (const pid_t pid : descendants_of(child_->pid()))
    if (runs_program(pid, directory() / "fake_server")) found.push_back(pid);
  return found;
}

std::size_t Serve::logged(std::string_view words) const {
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(directory() / "state" / "mcpivot"))
    if (file.path().extension() == ".log") all += content_of(file.path());
  const Strings lines = lines_in(all);
  return static_cast<std::size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.ends_with(words); }));
}

// --- a client ----------------------------------------------------------------------------------------------

WebClient::WebClient(const Serve& serve, Era era, Headers headers)
    : serve_(serve), era_(era), more_(std::move(headers)) {}

Headers WebClient::headers() const {
  Headers all = more_;
  if (!session.empty()) all += "Mcp-Session-Id: " + session + "\r\n";
  if (!version_.empty()) all += "MCP-Protocol-Version: " + version_ + "\r\n";
  return all;
}

void WebClient::initialize(std::string_view version) {
  const json::object hello = {
      {"protocolVersion", version},
      {"capabilities",
       {{"roots", json::object()}, {"sampling", json::object()}, {"elicitation", json::object()}}},
      {"clientInfo", {{"name", "test"}, {"version", "1"}}}};
  Connection connection = send("initialize", hello);
  const Reply reply = connection.read(in(std::chrono::seconds(20)));
  heard += connection.heard();
  if (reply.status != 200) throw std::runtime_error("no handshake: " + reply.head + reply.body);
  session = reply.header("Mcp-Session-Id");
  version_ = version;
  notify("notifications/initialized");
}

Connection WebClient::send(std::string_view method, const json::value& params) {
  json::object message = {{"jsonrpc", "2.0"}, {"id", next_id++}, {"method", method}};
  Headers all = json_headers + headers();
  if (!params.is_null()) message["params"] = params;
  if (era_ == Era::modern) {
    json::object with = params.is_null() ? json::object() : params.as_object();
    json::object meta = modern_meta();
    if (const json::value* own = with.if_contains("_meta"))
      for (const auto& [key, value] : own->as_object()) meta[key] = value;
    with["_meta"] = meta;
    all += "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + std::string(method) + "\r\n";
    if (const json::value* name = with.if_contains("name"))
      all += "Mcp-Name: " + std::string(name->as_string()) + "\r\n";
    message["params"] = with;
  }
  Connection connection(serve_.address());
  connection.send(request_text("POST", target, all, json::serialize(message)));
  return connection;
}

Connection WebClient::send_call(std::string_view tool, const json::object& arguments,
                                std::string_view progress_token) {
  json::object params = {{"name", tool}, {"arguments", arguments}};
  if (!progress_token.empty()) params["_meta"] = {{"progressToken", progress_token}};
  return send("tools/call", params);
}

json::object WebClient::await(Connection& connection, Deadline deadline) {
  struct Kept {  // whatever happens
    WebClient& client;
    Connection& connection;
    ~Kept() { client.heard += connection.heard(); }
  };
  const Kept kept{*this, connection};
  const Reply head = connection.read_head(deadline);
  if (!head.is_stream()) throw std::runtime_error("not a stream: " + connection.heard());
  while (auto message = connection.read_message(deadline)) {
    if (!message->contains("method")) return *message;
    told.push_back(*message);
  }
  throw std::runtime_error("the stream ended without an answer");
}

json::object WebClient::request(std::string_view method, const json::value& params) {
  Connection connection = send(method, params);
  const Reply reply = connection.read(in(std::chrono::seconds(20)));
  heard += connection.heard();
  if (!reply.is_stream()) return json::parse(reply.body).as_object();
  for (const std::string& line : lines_in(reply.body)) {
    if (!line.starts_with("data: {")) continue;
    json::object message = json::parse(line.substr(6)).as_object();
    if (!message.contains("method")) return message;
    told.push_back(std::move(message));
  }
  throw std::runtime_error("the stream had no answer: " + reply.body);
}

json::object WebClient::call(std::string_view tool, const json::object& arguments) {
  return request("tools/call", {{"name", tool}, {"arguments", arguments}});
}

Reply WebClient::post(std::string_view body) {
  Reply reply = serve_.post(body, headers(), target);
  heard += reply.head + reply.body;
  return reply;
}

Reply WebClient::notify(std::string_view method, const json::value& params) {
  json::object message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return post(json::serialize(message));
}

Reply WebClient::answer(const json::object& question, const json::value& result) {
  return post(
      json::serialize(json::object{{"jsonrpc", "2.0"}, {"id", question.at("id")}, {"result", result}}));
}

Connection WebClient::listen(const std::string& last_event) {
  Headers all = headers() + "Accept: text/event-stream\r\n";
  if (!last_event.empty()) all += "Last-Event-ID: " + last_event + "\r\n";
  Connection connection(serve_.address());
  connection.send(request_text("GET", target, all, {}));
  const Reply head = connection.read_head();
  if (head.status != 200 || !head.is_stream()) throw std::runtime_error("no stream: " + head.head);
  return connection;
}

Reply WebClient::end() {
  return serve_.ask("DELETE", target, headers());
}

}  // namespace harness
