#include "faults.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace chaos {
namespace {

const std::vector<std::string> programs = {"alpha", "beta", "gamma"};
const std::vector<std::string> nobody = {"-"};

long between(std::uint32_t number, long least, long most) {
  return least + static_cast<long>(number % static_cast<std::uint32_t>(most - least + 1));
}

std::string on(const std::string& server) {
  return R"({"server":")" + server + "\"}";
}

}  // namespace

struct Tormentor::Deed {
  const char* name;
  const char* help;
  std::vector<std::string> targets;
  int weight;
  std::function<long(Tormentor&, const Action&)> strike;
};

// The tool of an inactive server is reached through pivot_call.
const std::vector<Tormentor::Deed>& Tormentor::deeds() {
  // A call that is expected to fail, or may fail.
  static const auto call = [](const char* tool, const char* arguments) {
    return [tool, arguments](Tormentor& self, const Action& action) {
      self.client_.call(action.what, action.target, action.target + "__" + tool, arguments, true);
      return 300L;
    };
  };
  static const auto order = [](const char* tool) {
    return [tool](Tormentor& self, const Action& action) {
      self.client_.call(action.what, action.target, tool, on(action.target), true);
      return 500L;
    };
  };
  static const std::vector<Deed> all = {
      {"kill", "SIGKILL to a server", programs, 10,
       [](Tormentor& self, const Action& action) { return self.kill(action, SIGKILL); }},
      {"segv", "SIGSEGV to a server", programs, 6,
       [](Tormentor& self, const Action& action) { return self.kill(action, SIGSEGV); }},
      {"crash",
       "a call that crashes its server",
       {"alpha", "beta"},
       5,
       call("crash", R"({"signal":"SIGABRT","stderr":"chaos: assertion failed"})")},
      {"exit",
       "a call whose server exits with a code",
       {"alpha", "beta"},
       3,
       call("crash", R"({"exit_code":3})")},
      {"tear", "a server dies in the middle of its answer", {"alpha", "beta"}, 4, call("tear", "{}")},
      {"close-pipe",
       "a server closes its stdout and lives on",
       {"alpha", "beta"},
       2,
       call("close_stdout", "{}")},
      {"garbage",
       "a server prints something that isn't a message",
       {"alpha", "beta"},
       6,
       &Tormentor::garbage},
      {"deaf", "a server stops reading, and is killed later", {"alpha", "beta"}, 2, &Tormentor::deaf},
      {"stop", "SIGSTOP to a server, and SIGCONT later", programs, 5, &Tormentor::stop},
      {"restart", "pivot_restart", programs, 5, order("pivot_restart")},
      {"rebuild", "pivot_rebuild, which succeeds", {"beta", "gamma"}, 8, &Tormentor::build},
      {"broken-build", "pivot_rebuild, which fails", {"beta", "gamma"}, 8, &Tormentor::break_build},
      {"replace", "a server's program is replaced on disk", programs, 5,
       [](Tormentor& self, const Action& action) {
         self.world_.replace_program(action.target);
         return 500L;
       }},
      {"activate", "pivot_activate", {"gamma"}, 3, order("pivot_activate")},
      {"deactivate", "pivot_deactivate", {"gamma"}, 3, order("pivot_deactivate")},
      {"full-disk", "nothing can be written any more, for a while", nobody, 4, &Tormentor::fill_disk},
      {"descriptors", "mcpivot may open next to nothing, for a while", nobody, 4,
       &Tormentor::take_descriptors},
      {"client-deaf", "the client does not read, for a while", nobody, 4, &Tormentor::do_not_read},
      {"daemon-killed",
       "the HTTP daemon is killed, and started again later",
       {"daemon"},
       6,
       &Tormentor::kill_daemon},
      {"daemon-stopped", "SIGSTOP to the daemon, and SIGCONT later", {"daemon"}, 3, &Tormentor::stop_daemon},
      {"daemon-odd", "the daemon answers with something else", {"daemon"}, 8, &Tormentor::misbehave},
      {"daemon-moved",
       "the daemon is on another port, and the file says so",
       {"daemon"},
       3,
       [](Tormentor& self, const Action&) {
         self.world_.move_daemon();
         return 1000L;
       }},
      {"config", "the configuration file is edited", nobody, 4, &Tormentor::edit_config},
      {"broken-config", "the configuration file isn't valid JSON for a while", nobody, 3,
       &Tormentor::break_config},
      {"schema", "the CLI describes other tools, or none", {"cli"}, 4, &Tormentor::change_schema},
      {"cli-dies", "the CLI is killed by a signal", {"cli"}, 4, call("die", R"({"signal":"11"})")},
      {"cli-floods", "the CLI prints a lot", {"cli"}, 2, call("flood", R"({"bytes":"3000000"})")},
      {"hangup", "SIGHUP to mcpivot: everything is restarted", nobody, 1,
       [](Tormentor& self, const Action&) {
         self.world_.pivot().signal(SIGHUP);
         return 1000L;
       }},
      {"hangups", "a burst of SIGHUP", nobody, 2, &Tormentor::hang_up_often},
      {"kind", "a server becomes a program, a CLI or a daemon", {"shape"}, 4, &Tormentor::change_kind},
      {"removed",
       "a server is taken out of the file while calls wait for it",
       {"extra"},
       3,
       &Tormentor::remove_server},
      {"terminal", "mcpivot status, tools, logs -f, call or reload", nobody, 6, &Tormentor::use_terminal},
      {"knock", "somebody sends garbage to the control socket", nobody, 3, &Tormentor::knock},
  };
  return all;
}

