// For tests in which servers come and go: what an answer says beside a notice, what mcpivot says of its
// server, and a gate that holds a build or a start until the test lets it pass.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness.h"

namespace harness {

inline std::string content_of(const std::filesystem::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
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

// What the server itself said: the last block of the answer, behind any notice.
inline std::string own_text(const boost::json::object& answer) {
  const boost::json::value* result = answer.if_contains("result");
  if (result == nullptr) return "error: " + boost::json::serialize(answer);
  return std::string(result->at("content").as_array().back().at("text").as_string());
}

inline std::size_t blocks(const boost::json::object& answer) {
  return answer.at("result").at("content").as_array().size();
}

inline std::string own(Client& client, std::string_view tool, const boost::json::object& arguments = {}) {
  return own_text(client.call(tool, arguments));
}

inline std::vector<std::string> names_in(const boost::json::object& answer, std::string_view list,
                                         std::string_view key = "name") {
  std::vector<std::string> names;
  for (const auto& item : answer.at("result").at(list).as_array())
    names.emplace_back(item.at(key).as_string());
  return names;
}

inline std::vector<std::string> tools_of(Client& client) {
  return names_in(client.request("tools/list"), "tools");
}

// The "key: value" lines of pivot_status; an absent one is empty.
inline std::string status_of(Client& client, const std::string& key) {
  std::istringstream lines(client.call_text("pivot_status"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + ": ")) return line.substr(key.size() + 2);
  return {};
}

inline pid_t server_pid(Client& client) {
  const std::string pid = status_of(client, "pid");
  return pid.empty() ? 0 : std::stoi(pid);
}

inline bool wait_status(Client& client, const std::string& key, const std::string& value) {
  return wait_until([&] { return status_of(client, key) == value; }, soon());
}

// The server has read all that was sent to it so far.
inline void settle(Client& client) {
  client.call("echo");
}

// A call that is in flight until the test answers the question that the server put for it.
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

  // Somebody stands at the gate, and is held there from now on.
  bool wait_for_visitor() {
    return wait_until([&] { return (fd_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; },
                      soon());
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
