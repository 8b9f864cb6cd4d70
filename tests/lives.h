// For tests in which servers start and end: what an answer contains besides a notice, what mcpivot says about
// its server, and a gate that holds up a build or a start until the test lets it pass.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness.h"

namespace harness {

constexpr int for_ever = 600'000;  // milliseconds, for a call that doesn't end by itself

// A client of a server whose later lives differ as described.
inline ClientOptions changing(Strings options, const Strings& later = {}) {
  Strings server = {"--lives", "lives"};
  if (!later.empty()) server.insert(server.end(), {"--life", "2+"});
  server.insert(server.end(), later.begin(), later.end());
  return {.options = std::move(options), .server = std::move(server), .own_program = true};
}

inline Strings lines_in(const std::string& text) {
  std::istringstream all(text);
  Strings lines;
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

inline Strings lines_of(const std::filesystem::path& path) {
  return lines_in(content_of(path));
}

inline bool wait_for_text(const std::filesystem::path& path, const std::string& text) {
  return wait_until([&] { return content_of(path).find(text) != std::string::npos; }, soon());
}

inline bool wait_gone(const std::vector<pid_t>& pids) {
  return wait_until([&] { return std::ranges::none_of(pids, process_alive); }, soon());
}

inline bool is_error(const boost::json::object& answer) {
  if (answer.contains("error")) return true;
  const boost::json::value* flag = answer.at("result").as_object().if_contains("isError");
  return flag != nullptr && flag->as_bool();
}

// What the server itself said: the last block of the answer, after any notice.
inline std::string own_text(const boost::json::object& answer) {
  const boost::json::value* result = answer.if_contains("result");
  if (result == nullptr) return "error: " + boost::json::serialize(answer);
  return std::string(result->at("content").as_array().back().at("text").as_string());
}

// Everything that the model reads: every block.
inline std::string all_text(const boost::json::object& answer) {
  std::string all;
  for (const auto& block : answer.at("result").at("content").as_array())
    all += (all.empty() ? "" : "\n\n") + std::string(block.at("text").as_string());
  return all;
}

inline std::size_t blocks(const boost::json::object& answer) {
  return answer.at("result").at("content").as_array().size();
}

inline std::string own(Client& client, std::string_view tool, const boost::json::object& arguments = {}) {
  return own_text(client.call(tool, arguments));
}

inline Strings names_in(const boost::json::object& answer, std::string_view list,
                        std::string_view key = "name") {
  Strings names;
  for (const auto& item : answer.at("result").at(list).as_array())
    names.emplace_back(item.at(key).as_string());
  return names;
}

inline Strings tools_of(Client& client) {
  return names_in(client.request("tools/list"), "tools");
}

// The "key: value" lines of pivot_status; an absent one is empty, or 0 if it is a number of something.
inline std::string status_of(Client& client, const std::string& key) {
  const Strings counts{"in flight",           "waiting",  "draining",      "starts",     "stops", "crashes",
                       "killed from outside", "sessions", "sessions lost", "reconnects", "tools"};
  for (const std::string& line : lines_in(client.call_text("pivot_status")))
    if (line.starts_with(key + ": ")) return line.substr(key.size() + 2);
  return std::ranges::find(counts, key) == counts.end() ? std::string() : "0";
}

inline pid_t server_pid(Client& client) {
  const std::string pid = status_of(client, "pid");
  return pid.empty() ? 0 : std::stoi(pid);
}

inline bool wait_status(Client& client, const std::string& key, const std::string& value) {
  return wait_until([&] { return status_of(client, key) == value; }, soon());
}

inline bool is_running(Client& client, pid_t pid) {
  return process_alive(pid) && server_pid(client) == pid;
}

// What the fake server knows about itself and its client.
inline boost::json::object state_of(Client& client) {
  return boost::json::parse(own(client, "state")).as_object();
}

// The server has read everything that was sent to it so far.
inline void settle(Client& client) {
  client.call("echo");
}

inline std::int64_t send_with_token(Client& client, std::string_view tool,
                                    const boost::json::object& arguments = {},
                                    std::string_view token = "mine") {
  return client.send("tools/call",
                     {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", token}}}});
}

// A call that is in flight until the test answers the question that the server asks for it.
struct OpenCall {
  std::int64_t id;
  boost::json::object question;
};

inline OpenCall open_call(Client& client) {
  const std::int64_t id = client.send_call("ask", {{"method", "roots/list"}});
  return {id, client.expect_request("roots/list")};
}

// A FIFO that a shell command waits at with `cat FILE`.
class Gate {
 public:
  explicit Gate(std::filesystem::path path) : path_(std::move(path)) {
    if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A process is waiting at the gate, and is held there from now on.
  bool wait_for_visitor() {
    const int held = fd_;  // the gate stays closed for a process that is already waiting
    const bool came = wait_until(
        [&] { return (fd_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; }, soon());
    if (held >= 0) close(held);
    return came;
  }
  void open() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace harness
