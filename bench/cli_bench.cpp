// What does a call of a CLI tool cost through mcpivot, compared with starting the same program directly? Both
// in turn, in one run, each from the request to the complete answer; and how many calls a second there are
// when 200 are made at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "subject.h"
#include "times.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us to declare it

namespace {

namespace fs = std::filesystem;

constexpr double most_extra_ms = 1.5;
constexpr std::string_view text = "a text of a common length, as a model would write it";

// Starts the program, reads everything that it prints, and waits for its end.
Clock::duration run_directly(const std::string& program) {
  const auto begin = Clock::now();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw SubjectError("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string argument = fmt::format("--text={}", text);
  std::string name = program;
  std::string command = "echo";
  std::string tail = "--json";
  char* argv[] = {name.data(), command.data(), argument.data(), tail.data(), nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ) != 0)
    throw SubjectError("spawn");
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  char buffer[4096];
  std::size_t size = 0;
  ssize_t count = 0;
  while ((count = ::read(ends[0], buffer, sizeof(buffer))) > 0) size += static_cast<std::size_t>(count);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0 || size < text.size()) throw SubjectError("the program failed");
  return Clock::now() - begin;
}

class Caller {
 public:
  explicit Caller(const std::vector<std::string>& command) : subject_(command) {
    subject_.send(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},)"
        R"("clientInfo":{"name":"bench","version":"1"}}})"
        "\n");
    subject_.read_line();
    subject_.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  }
  Clock::duration call() {
    const auto begin = Clock::now();
    send();
    read();
    return Clock::now() - begin;
  }
  Clock::duration call_at_once(int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) send();
    for (int i = 0; i < calls; ++i) read();
    return Clock::now() - begin;
  }

 private:
  void send() {
    subject_.send(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{}"}}}}}})"
        "\n",
        ++last_id_, text));
  }
  void read() {
    const std::string_view line = subject_.read_line();
    if (line.find(R"("isError":false)") == std::string_view::npos)
      throw SubjectError(fmt::format("a call failed: {}", line.substr(0, 300)));
  }
  Subject subject_;
  int last_id_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto [quick, check] = usual_options("cli_bench", argc, argv);
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing from an earlier run
  deadline::install();
  deadline::arm();
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string program = folder / "echo_cli";
  try {
    Caller caller({folder / "mcpivot", "--log", "/dev/null", "--tools-from", program});
    const int rounds = quick ? 200 : 1000;
    std::vector<double> direct;
    std::vector<double> through;
    for (int i = 0; i < rounds; ++i) {
      if (i % 100 == 0) deadline::arm();
      direct.push_back(ms(run_directly(program)));
      through.push_back(ms(caller.call()));
    }
    const double typical = median(direct);
    const double ours = median(through);
    fmt::print("{:<36}{:>10}{:>10}\n", "one call, from request to answer", "p50", "p99");
    fmt::print("{:<36}{:>7.2f} ms{:>7.2f} ms\n", "the program started directly", typical,
               percentile(direct, 0.99));
    fmt::print("{:<36}{:>7.2f} ms{:>7.2f} ms\n", "through mcpivot", ours, percentile(through, 0.99));
    fmt::print("{:<36}{:>7.2f} ms, {:.2f} times as long\n", "difference at p50", ours - typical,
               ours / typical);
    deadline::arm();
    fmt::print("200 calls at once: {:.0f} calls/s\n", 200'000 / ms(caller.call_at_once(200)));
    const bool good = ours - typical <= most_extra_ms;
    fmt::print("\n{} mcpivot: a call costs at most {} ms more than starting the program directly\n",
               good ? "PASS" : "FAIL", most_extra_ms);
    return check && !good ? 1 : 0;
  } catch (const SubjectError& error) {
    fmt::print(stderr, "cli_bench: {}\n", error.what());
    return 1;
  }
}
