#include "server/instance.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "bridge/log_levels.h"
#include "bridge/modern_answer.h"
#include "log/log.h"
#include "mcp/era.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// How long a client waits for its handshake before it is told that the server isn't ready.
constexpr milliseconds first_handshake{10'000};

}  // namespace

Instance::Instance(World& world, Clients& clients, Source& source, InstanceId id, ServerConfig config,
                   Watcher& watcher)
    : world_(world),
      clients_(clients),
      clock_(world.timers()),
      source_(source),
      id_(id),
      watcher_(watcher),
      replay_(id.client),
      eras_(world.files()),
      waiting_(
          world.timers(), config.queue_timeout,
          [this](const WaitingRoom::Waiting& overdue) {
            if (overdue.held) return let_go(overdue);
            const Message message = overdue.message.message();
            if (!overdue.is_request())
              return drop_notification(message, fmt::format("a notification that waited {} for the server",
                                                            duration_text(config_->queue_timeout)));
            if (Generation* generation = serving();
                generation != nullptr && may_pass(overdue.asker, message)) {
              put(*generation, overdue.asker, message, overdue.sent_before);
              return watch_overdue_calls();
            }
            refuse(overdue.asker, message,
                   fmt::format("the request waited {} for it to be ready; {}",
                               duration_text(config_->queue_timeout), why_not_ready()));
          },
          [this](const WaitingRoom::Waiting& one) {
            if (one.is_request()) return refuse_crowded(one.asker, one.message.message());
            drop_notification(one.message.message(), "a notification that made way for a client's request");
          }),
      turns_(
          world.timers(), config.call_timeout,
          [this](const WaitingRoom::Waiting& overdue) {
            refuse_turn(
                overdue.asker, overdue.message.message(),
                fmt::format("waited {} for its turn (--call-timeout)", duration_text(config_->call_timeout)));
          },
          [this](const WaitingRoom::Waiting& one) {
            refuse_turn(one.asker, one.message.message(), "gave way to another client's");
          }),
      signing_in_(
          world.timers(), config.call_timeout,
          [this](const WaitingRoom::Waiting& overdue) {
            refuse_unsigned(overdue.asker, overdue.message.message(),
                            fmt::format("nobody signed in within {} (--call-timeout)",
                                        duration_text(config_->call_timeout)));
          },
          [this](const WaitingRoom::Waiting& one) { refuse_crowded(one.asker, one.message.message()); }),
      daemon_(
          world.timers(), [this](const ConfigRef& kept) { return world_.make_keeper(kept); },
          [this](const DaemonSupervisor::Stopped& stopped) { on_daemon_stopped(stopped); }),
      stops_(world),
      back_off_timer_(world.timers()),
      patience_timer_(world.timers()),
      overdue_timer_(world.timers()),
      long_birth_timer_(world.timers()),
      follow_timer_(world.timers()),
      held_timer_(world.timers()),
      level_timer_(world.timers()) {
  adopt(std::move(config));
  source_.add(*this);
}

// Everything derived from the configuration changes with it; generations keep their own.
void Instance::adopt(ServerConfig config) {
  if (config.build.empty()) config.control.rebuild = {};
  config_ = std::make_shared<const ServerConfig>(std::move(config));
  waiting_.set_patience(config_->queue_timeout);
  turns_.set_patience(config_->call_timeout);
  signing_in_.set_patience(config_->call_timeout);
  replay_.set_rules(config_->replay);
  if (config_->http.insecure) log_warn("{}: --insecure: anyone can impersonate this daemon", config_->name);
  process_.configure(config_);
  daemon_.configure(config_);
  eras_.recall(*config_);
}

// The only place in an instance that asks for the kind of its server; the rest is up to its supervisor.
const Supervisor& Instance::supervisor_for(const ServerConfig& config) const {
  if (config.is_daemon()) return daemon_;
  return process_;
}

Supervisor& Instance::supervisor_for(const ServerConfig& config) {
  if (config.is_daemon()) return daemon_;
  return process_;
}

Instance::~Instance() {
  if (sources_unwatched_) source_.reload_ends();
  source_.remove(*this);
}

// --- what clients want -------------------------------------------------------------------------------------

void Instance::start(const std::string& reason) {
  happens(Life::Wanted{reason});
}

void Instance::start_later() {
  lazy_ = true;
  const auto* const stopped = life_.get<Life::Stopped>();
  if (stopped != nullptr && stopped->why == Life::Stopped::Why::unstarted)
    life_.explain("it starts when it is first used");
  if (knows_client()) learn_tools();
}

// Nothing is known about a lazy server that never ran: it is started once, so that there is something to
// list. But one that was stopped on request waits for a call, even if other clients connect.
void Instance::learn_tools() {
  if (lazy_ && !offer_.known() && !stopped_on_request()) start("to learn its tools");
}

