// The MCP server behind every subject of the benchmark: as small and as fast as it can be, so that what the
// benchmark measures is the proxy. Its one tool, `echo`, returns {"text": …} or makes {"size": N} bytes of
// text; {"hang": true} is never answered, {"version": true} with the size of the server's own file, which a
// new build changes. ECHO_TOOLS in the environment makes it list more tools, ECHO_START_MS makes it start
// slowly. All messages of one read() are answered with one write().
//
// usage: echo_server [--start-ms N] [--stubborn] [--modern] [--changing]; stubborn, it has a helper and both
// outlive the end of stdin; modern, it speaks protocol version 2026-07-28 and nothing else; changing, each
// build of it lists other tools
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json_scan.h"
#include "sample_text.h"

namespace {

constexpr size_t read_size = 65'536;
constexpr size_t largest_text = 64'000'000;
const auto own_size = std::filesystem::file_size("/proc/self/exe");

// What goes out: small answers are gathered, a large one is written from where it lies, together with them.
class Output {
 public:
  void append(std::string_view text) { pending_ += text; }
  // An answer begins here; take_back() forgets what was appended since.
  void begin() { begun_ = pending_.size(); }
  void take_back() { pending_.resize(begun_); }

  void append_long(std::string_view text) {
    std::array<iovec, 2> parts = {iovec{pending_.data(), pending_.size()},
                                  iovec{const_cast<char*>(text.data()), text.size()}};
    write_all(parts);
    pending_.clear();
  }

  void flush() {
    std::array<iovec, 1> parts = {iovec{pending_.data(), pending_.size()}};
    write_all(parts);
    pending_.clear();
  }

 private:
  static void write_all(std::span<iovec> parts) {
    while (!parts.empty()) {
      if (parts.front().iov_len == 0) {
        parts = parts.subspan(1);
        continue;
      }
      const ssize_t written = writev(STDOUT_FILENO, parts.data(), static_cast<int>(parts.size()));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) std::exit(1);  // the client is gone
      advance(parts, static_cast<size_t>(written));
    }
  }

  static void advance(std::span<iovec> parts, size_t written) {
    for (iovec& part : parts) {
      const size_t step = std::min(written, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + step;
      part.iov_len -= step;
      written -= step;
    }
  }

  std::string pending_;
  size_t begun_ = 0;
};

struct Request {
  std::string_view id;      // empty: a notification
  std::string_view method;  // with its quotes; empty: an answer, which doesn't concern us
  std::string_view params;
};

std::optional<Request> read_request(std::string_view line) {
  Request request;
  Members members(line);
  while (members.next()) {
    if (members.key() == "id") request.id = members.value();
    if (members.key() == "method") request.method = members.value();
    if (members.key() == "params") request.params = members.value();
  }
  if (!members.complete()) return std::nullopt;
  return request;
}

std::string_view member(std::string_view object, std::string_view key) {
  Members members(object);
  while (members.next())
    if (members.key() == key) return members.value();
  return {};
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

constexpr std::string_view text_opening = R"(,"result":{"content":[{"type":"text","text":)";
constexpr std::string_view text_closing = "}]}}\n";

// The one tool, and as many others as the benchmark wants to see listed; those cannot be called.
std::string list_tools(bool changing) {
  std::string list =
      R"({"tools":[{"name":"echo","description":"Returns the text, or size bytes of some text",)"
      R"("inputSchema":{"type":"object","properties":{"text":{"type":"string"},)"
      R"("size":{"type":"integer","minimum":0}}}})";
  if (changing)
    list += R"(,{"name":"build_)" + std::to_string(own_size) + R"(","inputSchema":{"type":"object"}})";
  const char* count = std::getenv("ECHO_TOOLS");
  const unsigned long tools = count == nullptr ? 1 : std::strtoul(count, nullptr, 10);
  for (unsigned long i = 1; i < tools; ++i)
    list +=
        R"(,{"name":"listed_)" + std::to_string(i) +
        R"(","description":"Finds the records that fit a query, newest first, and returns a page of them.",)"
        R"("inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"What to )"
        R"(look for"},"limit":{"type":"integer","minimum":1,"maximum":100},"page":{"type":"string"}},)"
        R"("required":["query"]},"annotations":{"readOnlyHint":true}})";
  return list + "]}";
}