std::vector<Kind> Tormentor::kinds() {
  std::vector<Kind> kinds;
  for (const Deed& deed : deeds()) kinds.push_back({deed.name, deed.targets, deed.weight});
  return kinds;
}

std::string Tormentor::help() {
  std::string text;
  for (const Deed& deed : deeds()) {
    text += std::string("  ") + deed.name;
    text.append(18 - std::string_view(deed.name).size(), ' ');
    text += std::string(deed.help) + "\n";
  }
  return text;
}

void Tormentor::strike(const Action& action) {
  for (const Deed& deed : deeds()) {
    if (action.what != deed.name) continue;
    const long begin = world_.now();
    const long felt = deed.strike(*this, action);
    if (felt >= 0) oracle_.felt({action.what, action.target, begin, begin + felt});
    return;
  }
  throw std::runtime_error("no fault is called " + action.what);
}

long Tormentor::kill(const Action& action, int signal) {
  return world_.signal(action.target, signal) ? 500 : -1;
}

long Tormentor::stop(const Action& action) {
  const auto stopped = world_.processes(action.target);
  if (stopped.empty()) return -1;
  const long time = between(action.number, 50, 1500);
  for (const pid_t pid : stopped) ::kill(pid, SIGSTOP);
  world_.after(time, [stopped] {
    for (const pid_t pid : stopped) ::kill(pid, SIGCONT);
  });
  return time;
}

long Tormentor::garbage(const Action& action) {
  const auto texts = std::to_array<std::string>(
      {"just a word", R"({\"jsonrpc\":\"2.0\",)", R"({\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}})",
       R"([1,2,3])", R"(\u0000\u0001\ufffd)", R"({\"id\":{},\"method\":7})",
       R"({\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}})",
       std::string(3'000'000, '['), std::string(2'000'000, 'x')});
  client_.call(action.what, action.target, action.target + "__garbage",
               R"({"text":")" + texts[action.number % texts.size()] + "\"}", true);
  return 300;
}

long Tormentor::deaf(const Action& action) {
  const auto deafened = world_.processes(action.target);
  if (deafened.empty()) return -1;
  client_.call(action.what, action.target, action.target + "__stop_reading", "{}", true);
  world_.after(1200, [deafened] {
    for (const pid_t pid : deafened) ::kill(pid, SIGKILL);
  });
  return 1500;
}

bool Tormentor::builds(const std::string& server) const {
  const auto last = last_builds_.find(server);
  return last != last_builds_.end() && !oracle_.was_answered(last->second);
}

long Tormentor::build(const Action& action) {
  if (builds(action.target)) return -1;
  last_builds_[action.target] =
      client_.call(action.what, action.target, "pivot_rebuild", on(action.target), true);
  return 500;
}

// One build at a time: callers that ask while one runs get its outcome.
long Tormentor::break_build(const Action& action) {
  if (builds(action.target)) return -1;
  world_.write_file("broken-" + action.target, "");
  return build(action);
}

long Tormentor::fill_disk(const Action& action) {
  if (!world_.has_small_disk()) {
    not_run_[action.what] = world_.why_no_disk();
    return -1;
  }
  const long time = between(action.number, 200, 2000);
  world_.fill_disk();
  world_.after(time, [this] { world_.empty_disk(); });
  return time;
}

long Tormentor::take_descriptors(const Action& action) {
  const long time = between(action.number, 100, 900);
  // With a few left, it gets as far as the second or third thing that it opens.
  world_.limit_descriptors(action.number % 14);
  world_.after(time, [this] { world_.free_descriptors(); });
  return time + 300;
}

long Tormentor::do_not_read(const Action& action) {
  const long time = between(action.number, 50, 800);
  world_.pivot().pause_reading(true);
  world_.after(time, [this] { world_.pivot().pause_reading(false); });
  return time;
}

long Tormentor::kill_daemon(const Action& action) {
  if (!world_.daemon_runs()) return -1;
  const long time = between(action.number, 0, 2500);
  world_.kill_daemon();
  world_.after(time, [this] { world_.start_daemon(); });
  return time + 500;
}