// If several clients share the server, its handshake is with mcpivot, before any of them connects. A modern
// server learns about them from their requests; a modern client's requests already carry that.
void Instance::hello(ClientId client, std::string_view params, Era era, std::function<void()> then) {
  if (client == id_.client) {
    replay_.hello = params.empty() ? "{}" : std::string(params);
    client_era_ = era;
  } else if (era == Era::legacy) {
    hellos_[client] = params;
  } else {
    hellos_.erase(client);
  }
  if (!offer_.known() && !life_.is<Life::Failed>()) recall_last_run(!then);
  learn_tools();
  if (life_.is_refused()) happens(Life::Needed{});  // it may accept us by now
  if (birth_) birth_->open();
  if (!then) return offer_.open_lists();
  offer_waits_.add({.client = client}, {}, std::move(then));
  wait_to_settle();
}

std::string_view Instance::hello_of(ClientId client) const {
  const auto found = hellos_.find(client);
  return found == hellos_.end() ? std::string_view() : std::string_view(found->second);
}

void Instance::wait_to_settle() {
  const bool hopeless = ends() || (!birth_ && (life_.is<Life::Failed>() || life_.is<Life::Stopped>()));
  if (offer_.known() || hopeless) return settle();
  if (offer_waits_.size() > 1) return;  // the timer is already set
  patience_timer_.set(first_handshake, [this] {
    life_.explain(fmt::format("it has not finished its handshake after {}", duration_text(first_handshake)));
    settle();
  });
}

void Instance::when_settled(Asker asker, std::string_view id, std::function<void()> then) {
  const bool settled = offer_.known() || offer_waits_.empty();
  if (settled) return then();
  offer_waits_.add(asker, std::string(id), std::move(then));
}

void Instance::when_known(Asker asker, std::string_view id, std::function<void()> then) {
  if (offer_.known()) return then();
  offer_waits_.add(asker, std::string(id), std::move(then));
  wait_to_settle();
}

void Instance::settle() {
  patience_timer_.cancel();
  if (!offer_waits_.empty()) offer_.show_at_handshake();
  offer_waits_.release();
  watcher_.on_settled(*this);
}

void Instance::recall_last_run(bool lists_alone) {
  const auto file = birth_ ? birth_->facts().file : world_.files().program_of(config_->command);
  if (offer_.recall({world_.files(), *config_, file, replay_.hello, client_era_}, lists_alone))
    watcher_.on_catalog(*this);
}

void Instance::keep_for_next_run() const {
  offer_.keep({world_.files(), current_->config(), current_file_, replay_.hello, client_era_});
}

void Instance::forget(ClientId client) {
  std::erase_if(era_askers_, [&](const EraAsker& asker) { return asker.client == client; });
  if (is_shared()) {
    hellos_.erase(client);
    const std::string level = replay_.level();
    const std::vector<std::string> subscriptions = replay_.subscriptions_of(client);
    replay_.forget(client);
    for (const std::string& params : subscriptions) unsubscribe_if_unwanted(params);
    if (!replay_.level().empty() && replay_.level() != level) tell_level();
    std::erase_if(earlier_tasks_, [&](const auto& task) { return task.second.owner == client; });
  }
  waiting_.forget(client);
  turns_.forget(client);
  signing_in_.forget(client);
  offer_waits_.forget(client);
  for (const auto& generation : {current_.get(), incoming()})
    if (generation != nullptr) generation->forget(client);
  for (const auto& generation : std::list(leaving_)) generation->forget(client);
}

bool Instance::works_for(const std::function<bool(ClientId)>& whom) const {
  const auto works = [&](const auto& generation) { return generation->has_calls_of(whom); };
  return (current_ && works(current_)) || (incoming() != nullptr && works(incoming())) ||
         std::ranges::any_of(leaving_, works) || waiting_.has(whom) || turns_.has(whom) ||
         signing_in_.has(whom) || offer_waits_.has(whom);
}

Generation* Instance::find(GenerationId id) const {
  for (const auto& generation : {current_.get(), incoming()})
    if (generation != nullptr && generation->id() == id) return generation;
  const auto found = std::ranges::find(leaving_, id, [](const auto& generation) { return generation->id(); });
  return found == leaving_.end() ? nullptr : found->get();
}

std::vector<std::string> Instance::tasks(ClientId client) const {
  std::map<std::string, ClientId> all;
  for (const auto& [id, task] : earlier_tasks_)
    if (task.open) all.emplace(id, task.owner);
  if (current_) all.insert(current_->open_tasks().begin(), current_->open_tasks().end());
  for (const auto& generation : leaving_)
    all.insert(generation->open_tasks().begin(), generation->open_tasks().end());
  std::vector<std::string> tasks;
  for (const auto& [id, owner] : all)
    if (owner == client) tasks.push_back(id);
  return tasks;
}

