// For tests of `mcpivot serve`: a run of it in front of the fake server, one HTTP connection that reads its
// input byte by byte, and a client that speaks MCP over such connections. Nothing here corrects what it
// receives: anything unexpected is thrown.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "eras.h"
#include "harness.h"
#include "lives.h"

namespace harness {

// Where a server listens.
struct Address {
  std::uint16_t port = 0;
  std::string path{};  // of a Unix socket, instead of the port
};

// Each of them ends in "\r\n".
using Headers = std::string;

// The header with a token.
Headers bearer(const std::string& token);
// Atomically replaces a file by a private one with this text.
std::string private_file(const std::filesystem::path& path, const std::string& text);

struct Reply {
  int status = 0;
  std::string head;
  std::string body;

  std::string header(std::string_view name) const;  // empty: there is none
  bool is_stream() const { return header("Content-Type").starts_with("text/event-stream"); }
};

struct Event {
  std::string id;
  std::string data;
};

// One connection.
class Connection {
 public:
  explicit Connection(const Address& to);
  ~Connection() { close(); }
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;

  void send(std::string_view bytes);
  // The status line and the headers.
  Reply read_head(Deadline deadline = soon());
  // All of the body, which must have an end.
  Reply read(Deadline deadline = soon());
  // The next event of a stream whose head was read; nothing at the stream's end. Comments are skipped.
  std::optional<Event> read_event(Deadline deadline = soon());
  // The next message in a stream, skipping events without data; nothing at the stream's end.
  std::optional<boost::json::object> read_message(Deadline deadline = soon());
  // The id of the last event so far.
  const std::string& last_id() const { return last_id_; }
  // Until there are more bytes.
  void wait(Deadline deadline) { receive(deadline); }
  void close();
  // Every byte as it arrived.
  const std::string& heard() const { return heard_; }

 private:
  void receive(Deadline deadline);  // some bytes; throws when there are none
  std::string take_until(std::string_view end, Deadline deadline);
  std::string take(std::size_t count, Deadline deadline);
  bool take_chunk(Deadline deadline);

  int fd_ = -1;
  std::string heard_;
  std::size_t taken_ = 0;  // how much of it has been read
  std::string events_;     // of a stream, without its chunks
  std::string last_id_;
};

// A run of `mcpivot serve OPTIONS -- fake_server ARGUMENTS`, in a folder of its own.
class Serve {
 public:
  explicit Serve(Strings options = {}, Strings server = {}, Strings listen = {"127.0.0.1:0"},
                 Environment environment = {});

  // Another run in the same folder, after this one has ended.
  void start();
  Child& child() { return *child_; }
  const Address& address() const { return address_; }
  const std::filesystem::path& directory() const { return directory_.path(); }
  Reply ask(std::string_view method, std::string_view target, const Headers& headers = {},
            std::string_view body = {}) const;
  // With a JSON body, as a client sends it.
  Reply post(std::string_view body, const Headers& headers = {}, std::string_view target = "/mcp") const;
  // The processes of its servers.
  std::vector<pid_t> servers() const;
  // How many lines of the log end with these words.
  std::size_t logged(std::string_view words) const;

 private:
  TemporaryDirectory directory_;
  Strings command_;
  Environment environment_;
  bool on_socket_;
  std::optional<Child> child_;
  Address address_;
};

std::string request_text(std::string_view method, std::string_view target, const Headers& headers,
                         std::string_view body);

// A client. Each of its requests has its own connection.
class WebClient {
 public:
  explicit WebClient(const Serve& serve, Era era = Era::legacy, Headers headers = {});

  // The handshake of a legacy one.
  void initialize(std::string_view version = "2025-11-25");
  // Sends this request; the answer arrives on the connection.
  Connection send(std::string_view method, const boost::json::value& params = nullptr);
  Connection send_call(std::string_view tool, const boost::json::object& arguments = {},
                       std::string_view progress_token = {});
  boost::json::object request(std::string_view method, const boost::json::value& params = nullptr);
  boost::json::object call(std::string_view tool, const boost::json::object& arguments = {});
  Reply notify(std::string_view method, const boost::json::value& params = nullptr);
  // To a server's question.
  Reply answer(const boost::json::object& question, const boost::json::value& result);
  // The session's own stream, or the one with this event; its head has been read.
  Connection listen(const std::string& last_event = {});
  Reply end();

  // The answer on this connection; what arrived there earlier is kept.
  boost::json::object await(Connection& connection, Deadline deadline = soon());

  Headers headers() const;               // of each of its requests
  std::string target = "/mcp";           // the path of its endpoint
  std::string session;                   // its id
  std::string heard;                     // every byte of all answers so far
  std::deque<boost::json::object> told;  // what arrived before answers
  std::int64_t next_id = 1;

 private:
  Reply post(std::string_view body);

  const Serve& serve_;
  Era era_;
  Headers more_;
  std::string version_;
};

}  // namespace harness
