// What `./dev demo` shows: a scripted client that changes the server it is using. It edits a copy of
// notes_server.cpp, breaks it, fixes it and crashes it, all over one connection. Nothing is staged: the
// compiler and the processes are real, and the text is what a model would read.
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

bool has_colours() {
  const char* no = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0');
}
const bool colours = has_colours();

void print(const char* colour, const std::string& text) {
  std::cout << (colours ? colour : "") << text << (colours ? "\033[0m" : "") << std::endl;
}
void tell(const std::string& text) {
  print("\033[1m", "\n" + text);
}
std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<std::size_t>(size.ws_col, 40) : 154;
}
// How many bytes fit into this many columns, broken after a space if there is one.
std::size_t fitting(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  std::size_t blank = 0;
  for (std::size_t column = 0; end < line.size(); ++end) {
    if ((static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) continue;  // within a character
    if (++column > columns) return blank > 0 ? blank : end;
    if (line[end] == ' ' && column > columns / 2) blank = end + 1;
  }
  return end;
}
// Prints each line after a mark, wrapped at the terminal's width; very long lines are cut.
void show(const char* colour, const std::string& mark, const std::string& text) {
  constexpr std::size_t most_rows = 2;
  const std::size_t columns = terminal_width() - 7;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (std::size_t row = 0; row == 0 || !line.empty(); ++row) {
      const std::size_t end = fitting(line, columns);
      const std::string rest = line.substr(end);
      const bool cut = row + 1 == most_rows && !rest.empty();
      print(colour, "  " + mark + (row > 0 ? "  " : "") + line.substr(0, end) + (cut ? "…" : ""));
      if (cut) break;
      line = rest;
    }
  }
}

// mcpivot as a child process whose stdin and stdout we hold.
class Client {
 public:
  explicit Client(const std::vector<std::string>& command) {
    int in[2];
    int out[2];
    if (::pipe(in) != 0 || ::pipe(out) != 0) throw std::runtime_error("no pipes");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      for (const int end : {in[0], in[1], out[0], out[1]}) ::close(end);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(127);  // the log has the same
      std::vector<char*> arguments;
      for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }

  pid_t pid() const { return pid_; }

  void send(const json::object& message) {
    std::fprintf(to_, "%s\n", json::serialize(message).c_str());
    std::fflush(to_);
  }
  // The response to a request. Other messages that arrive first are shown.
  json::object ask(const std::string& method, const json::value& params = json::object()) {
    send({{"jsonrpc", "2.0"}, {"id", ++last_id_}, {"method", method}, {"params", params}});
    while (true) {
      json::object message = receive();
      if (const auto* id = message.if_contains("id"); id != nullptr && id->as_int64() == last_id_)
        return message;
      noticed(message);
    }
  }
  void wait_for(const std::string& notification) {
    while (noticed(receive()) != notification) {
    }
  }

  // Makes a tool call and returns the text that a model would read.
  std::string call(const std::string& tool, const json::object& arguments = {}) {
    print("\033[36m", "  the model calls " + tool + " " + json::serialize(arguments));
    const json::object answer = ask("tools/call", {{"name", tool}, {"arguments", arguments}});
    std::string all;
    if (const auto* error = answer.if_contains("error"))
      all = std::string(error->at("message").as_string());
    else
      for (const auto& block : answer.at("result").at("content").as_array())
        all += std::string(block.at("text").as_string()) + "\n";
    show("\033[32m", "│ ", all);
    return all;
  }
  std::string tools() {
    std::string names;
    const json::object answer = ask("tools/list");
    for (const auto& tool : answer.at("result").at("tools").as_array())
      names += (names.empty() ? "" : ", ") + std::string(tool.at("name").as_string());
    return names;
  }

