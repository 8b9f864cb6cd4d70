// Each fault on its own subject, with its own copy of the server (mcp-sitter ends whatever runs the
// same program).
#include "faults.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <ranges>
#include <set>

#include "host/free_port.h"
#include "host/process_table.h"

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

fs::path copy_of_server(const Place& place) {
  static int copies = 0;
  const fs::path folder = place.scratch / fmt::format("server-{}", ++copies);
  fs::create_directories(folder);
  fs::copy_file(place.programs / "echo_server", folder / "server");
  return folder / "server";
}

// A new build: one byte longer, and moved into place at once.
void build_again(const fs::path& server) {
  const fs::path fresh = server.string() + ".new";
  fs::copy_file(server, fresh);
  std::ofstream(fresh, std::ios::app) << '\n';
  fs::rename(fresh, server);
}

bool succeeded(const Incoming& answer) {
  return answer.problem.empty() && answer.message.find("\"content\"") != std::string_view::npos &&
         answer.message.find("\"isError\":true") == std::string_view::npos;
}

std::string words_of(const Incoming& answer) {
  return answer.problem.empty() ? std::string(answer.message.substr(0, 2000)) : answer.problem;
}

bool names_the_kill(std::string_view text) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"SIGKILL", "signal 9", "signal: 9", "killed"},
      [&](auto word) { return text.find(word) != std::string_view::npos; });
}

// Calls at a steady pace, each followed until its answer.
class Books {
 public:
  Books(Running& running, milliseconds pace, std::string arguments)
      : running_(running), pace_(pace), arguments_(std::move(arguments)) {}

  void call_when_due() {
    if (Clock::now() < next_) return;
    next_ = Clock::now() + pace_;
    open_.insert(running_.send_call(arguments_));
    ++made;
  }
  // Reads what has arrived by then; `on_answer` sees the answers to our calls.
  template <typename OnAnswer>
  void take(Clock::time_point deadline, OnAnswer on_answer) {
    while (const auto incoming = running_.front().receive(std::min(deadline, next_))) {
      if (open_.erase(incoming->id) == 0) {
        other_answer(*incoming);
        continue;
      }
      succeeded(*incoming) ? ++answered : ++failed;
      if (!succeeded(*incoming) && first_failure.empty()) first_failure = words_of(*incoming);
      on_answer(*incoming);
    }
  }
  size_t open() const { return open_.size(); }
  void wait_for_all(Clock::time_point deadline) {
    next_ = deadline;
    while (!open_.empty() && Clock::now() < deadline) take(Clock::now() + milliseconds(20), [](auto&) {});
  }

  int made = 0;
  int answered = 0;
  int failed = 0;
  std::string first_failure;

 private:
  void other_answer(const Incoming&) {}

  Running& running_;
  milliseconds pace_;
  std::string arguments_;
  std::set<std::int64_t> open_;
  Clock::time_point next_ = Clock::now();
};

// mcp-hub has its own interface for this, separate from MCP.
void ask_hub(std::uint16_t port, const std::string& what) {
  const auto front = http_front({.port = port, .path = "/api/servers/" + what}, Clock::now() + seconds(1));
  front->send(1, R"({"server_name":"e"})");
  front->receive(Clock::now() + seconds(5));
}

void ask_for_reload(Running& running) {
  const Subject& subject = running.subject();
  if (subject.reload == Reload::tool) running.send_call_of(subject.reload_tool, subject.reload_arguments);
  if (subject.reload == Reload::signal) kill(running.process()->pid(), SIGHUP);
  if (subject.reload != Reload::hub) return;
  ask_hub(running.port(), "stop");
  ask_hub(running.port(), "start");
}

std::unique_ptr<Running> ready(const Subject& subject, const Place& place, const Behind& behind) {
  auto running = std::make_unique<Running>(subject, place, behind);
  running->shake_hands();
  running->list_tools();
  running->ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{{"text":"x"}}}})", subject.tool),
               seconds(10));
  return running;
}

void sleep_until(Clock::time_point end) {
  while (Clock::now() < end) usleep(1000);
}

}  // namespace

json::object replace_server(const Subject& subject, const Place& place, bool ask) {
  const fs::path server = copy_of_server(place);
  const auto running = ready(subject, place, {.server = {server.string()}});
  Books books(*running, milliseconds(2), R"({"version":true})");
  const auto load = [&](Clock::time_point end, auto on_answer) {
    while (Clock::now() < end) {
      books.call_when_due();
      books.take(end, on_answer);
    }
  };
  json::object seen;
  try {
    load(Clock::now() + milliseconds(300), [](auto&) {});
    build_again(server);
    const std::string fresh = fmt::format("\"{}\"", fs::file_size(server));
    const auto begin = Clock::now();
    if (ask) ask_for_reload(*running);
    std::optional<double> took;
    while (!took && ms_since(begin) < 5000) {
      load(Clock::now() + milliseconds(5), [&](const Incoming& answer) {
        if (!took && answer.message.find(fresh) != std::string_view::npos) took = ms_since(begin);
      });
    }
    load(Clock::now() + milliseconds(300), [](auto&) {});
    books.wait_for_all(Clock::now() + seconds(3));
    seen["ms"] = took ? json::value(*took) : json::value(nullptr);
  } catch (const Failure& failure) {
    seen["ms"] = nullptr;
    seen["ended"] = failure.what();
  }
  seen["calls"] = books.made;
  seen["failed"] = books.failed;
  seen["lost"] = books.open();
  if (!books.first_failure.empty()) seen["said"] = books.first_failure.substr(0, 300);
  return seen;
}

