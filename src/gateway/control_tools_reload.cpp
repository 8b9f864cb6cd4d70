// The control tools that take time: rebuild, restart, stop.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/contains.h"
#include "gateway/control_tools.h"
#include "gateway/sitter_answers.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// Progress is reported at most this often, and at least often enough that a client's idle timeout isn't
// reached.
constexpr milliseconds progress_pace{100};
constexpr milliseconds sign_of_life{5'000};

}  // namespace

struct ControlTools::Running {
  Asker asker;
  const Clients& clients;
  std::string server;  // by name: it may be gone before the call ends
  std::string id;
  std::string token;
  const Clock& clock;
  Alarm silence;  // a client may be waiting for progress
  Clock::Time started;
  ReloadId reload = ReloadId::none;  // none: it is a stop, which can't be cancelled
  bool withdrawn = false;
  Clock::Time last_progress{};
  int steps = 0;

  void tell_progress(std::string_view line) {
    const auto now = clock.now();
    if (token.empty() || withdrawn || now - last_progress < progress_pace) return;
    last_progress = now;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - started);
    clients.tell(
        asker,
        request_line({}, "notifications/progress",
                     fmt::format(R"({{"progressToken":{},"progress":{},"message":{}}})", token, ++steps,
                                 quote(fmt::format("{} ({})", line, duration_text(elapsed))))));
  }

  void break_silence() {
    silence.set(sign_of_life, [this] {
      if (clock.now() - last_progress >= sign_of_life) tell_progress("still running");
      break_silence();
    });
  }
};

bool ControlTools::can_accept() const {
  return std::ranges::any_of(fleet_.members(), [](const auto& member) {
    const ServerConfig& server = member->entry().server;
    return server.verify.gate && server.verify.wanted() && server.can_gate();
  });
}

bool ControlTools::accept(const Call& call) {
  if (find_member(call.arguments, "accept") != "true") return false;
  const auto holds = [](const Member& member) { return member.instance().holds_build(); };
  if (std::ranges::none_of(fleet_.members(), [&](const auto& member) { return holds(*member); })) {
    refuse(call, "[mcpivot] no build is held back, so there is nothing to accept.");
    return true;
  }
  Member* const member = pick_or_refuse(call, holds);
  if (member != nullptr) reload(call, *member, Wish::accept);
  return true;
}

void ControlTools::rebuild(const Call& call) {
  if (accept(call)) return;
  Member* const member = pick_or_refuse(call, can_build);
  if (member == nullptr) return;
  if (can_build(*member)) return reload(call, *member, Wish::build);
  const std::string_view restart = member->entry().server.control.restart;
  refuse(call, fmt::format("[mcpivot] \"{}\" has no build command{}.", member->name(),
                           restart.empty() ? "" : fmt::format("; {} restarts it", restart)));
}

void ControlTools::restart(const Call& call) {
  if (accept(call)) return;
  Member* const member = pick_or_refuse(call);
  if (member == nullptr) return;
  if (find_member(call.arguments, "stop") != "true") return reload(call, *member, Wish::restart);
  stop(call, *member, [](const std::string& server, const StopResult& stopped) {
    if (!stopped.ok) return fmt::format("[mcpivot] {}.", stopped.how);
    std::string words = fmt::format("[mcpivot] \"{}\" stopped: {}. {}", server, stopped.how, stopped.next);
    if (stopped.others.empty()) return words;
    words += fmt::format("\nAlso ended because they ran {}:", stopped.program);
    for (const pid_t pid : stopped.others) words += fmt::format(" pid {}", pid);
    return words;
  });
}

void ControlTools::sitter_kill(const Call& call) {
  Member* const member = pick_or_refuse(call);
  if (member == nullptr) return;
  stop(call, *member, [](const std::string&, const StopResult& stopped) { return sitter_killed(stopped); });
}

bool ControlTools::cancel(Asker by, const Message& cancelled) {
  for (const auto& running : running_) {
    if (running->withdrawn || !by.speaks_for(running->asker) ||
        !same_id(running->id, cancelled.text(cancelled.request_id)))
      continue;
    running->withdrawn = true;
    clients_.withdrawn(running->asker, cancelled);
    if (running->reload != ReloadId::none) fleet_.cancel_reload(running->server, running->reload);
    return true;
  }
  return false;
}

void ControlTools::forget(ClientId client) {
  for (const auto& running : running_)
    if (running->asker.client == client) running->withdrawn = true;
}