long Tormentor::stop_daemon(const Action& action) {
  const pid_t pid = world_.daemon_pid();
  if (pid < 0) return -1;
  const long time = between(action.number, 100, 1500);
  ::kill(pid, SIGSTOP);
  world_.after(time, [pid] { ::kill(pid, SIGCONT); });
  return time;
}

long Tormentor::misbehave(const Action& action) {
  const auto ways = std::to_array<std::string>({"html", "not json", "empty", "accepted", "other id", "close",
                                                "reset", "cut", "no http", "forget", "break stream", "resume",
                                                "split", "pretty", "new tool", "die"});
  const std::string& how = ways[action.number % ways.size()];
  client_.call(action.what, action.target, "daemon__misbehave", R"({"how":")" + how + "\"}", true);
  if (how == "die")
    world_.after(700, [this] {
      world_.kill_daemon();
      world_.start_daemon();
    });
  return 1000;
}

long Tormentor::edit_config(const Action& action) {
  if (action.number % 2 == 0)
    world_.extra_server = !world_.extra_server;
  else
    ++world_.alpha_edition;
  world_.write_config();
  return 1000;
}

long Tormentor::break_config(const Action& action) {
  const long time = between(action.number, 100, 1500);
  world_.write_file("mcpivot.json", R"({"mcpServers": {"alpha": {"command": )");
  world_.after(time, [this] { world_.write_config(); });
  return time;
}

long Tormentor::change_schema(const Action& action) {
  if (action.number % 3 == 0) {
    world_.write_file("schema.json", "{ this is no schema");
    world_.after(700, [this] { world_.describe_cli(0); });
    return 1000;
  }
  world_.describe_cli(action.number % 5);
  return 500;
}

long Tormentor::knock(const Action& action) {
  bool knocked = false;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(world_.folder() / "small" / "run", failed)) {
    if (!entry.is_socket(failed)) continue;
    const int knocking = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = entry.path();
    if (path.size() < sizeof(address.sun_path)) {
      path.copy(address.sun_path, path.size());
      if (connect(knocking, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        const std::string words =
            action.number % 2 == 0 ? std::string(100'000, '{') : "{\"command\":\"status\"}\n";
        knocked = send(knocking, words.data(), words.size(), MSG_NOSIGNAL) > 0;
      }
    }
    close(knocking);
  }
  return knocked ? 200 : -1;
}

long Tormentor::hang_up_often(const Action& action) {
  const long signals = between(action.number, 3, 20);
  for (long i = 0; i < signals; ++i)
    world_.after(i * static_cast<long>(action.number % 40), [this] { world_.pivot().signal(SIGHUP); });
  return signals * static_cast<long>(action.number % 40) + 1000;
}

// With calls in flight, as its old and its new kind.
long Tormentor::change_kind(const Action& action) {
  const auto call = [this, action] {
    for (const char* tool : {"echo", "record"})
      client_.call(action.what, action.target, action.target + "__" + tool, R"({"token":"x"})", true);
  };
  call();
  world_.shape = static_cast<World::Shape>(action.number % 3);
  world_.write_config();
  for (long time = 0; time < 500; time += between(action.number, 20, 200)) world_.after(time, call);
  return 1500;
}

// The server was added to the file before; it is killed so that calls wait for its next start, and then
// removed.
long Tormentor::remove_server(const Action& action) {
  const std::string& server = action.target;
  world_.extra_server = true;
  world_.write_config();
  const long until_killed = between(action.number, 200, 900);
  world_.after(until_killed, [this, action, server] {
    for (const char* tool : {"echo", "sleep", "sleep"})
      client_.call(action.what, server, server + "__" + tool, R"({"ms":300})", true);
    client_.call(action.what, server, "pivot_restart", on(server), true);
    if (action.number % 2 == 0) world_.signal(server, SIGKILL);
    client_.call(action.what, server, server + "__echo", "{}", true);
  });
  world_.after(until_killed + static_cast<long>(action.number % 120), [this] {
    world_.extra_server = false;
    world_.write_config();
  });
  return until_killed + 1000;
}

long Tormentor::use_terminal(const Action& action) {
  constexpr long patience = 12'000;  // longer than a call may take, plus some time
  const auto commands =
      std::to_array<std::vector<std::string>>({{"status"},
                                               {"status", "--json"},
                                               {"tools"},
                                               {"logs", "-f"},
                                               {"call", "alpha__echo", R"({"text":"x"})"},
                                               {"call", "gamma__big", R"({"bytes":500000})"},
                                               {"restart", "beta"},
                                               {"reload", "gamma", "--build"}});
  const std::vector<std::string>& command = commands[action.number % commands.size()];
  const bool follows = command.front() == "logs";
  const long time = follows ? between(action.number, 100, 3000) : patience;
  world_.open_terminal(command, time, [this, follows, command] {
    if (!follows) oracle_.terminal_hangs("mcpivot " + command.front(), world_.now());
  });
  return 1000;
}

}  // namespace chaos