  bool close() {
    std::fclose(to_);
    std::fclose(from_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status == 0;
  }

 private:
  json::object receive() {
    char* text = nullptr;
    std::size_t size = 0;
    if (::getline(&text, &size, from_) < 0) throw std::runtime_error("mcpivot closed the connection");
    const std::string line(text);
    std::free(text);
    return json::parse(line).as_object();
  }
  static std::string noticed(const json::object& message) {
    const std::string method(message.at("method").as_string());
    print("\033[33m", "  the client is told: " + method);
    return method;
  }

  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  int last_id_ = 0;
};

// The source that the model works on.
class Source {
 public:
  explicit Source(fs::path path) : path_(std::move(path)) {
    std::ifstream file(path_);
    text_.assign(std::istreambuf_iterator<char>(file), {});
  }
  void edit(const std::string& what, const std::string& before, const std::string& after) {
    const auto at = text_.find(before);
    if (at == std::string::npos) throw std::runtime_error("the demo can't find the line to edit");
    text_.replace(at, before.size(), after);
    print("\033[36m", "  the model edits " + path_.filename().string() + ": " + what);
    std::ofstream(path_) << text_;
  }

 private:
  fs::path path_;
  std::string text_;
};

void expect(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) throw std::runtime_error("the demo expected to read: " + part);
}

void play(const fs::path& mcpivot, const fs::path& folder) {
  const std::string build = "c++ -std=c++20 notes_server.cpp -o notes_server -lboost_json";
  tell("A small MCP server in C++ is built:");
  print("\033[36m", "  $ " + build);
  if (std::system(("cd '" + folder.string() + "' && " + build).c_str()) != 0)
    throw std::runtime_error("the first build failed");

  tell("An AI client starts it behind mcpivot:");
  print("\033[36m", "  mcpivot --build '" + build + "' --watch '*.cpp' -- ./notes_server");
  Client client({mcpivot, "--cwd", folder, "--name", "notes", "--build", build, "--watch", "*.cpp", "--log",
                 folder / "mcpivot.log", "--", "./notes_server"});
  client.ask("initialize", {{"protocolVersion", "2025-11-25"},
                            {"capabilities", json::object()},
                            {"clientInfo", {{"name", "demo"}, {"version", "1"}}}});
  client.send({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}});
  print("", "  tools: " + client.tools());
  expect(client.call("add_note", {{"text", "buy milk"}}), "note 1");

  Source source(folder / "notes_server.cpp");
  tell(
      "The model adds a tool to the server it is using and saves. mcpivot builds it while the old one runs.");
  source.edit("a new tool, first_note", R"(  throw std::invalid_argument("no tool " + tool);)",
              R"(  if (tool == "first_note") {
    assert(!notes.empty());
    return text(notes.front());
  }
  throw std::invalid_argument("no tool " + tool);)");
  source.edit("(its definition)", "          {{\"name\", \"list_notes\"},",
              "          {{\"name\", \"first_note\"}, {\"inputSchema\", {{\"type\", \"object\"}}}},\n"
              "          {{\"name\", \"list_notes\"},");
  client.wait_for("notifications/tools/list_changed");
  print("", "  tools: " + client.tools());
  expect(client.call("list_notes"), "+first_note");

  tell("A broken edit costs nothing: the model sees the compiler errors, and the old server keeps running.");
  source.edit("a typo", "return text(notes.front());", "return text(notes.front();");
  expect(client.call("pivot_rebuild"), "is still serving");
  expect(client.call("add_note", {{"text", "still here"}}), "kept");
  source.edit("the typo fixed", "return text(notes.front();", "return text(notes.front());");
  expect(client.call("pivot_rebuild"), "restarted");

  tell("A crash comes with its reason: the new server has no notes yet, and first_note asserts that it has.");
  expect(client.call("first_note"), "SIGABRT");

  tell("The next call works: mcpivot has restarted the server and tells the model.");
  expect(client.call("add_note", {{"text", "after the crash"}}), "note 1");
  expect(client.call("first_note"), "after the crash");

  tell("Two rebuilds, a broken build and a crash later, the connection is the same: mcpivot is still pid " +
       std::to_string(client.pid()) + ".");
  if (!client.close()) throw std::runtime_error("mcpivot did not exit cleanly");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: demo MCPIVOT NOTES_SERVER_SOURCE\n";
    return 2;
  }
  std::string name = fs::temp_directory_path() / "mcpivot-demo-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    std::perror("demo: cannot make a folder");
    return 1;
  }
  int result = 0;
  try {
    fs::copy_file(argv[2], fs::path(name) / "notes_server.cpp");
    play(fs::absolute(argv[1]), name);
  } catch (const std::exception& error) {
    std::cerr << "demo: " << error.what() << "\n";
    result = 1;
  }
  fs::remove_all(name);
  return result;
}