class EchoServer {
 public:
  void answer(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const auto request = read_request(line);
    if (!request) {
      output_.append(R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}})"
                     "\n");
      return;
    }
    if (!request->id.empty() && !request->method.empty()) answer(*request);
  }

  void flush() { output_.flush(); }

  void speak_modern() { modern_ = true; }
  void change_tools() { changing_ = true; }

 private:
  static constexpr std::string_view discovered =
      R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"})";

  void answer(const Request& request) {
    output_.begin();
    output_.append(R"({"jsonrpc":"2.0","id":)");
    output_.append(request.id);
    if (request.method == R"("tools/call")")
      call(request.params);
    else if (request.method == R"("initialize")" && !modern_)
      initialize(request.params);
    else if (request.method == R"("server/discover")" && modern_)
      result(discovered);
    else if (const std::string_view fixed = fixed_result(request.method); !fixed.empty())
      result(fixed);
    else
      error(-32601, "Method not found");
  }

  std::string_view fixed_result(std::string_view method) const {
    if (method == R"("ping")") return "{}";
    if (method == R"("tools/list")") {
      static const std::string tools = list_tools(changing_);
      return tools;
    }
    if (method == R"("prompts/list")") return R"({"prompts":[]})";
    if (method == R"("resources/list")") return R"({"resources":[]})";
    if (method == R"("resources/templates/list")") return R"({"resourceTemplates":[]})";
    return {};
  }

  void initialize(std::string_view params) {
    const std::string_view version = member(params, "protocolVersion");
    output_.append(R"(,"result":{"protocolVersion":)");
    output_.append(version.starts_with('"') ? version : R"("2025-06-18")");
    output_.append(R"(,"capabilities":{"tools":{}},"serverInfo":{"name":"echo_server","version":"1.0.0"}}})"
                   "\n");
  }

  void call(std::string_view params) {
    std::string_view name;
    std::string_view arguments;
    Members members(params);
    while (members.next()) {
      if (members.key() == "name") name = members.value();
      if (members.key() == "arguments") arguments = members.value();
    }
    if (name != R"("echo")") return error(-32602, "Unknown tool");
    echo(arguments);
  }

  void echo(std::string_view arguments) {
    Members members(arguments);
    while (members.next()) {
      if (members.key() == "text" && members.value().starts_with('"')) return echo_text(members.value());
      if (members.key() == "size") return echo_size(members.value());
      if (members.key() == "hang") return output_.take_back();
      if (members.key() == "version") return echo_text("\"" + std::to_string(own_size) + "\"");
    }
    error(-32602, "echo needs a text or a size");
  }

  void echo_text(std::string_view quoted) {
    output_.append(text_opening);
    output_.append(quoted);
    output_.append(text_closing);
  }

  void echo_size(std::string_view digits) {
    size_t size = 0;
    const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (problem != std::errc{} || stop != digits.data() + digits.size() || size > largest_text)
      return error(-32602, "size must be an integer from 0 to 64000000");
    output_.append_long(text_of(size));
  }

  // The answer behind the id, made once for each size.
  const std::string& text_of(size_t size) {
    std::string& text = texts_[size];
    if (text.empty()) {
      text += text_opening;
      text += '"';
      text += escaped(sample_text(size));
      text += '"';
      text += text_closing;
    }
    return text;
  }

  void result(std::string_view object) {
    output_.append(R"(,"result":)");
    output_.append(object);
    output_.append("}\n");
  }

  void error(int code, std::string_view message) {
    output_.append(R"(,"error":{"code":)");
    output_.append(std::to_string(code));
    output_.append(R"(,"message":")");
    output_.append(message);
    output_.append("\"}}\n");
  }

  Output output_;
  std::map<size_t, std::string> texts_;
  bool modern_ = false;
  bool changing_ = false;
};

// Answers every complete line and returns how many bytes they were. Before `fresh` there is no line's end.
size_t answer_lines(EchoServer& server, std::string_view input, size_t fresh) {
  size_t done = 0;
  for (size_t newline = input.find('\n', fresh); newline != std::string_view::npos;
       newline = input.find('\n', done)) {
    server.answer(input.substr(done, newline - done));
    done = newline + 1;
  }
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  // For a server that is slow to start.
  const char* delay = std::getenv("ECHO_START_MS");
  if (const auto at = std::ranges::find(arguments, "--start-ms"); arguments.end() - at > 1)
    delay = at[1].data();
  if (delay != nullptr) usleep(static_cast<useconds_t>(std::strtoul(delay, nullptr, 10) * 1000));
  const bool stubborn = std::ranges::find(arguments, "--stubborn") != arguments.end();
  if (stubborn && fork() == 0)
    for (;;) pause();
  EchoServer server;
  if (std::ranges::find(arguments, "--modern") != arguments.end()) server.speak_modern();
  if (std::ranges::find(arguments, "--changing") != arguments.end()) server.change_tools();
  std::vector<char> buffer(read_size);
  size_t used = 0;
  for (;;) {
    if (used == buffer.size()) buffer.resize(2 * buffer.size());
    const ssize_t got = read(STDIN_FILENO, buffer.data() + used, buffer.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 && !stubborn) return 0;
    while (got <= 0) pause();  // NOLINT(bugprone-infinite-loop): until it is killed
    const size_t fresh = used;
    used += static_cast<size_t>(got);
    const size_t done = answer_lines(server, {buffer.data(), used}, fresh);
    server.flush();
    used -= done;
    std::memmove(buffer.data(), buffer.data() + done, used);
  }
}