void Instance::restore(ClientId client, Replay::Memory memory, const std::vector<std::string>& tasks) {
  replay_.set_memory(client, std::move(memory));
  for (const std::string& id : tasks) earlier_tasks_.emplace(id, EarlierTask{client});
}

ClientId Instance::owner_of_task(std::string_view id) const {
  const auto earlier = earlier_tasks_.find(std::string(id));
  if (earlier != earlier_tasks_.end()) return earlier->second.owner;
  ClientId owner = current_ ? current_->owner_of_task(id) : ClientId::nobody;
  for (const auto& generation : leaving_)
    if (owner == ClientId::nobody) owner = generation->owner_of_task(id);
  return owner;
}

bool Instance::cancel(Asker by, const Message& cancelled) {
  const auto has = [&](Generation* generation) {
    return generation != nullptr && generation->cancel(by, cancelled);
  };
  if (has(current_.get()) || has(incoming())) return true;
  if (std::ranges::any_of(leaving_, [&](const auto& generation) { return has(generation.get()); }))
    return true;
  auto waited = waiting_.cancel(by, cancelled);
  if (!waited) waited = turns_.cancel(by, cancelled);
  if (!waited) waited = signing_in_.cancel(by, cancelled);
  if (!waited) waited = offer_waits_.cancel(by, cancelled);
  if (waited) clients_.withdrawn(*waited, cancelled);
  return waited.has_value();
}

void Instance::resume() {
  if (current_) current_->resume();
  if (incoming() != nullptr) incoming()->resume();
  for (const auto& generation : leaving_) generation->resume();
}

// --- what servers say --------------------------------------------------------------------------------------

// Over HTTP, a call repeats some of its arguments in headers, as its tool's schema says. A daemon that
// rejects them has run nothing, and may have another schema by now.
bool Instance::has_stale_headers(const Generation::Requests::Request& request, const ToClient& said) const {
  return said.message.kind == Kind::error && error_code(said.message) == code::header_mismatch &&
         request.known == Method::tools_call && request.sent_before.count == 0 && current_ &&
         current_->id() == said.from && serving() == current_.get() && supervisor().sends_headers();
}

void Instance::count_answer(const Generation::Requests::Request& request, const ToClient& said) {
  counts_.answered(said.message.is_error || said.message.kind == Kind::error);
  if (Generation::Requests::is_timed(said.pair)) counts_.took(clock_.now() - request.asked);
}

// As a generation does with its own: a task whose result was fetched isn't stored for the next run.
void Instance::follow_earlier_task(const Generation::Requests::Request& request) {
  if (!ends_task(string_value(request.method()))) return;
  const Message asked = request.kept.message();
  const auto task = earlier_tasks_.find(std::string(find_member(asked.text(asked.params), "taskId")));
  if (task != earlier_tasks_.end()) task->second.open = false;
}

void Instance::on_answer(const Generation::Requests::Request& request, ToClient& said) {
  if (has_stale_headers(request, said) &&
      waiting_.add(request.origin, request.kept.message(), request.sent_before.after(false)))
    return refetch(ListKind::tools);  // which sends it again
  if (asks_for_sign_in(request, said)) return count_failure(request);
  if (!replay_.learn(request, said.message)) return refuse_subscription(request);
  if (!earlier_tasks_.empty() && request.known == Method::other) follow_earlier_task(request);
  std::string remark;
  if (request.known == Method::tools_call) {
    count_answer(request, said);
    if (is_outdated(said.from)) said.remark = remark = remark_on_answer(said.from);
  }
  watcher_.pass_answer(*this, request, said);
}

// No client can answer: it is gone, or doesn't read; or there are several, and we don't know which one is
// meant, so none is asked.
void Instance::answer_question(Generation& from, const ToClient& said) const {
  const Message& question = said.message;
  const std::string_view id = question.text(question.id);
  if (clients_.has(said.to.client))
    return from.answer(error_answer(id, code::internal_error, "the client isn't reading its messages"));
  if (!is_shared() || said.to.client != ClientId::nobody)
    return from.answer(error_answer(id, code::connection_closed, "no client is connected"));
  if (question.known == Method::ping) return from.answer(result_answer(id, "{}"));
  from.answer(error_answer(id, code::method_not_found,
                           fmt::format("Method not found: {}: several clients share this server, so mcpivot "
                                       "asks none of them",
                                       string_value(question.text(question.method)))));
}