void ControlTools::reload(const Call& call, Member& member, Wish wish) {
  const bool build = wish == Wish::build;
  const auto running = begin(call, member.name());
  running->reload = clients_.next_reload();
  running->break_silence();
  fleet_.reload(member, {.build = build,
                         .renew = build,
                         .accepts = wish == Wish::accept,
                         .reason = fmt::format("{}{}", wish == Wish::accept ? "accepted " : "",
                                               call.asker.client == fleet_.reader() && !fleet_.steers_all()
                                                   ? "on request"
                                                   : "from a terminal"),
                         .progress =
                             [weak = std::weak_ptr(running)](std::string_view line) {
                               if (const auto still = weak.lock()) still->tell_progress(line);
                             },
                         .done =
                             [this, weak = std::weak_ptr(running)](const ReloadOutcome& outcome) {
                               if (const auto still = weak.lock()) end(still, outcome);
                             },
                         .id = running->reload,
                         .asker = call.asker.client});
}

// Of several that were stopped at once, what is worth reporting.
StopResult ControlTools::gathered(const std::vector<StopResult>& all) {
  if (all.size() == 1) return all.front();
  if (all.empty())
    return {.how = "no client has a running instance", .pids = {}, .others = {}, .program = {}};
  StopResult one{
      .how = fmt::format("{} instances ended", all.size()), .pids = {}, .others = {}, .program = {}};
  for (const StopResult& stopped : all) {
    if (!stopped.ok) return stopped;
    std::ranges::copy(stopped.pids, std::back_inserter(one.pids));
    one.next = stopped.next;
    one.program = stopped.program;
  }
  // The other processes that each of them found are often our own instances.
  std::set<pid_t> foreign;
  for (const StopResult& stopped : all) foreign.insert(stopped.others.begin(), stopped.others.end());
  for (const pid_t ours : one.pids) foreign.erase(ours);
  one.others.assign(foreign.begin(), foreign.end());
  return one;
}

void ControlTools::stop(const Call& call, Member& member, WordsOfStop words) {
  std::vector<Instance*> meant = fleet_.instances(member);
  if (fleet_.steers_all())
    std::erase_if(meant, [](const Instance* one) { return one->rests() || one->ends(); });
  // Our other instances of the same program are stopped too: otherwise they would be killed, restarted, and
  // hold the file.
  const Command& command = meant.empty() ? member.entry().server.command : meant[0]->config_in_use().command;
  if (const auto program = powers_.others ? world_.files().stoppable_program_of(command) : std::nullopt)
    for (Instance* const other : fleet_.all_instances()) {
      const auto same = world_.files().stoppable_program_of(other->config_in_use().command);
      if (!contains(meant, other) && !other->ends() && same && same->path == program->path)
        other->stop([](const StopResult&) {});
    }
  const auto results = std::make_shared<std::vector<StopResult>>();
  const auto finish = [this, weak = std::weak_ptr(begin(call, member.name())), words, results,
                       server = member.name()] {
    const auto still = weak.lock();
    if (!still) return;  // we are gone
    const StopResult stopped = gathered(*results);
    end(still, {stopped.ok, words(server, stopped)});
  };
  if (meant.empty()) return finish();
  for (Instance* const one : meant)
    one->stop(
        [results, finish, all = meant.size()](const StopResult& stopped) {
          results->push_back(stopped);
          if (results->size() == all) finish();
        },
        powers_.others);
}

// Only we own it, so it is gone when we are; the handlers that we pass on may outlive us.
std::shared_ptr<ControlTools::Running> ControlTools::begin(const Call& call, const std::string& server) {
  const Message& message = call.message;
  const auto running =
      std::shared_ptr<Running>(new Running{.asker = call.asker,
                                           .clients = clients_,
                                           .server = server,
                                           .id = std::string(message.text(message.id)),
                                           .token = std::string(message.text(message.progress_token)),
                                           .clock = world_.timers(),
                                           .silence = Alarm(world_.timers()),
                                           .started = world_.timers().now()});
  running_.push_back(running);
  return running;
}

void ControlTools::end(const std::shared_ptr<Running>& running, const ReloadOutcome& outcome) {
  running_.remove(running);
  // The model must know about what couldn't be stopped in time, or was done from a terminal or by another
  // client. A reload is told by its instance.
  const bool is_stop = running->reload == ReloadId::none;
  const bool tells = is_stop && outcome.ok && !fleet_.steers_all();
  Instance* const server = tells ? find_server(running->server) : nullptr;
  if (server != nullptr)
    server->add_notice(outcome.text, {&running->asker.client, running->withdrawn ? 0UL : 1UL});
  if (!running->withdrawn)
    clients_.answer(running->asker, tool_answer(running->id, outcome.text, !outcome.ok));
}

}  // namespace mcpivot