json::object kill_server(const Subject& subject, const Place& place) {
  const fs::path server = copy_of_server(place);
  const auto running = ready(subject, place, {.server = {server.string()}});
  json::object seen = {
      {"answered", false}, {"named", false}, {"recovered_ms", nullptr}, {"again", false}, {"probes_lost", 0}};
  const std::int64_t hanging = running->send_call(R"({"hang":true})");
  running->ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{{"text":"x"}}}})", subject.tool),
               seconds(10));
  std::vector<pid_t> all = host::descendants_of(running->process()->pid());
  all.push_back(running->process()->pid());
  for (const pid_t pid : running_program(all, server)) kill(pid, SIGKILL);
  const auto begin = Clock::now();
  const auto on_hanging = [&](const Incoming& answer) {
    seen["answered"] = true;
    seen["answered_ms"] = ms_since(begin);
    seen["said"] = words_of(answer).substr(0, 600);
    seen["named"] = names_the_kill(words_of(answer));
  };
  std::int64_t probe = -1;
  auto probed = begin;
  const auto finished = [&] { return seen["answered"].as_bool() && !seen["recovered_ms"].is_null(); };
  try {
    while (!finished() && ms_since(begin) < 10'000) {
      if (seen["recovered_ms"].is_null() && (probe < 0 || Clock::now() - probed > milliseconds(500))) {
        if (probe >= 0) seen["probes_lost"] = seen["probes_lost"].to_number<int>() + 1;
        probe = running->send_call(R"({"text":"again"})");
        probed = Clock::now();
      }
      const auto answer = running->front().receive(Clock::now() + milliseconds(5));
      if (!answer) continue;
      if (answer->id == hanging) on_hanging(*answer);
      if (answer->id != probe) continue;
      if (succeeded(*answer)) {
        seen["recovered_ms"] = ms_since(begin);
        continue;
      }
      seen["probe_said"] = words_of(*answer).substr(0, 300);
      // A session that is gone: a client starts a new one.
      if (subject.way == Way::from_http && !answer->problem.empty()) {
        seen["again"] = true;
        running->connect_again();
      }
      sleep_until(Clock::now() + milliseconds(10));
      probe = -1;
    }
  } catch (const Failure& failure) {
    seen["ended"] = failure.what();
  }
  return seen;
}

json::object leave_for(const std::vector<const Subject*>& subjects, const Place& place, int away) {
  const std::uint16_t port = host::free_port();
  const std::vector<std::string> command = {place.programs / "echo_daemon", std::to_string(port)};
  auto daemon = std::make_unique<ProcessTree>(command, ProcessTree::Ends::none);
  struct One {
    std::unique_ptr<Running> running;
    std::unique_ptr<Books> books;
    std::optional<double> back_ms;
    std::string ended;
  };
  std::map<std::string, One> all;
  json::object seen;
  for (const Subject* subject : subjects) {
    try {
      One one;
      one.running = ready(*subject, place, {.server = {}, .daemon_port = port});
      one.books = std::make_unique<Books>(*one.running, milliseconds(100), R"({"text":"x"})");
      all[subject->name] = std::move(one);
    } catch (const Failure& failure) {
      seen[subject->name] = {{"failure", failure.what()}};
    }
  }
  daemon.reset();
  std::optional<Clock::time_point> back;
  const auto serve_until = [&](Clock::time_point end, bool call) {
    while (Clock::now() < end) {
      for (One& one : all | std::views::values) {
        if (!one.books || !one.ended.empty()) continue;
        try {
          if (call) one.books->call_when_due();
          one.books->take(Clock::now(), [&](const Incoming& answer) {
            if (back && !one.back_ms && succeeded(answer)) one.back_ms = ms_since(*back);
          });
        } catch (const Failure& failure) {
          one.ended = failure.what();
        }
      }
      usleep(500);
    }
  };
  serve_until(Clock::now() + seconds(away), true);
  daemon = std::make_unique<ProcessTree>(command, ProcessTree::Ends::none);
  back = Clock::now();
  serve_until(*back + seconds(2), true);
  const auto deadline = *back + seconds(15);
  const auto all_done = [&] {
    return std::ranges::all_of(
        all, [](auto& one) { return one.second.books->open() == 0 || !one.second.ended.empty(); });
  };
  while (!all_done() && Clock::now() < deadline) serve_until(Clock::now() + milliseconds(50), false);
  for (auto& [name, one] : all) {
    json::object result = {{"calls", one.books->made},
                           {"answered", one.books->answered},
                           {"failed", one.books->failed},
                           {"hung", one.books->open()},
                           {"back_ms", one.back_ms ? json::value(*one.back_ms) : json::value(nullptr)}};
    if (!one.ended.empty()) result["ended"] = one.ended;
    if (!one.books->first_failure.empty()) result["said"] = one.books->first_failure.substr(0, 300);
    seen[name] = std::move(result);
  }
  return seen;
}

json::object kill_proxy(const Subject& subject, const Place& place) {
  const fs::path server = copy_of_server(place);
  const auto running = ready(subject, place, {.server = {server.string(), "--stubborn"}});
  const std::vector<pid_t> before = host::descendants_of(running->process()->pid());
  running->process()->kill_alone();
  const auto begin = Clock::now();
  const auto alive = [&] {
    const std::vector<pid_t> ours = host::descendants_of(getpid());
    std::vector<pid_t> left;
    for (const pid_t pid : before) {
      waitpid(pid, nullptr, WNOHANG);
      if (std::ranges::find(ours, pid) != ours.end()) left.push_back(pid);
    }
    return left;
  };
  std::vector<pid_t> left = alive();
  while (!left.empty() && ms_since(begin) < 3000) {
    usleep(20'000);
    left = alive();
  }
  for (const pid_t pid : left) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  return {{"before", before.size()}, {"left", left.size()}, {"ms", ms_since(begin)}};
}