// What a shared server prints may be about anybody's calls. Of a generation that took two processes, the last
// one counts, unless it printed nothing.
std::vector<std::string> Instance::stderr_for_clients(int generation) const {
  if (is_shared()) return {};
  std::vector<std::string> last;
  if (generation == past_.starts) last = ring_.lines_of(generation, last_line_before_start_);
  return last.empty() ? ring_.lines_of(generation) : last;
}

void Instance::on_said(Generation& from, ToClient& said) {
  const Message& message = said.message;
  if (keep_from_clients(from, message)) return;
  const bool traced = said.to.client != ClientId::nobody;  // to one of the clients that share it
  if (message.kind == Kind::request && !(traced ? can_ask(said.to.client) : clients_.has(client())))
    return answer_question(from, said);
  if (knows_client() && message.kind == Kind::notification) {
    if (message.known == Method::tools_changed) return list_changed(from, ListKind::tools);
    if (message.known == Method::prompts_changed) return list_changed(from, ListKind::prompts);
    if (message.known == Method::resources_changed) {
      list_changed(from, ListKind::templates);
      return list_changed(from, ListKind::resources);
    }
  }
  // A modern client only gets log messages that belong to a request of its own, and there is none.
  if (message.known == Method::log_message && client_era_ == Era::modern && from.calls() == 0)
    return ring_.add(from.number(), log_line_of(message));
  watcher_.pass(*this, said);
}

void Instance::list_changed(Generation& from, ListKind kind) {
  if (&from == current_.get()) {
    refetch(kind);
  } else if (&from == incoming()) {
    birth_->changed[static_cast<std::size_t>(kind)] = true;  // our own list may be older or newer than that
  }
}

// A server says that a list changed: the client is told once we have the new one.
void Instance::refetch(ListKind kind) {
  if (!offer_.begin_fetch(kind)) return;
  fetch_lists(*current_, {kind}, [this, kind, of = current_->id()](FetchedLists fetched) {
    if (!current_ || current_->id() != of) return;
    if (offer_.end_fetch(kind)) return refetch(kind);
    if (kind == ListKind::tools) release_waiting();
    if (!fetched.refusals.empty()) {
      log_warn("{}: {}; keeping its last list", config_->name, fetched.refusals[0].why);
      return;
    }
    const bool differs = offer_.update(kind, std::move(fetched.catalog.list(kind)));
    watcher_.on_catalog(*this);
    // Templates have no notification of their own: the one for resources, which the server sent, covers
    // both.
    if (differs || kind != ListKind::templates) watcher_.on_list_changed(*this, kind);
    // With several clients, the change may be due to what this one did.
    if (differs && !current_->config().for_many) keep_for_next_run();
  });
}

// A client that stops reading never stops a shared server: what it asked for waits in its own link, which
// stops reading its requests while it is full, and grows no further when it overflows. Nor does it stop a
// check, which it sees nothing of.
bool Instance::clients_full(const Generation& from) const {
  return clients_[client()].full() && !is_in_check(from);
}

Status Instance::status() const {
  Status status;
  status.at = world_.timers().date();
  status.server = config_->name;
  // Only for people: the name that tools, logs and commands use is known before the handshake, and
  // stays.
  status.own_name = shown_text(server_own_name(initialize_result()));
  if (status.own_name == status.server) status.own_name.clear();
  status.state = text(state());
  status.trouble = trouble();
  for (const std::string& word : config_->command.argv)
    status.command += (status.command.empty() ? "" : " ") + word;
  status.version = offer_.version();
  status.executable = world_.files().program_of(config_in_use().command);
  if (current_) {
    status.protocol = current_->protocol();
    status.newer_on_disk = current_->backend().news_if_unchanged() && status.executable && current_file_ &&
                           !status.executable->stamp.looks_like(current_file_->stamp);
    status.life = {.generation = current_->number(),
                   .pid = current_->backend().pid(),
                   .uptime = world_.timers().since(current_->started()),
                   .in_flight = current_->calls()};
    current_->backend().describe(
        [&](std::string_view key, const std::string& value) { status.more.emplace_back(key, value); });
  }
  status.waiting = waiting_.size() + turns_.size() + signing_in_.size();
  status.draining = leaving_.size();
  status.past = past_;
  if (const CheckReport* const held = source_.held()) status.held = held->summary();
  status.usage = Usage::of(counts_);
  if (build_) status.building = world_.timers().since(build_began_);
  status.tools = catalog().list(ListKind::tools).size();
  supervisor().describe(status);
  if (const std::string sign_in = world_.sign_in_of(*config_); !sign_in.empty())
    status.more.emplace_back("sign-in", sign_in);
  return status;
}

}  // namespace mcpivot
