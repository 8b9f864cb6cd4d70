#include "server/instance.h"

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "mcp/initialize.h"
#include "mcp/notice.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/start_cache.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// A client that waits for its handshake is told after this time that the server is not ready.
constexpr milliseconds first_handshake{10'000};
// Who dies sooner than this is not started again at once, the second time.
constexpr milliseconds young{5'000};
constexpr milliseconds first_back_off{100};
constexpr milliseconds longest_back_off{30'000};
// What a server writes when it starts is no reason to start it again; but one that takes longer than this may
// hang, and what is saved then may be what mends it.
constexpr milliseconds quick_birth{2'000};

std::string_view text(Instance::State state) {
  switch (state) {
    case Instance::State::stopped:
      return "stopped";
    case Instance::State::starting:
      return "starting";
    case Instance::State::ready:
      return "ready";
    case Instance::State::failed:
      return "failed";
  }
  return "?";
}

// Methods that change nothing: if the server dies over one, it can be asked again.
bool is_read(Method method) {
  switch (method) {
    case Method::ping:
    case Method::tools_list:
    case Method::prompts_list:
    case Method::prompts_get:
    case Method::resources_list:
    case Method::resource_templates_list:
    case Method::resources_read:
    case Method::complete:
      return true;
    default:
      return false;
  }
}

// What a model can do about a call that took too long.
std::string after_overdue(const ServerConfig& config) {
  if (config.is_daemon()) return " Look whether it did before you call it again.";
  const auto& [rebuild, restart, status, logs] = config.control;
  return (logs.empty() ? "" : fmt::format(" {} shows its stderr.", logs)) +
         (restart.empty() ? "" : fmt::format(" {} starts it anew.", restart));
}

}  // namespace

Instance::Instance(World& world, Clients& clients, Source& source, InstanceId id, ServerConfig config,
                   NoticeBoard& notices, Watcher& watcher)
    : world_(world),
      clients_(clients),
      source_(source),
      id_(id),
      notices_(notices),
      watcher_(watcher),
      waiting_(world.timers(), config.queue_timeout,
               [this](const WaitingRoom::Waiting& overdue) {
                 const Message message = overdue.message.message();
                 if (Generation* generation = serving(); generation != nullptr && may_pass(message)) {
                   generation->request(overdue.asker, message, overdue.sent_before);
                   return watch_overdue_calls();
                 }
                 refuse(overdue.asker, message,
                        fmt::format("the request waited {} for it to start; {}",
                                    duration_text(config_->queue_timeout), why_not_ready()));
               }),
      connection_(world.timers()),
      birth_timer_(world.timers()),
      back_off_timer_(world.timers()),
      patience_timer_(world.timers()),
      overdue_timer_(world.timers()),
      long_birth_timer_(world.timers()),
      catch_up_timer_(world.timers()) {
  adopt(std::move(config));
  source_.add(*this);
}

// Whatever is made of the configuration changes with it; generations keep the one that they have.
void Instance::adopt(ServerConfig config) {
  if (config.build.empty()) config.control.rebuild = {};
  config_ = std::make_shared<const ServerConfig>(std::move(config));
  waiting_.set_patience(config_->queue_timeout);
  replay_.set_rules(config_->replay);
  if (config_->http.insecure)
    log_warn("{}: --insecure: anybody may pretend to be this daemon", config_->name);
  if (!daemon_busy_) adopt_keeper();  // else when it has stopped the daemon, for which somebody waits
}

void Instance::adopt_keeper() {
  const bool kept = !config_->http.start.empty() || !config_->http.stop.empty();
  if (!kept || (keeper_ && !keeper_->fits(*config_))) keeper_.reset();
  if (keeper_) keeper_->configure(config_);
  if (kept && !keeper_) keeper_ = world_.make_keeper(config_);
}

Instance::~Instance() {
  if (sources_unwatched_) source_.reload_ends();
  source_.remove(*this);
}

// --- what clients want -------------------------------------------------------------------------------------

void Instance::start(const std::string& reason) {
  if (state_ == State::stopped && !current_) bear(reason);
}

void Instance::start_later() {
  lazy_ = true;
  trouble_ = "it starts at its first use";
  if (knows_client()) learn_tools();
}

// Nothing is known of a lazy one that never ran: it is started once, so that there is something to list.
void Instance::learn_tools() {
  if (lazy_ && initialize_result_.empty()) start("to learn its tools");
}

void Instance::hello(std::string_view params, std::function<void()> then) {
  replay_.hello = params.empty() ? "{}" : std::string(params);
  if (initialize_result_.empty() && state_ != State::failed) recall_last_run();
  learn_tools();
  if (unborn_ && !handshake_) shake_hands();
  if (!then) {
    lists_shown_ = true;
    return;
  }
  settled_.push_back({.then = std::move(then)});
  const bool known = !initialize_result_.empty();
  const bool hopeless =
      !farewell_reason_.empty() || (!unborn_ && (state_ == State::failed || state_ == State::stopped));
  if (known || hopeless) return settle();
  patience_timer_.set(first_handshake, [this] {
    trouble_ = fmt::format("it has not finished its handshake after {}", duration_text(first_handshake));
    settle();
  });
}

void Instance::when_settled(Asker asker, std::string_view id, std::function<void()> then) {
  const bool settled = !initialize_result_.empty() || settled_.empty();
  if (settled) return then();
  settled_.push_back({.then = std::move(then), .asker = asker, .id = std::string(id)});
}

void Instance::settle() {
  patience_timer_.cancel();
  if (!settled_.empty() && initialize_result_.empty()) told_missing_ = true;
  for (const Settling& one : std::exchange(settled_, {})) one.then();
}

void Instance::recall_last_run() {
  const auto file = unborn_ ? unborn_file_ : world_.files().program_of(config_->command);
  auto last = StartCache(world_.files(), *config_, file, replay_.hello).load();
  if (!last) return;
  initialize_result_ = std::move(last->initialize_result);
  catalog_ = std::move(last->catalog);
  guessed_ = true;
  watcher_.on_catalog();
}

void Instance::keep_for_next_run() const {
  StartCache(world_.files(), current_->config(), current_file_, replay_.hello)
      .save(initialize_result_, catalog_);
}

void Instance::request(Asker asker, const Message& message) {
  if (!may_pass(message)) return refuse_call(asker, message);
  if (message.known == Method::other && !leaving_.empty())
    if (Generation* keeper = keeper_of_task(message)) return keeper->request(asker, message);
  if (Generation* generation = serving()) {
    if (behind_ && must_catch_up(*generation, message)) {
      wait(asker, message, 0);
      return catch_up();
    }
    generation->request(asker, message);
    return watch_overdue_calls();
  }
  if (!farewell_reason_.empty()) return refuse(asker, message, std::string(farewell_reason_));
  resting_ = false;
  const bool down = state_ == State::stopped || cannot_execute_ || manner().look_at_once;
  const bool may_start = !current_ && !unborn_ && !daemon_busy_ && stops_.empty() &&
                         (!build_ || config_->swap == SwapMode::overlap);
  if (down && may_start) bear("a request needs it");
  if (cannot_execute_) return refuse(asker, message, trouble_);
  wait(asker, message, 0);
}

// Whether the user lets this through. Asked whenever something is about to be sent: the rules may have
// changed while it waited.
bool Instance::may_pass(const Message& message) const {
  return message.known != Method::tools_call || watcher_.allows_call(message.text(message.name));
}

void Instance::refuse_call(Asker asker, const Message& message) const {
  const std::string name = string_value(message.text(message.name));
  clients_.answer(asker, error_answer(message.text(message.id), code::invalid_params,
                                      name.empty() ? "tools/call needs the name of a tool, a string"
                                                   : fmt::format("Unknown tool: {}", name)));
}

// An old generation that has the task which a request speaks of.
Generation* Instance::keeper_of_task(const Message& message) const {
  if (!string_value(message.text(message.method)).starts_with("tasks/")) return nullptr;
  const std::string_view task = find_member(message.text(message.params), "taskId");
  const auto keeper = std::ranges::find_if(
      leaving_, [&](const auto& generation) { return !generation->ending() && generation->has_task(task); });
  return keeper == leaving_.end() ? nullptr : keeper->get();
}

void Instance::remember_setting(const Message& message) {
  if (message.known == Method::complete) return;
  replay_.learn_setting(message.known, message.text(message.params));
}

void Instance::notify(const Message& message) {
  if (Generation* generation = serving()) return generation->notify(message);
  if (state_ == State::starting && waiting_.add({}, message, 0)) return;
  log_debug("{}: a notification for a server that does not run: {}", config_->name,
            message.text(message.method));
}

void Instance::apply_setting(const Message& message) {
  remember_setting(message);
  if (current_ && !current_->ending() && has_capability(initialize_result_, "logging"))
    current_->inquire(string_value(message.text(message.method)), message.text(message.params),
                      [](const Message&) {});
}

void Instance::forget(ClientId client) {
  waiting_.forget(client);
  std::erase_if(settled_, [&](const Settling& one) { return one.asker.client == client; });
  for (const auto& generation : {current_, unborn_})
    if (generation) generation->forget(client);
  for (const auto& generation : std::list(leaving_)) generation->forget(client);
}

Generation* Instance::find(GenerationId id) const {
  for (const auto& generation : {current_.get(), unborn_.get()})
    if (generation != nullptr && generation->id() == id) return generation;
  const auto found = std::ranges::find(leaving_, id, [](const auto& generation) { return generation->id(); });
  return found == leaving_.end() ? nullptr : found->get();
}

std::vector<std::string> Instance::tasks() const {
  std::set<std::string> all = earlier_tasks_;
  if (current_) all.insert(current_->open_tasks().begin(), current_->open_tasks().end());
  for (const auto& generation : leaving_)
    all.insert(generation->open_tasks().begin(), generation->open_tasks().end());
  return {all.begin(), all.end()};
}

void Instance::restore(Replay::Memory memory, const std::vector<std::string>& tasks) {
  replay_.set_memory(std::move(memory));
  earlier_tasks_.insert(tasks.begin(), tasks.end());
}

bool Instance::has_task(std::string_view id) const {
  return earlier_tasks_.contains(std::string(id)) || (current_ && current_->has_task(id)) ||
         std::ranges::any_of(leaving_, [&](const auto& generation) { return generation->has_task(id); });
}

bool Instance::cancel(ClientId client, const Message& cancelled) {
  auto has = [&](const std::shared_ptr<Generation>& generation) {
    return generation && generation->cancel(client, cancelled);
  };
  if (has(current_) || has(unborn_) || std::ranges::any_of(leaving_, has)) return true;
  const auto waited = waiting_.cancel(client, cancelled);
  if (waited) clients_.withdrawn(*waited);
  return waited || cancel_settling(client, cancelled);
}

bool Instance::cancel_settling(ClientId client, const Message& cancelled) {
  const auto found = std::ranges::find_if(settled_, [&](const Settling& one) {
    return one.asker.client == client && same_id(one.id, cancelled.text(cancelled.request_id));
  });
  if (found == settled_.end()) return false;
  const Asker asker = found->asker;
  settled_.erase(found);
  clients_.withdrawn(asker);
  return true;
}

void Instance::resume() {
  if (current_) current_->resume();
  if (unborn_) unborn_->resume();
  for (const auto& generation : leaving_) generation->resume();
}

void Instance::wait(Asker asker, const Message& message, int sent_before) {
  if (!waiting_.add(asker, message, sent_before))
    refuse(asker, message,
           fmt::format("{} requests wait for it already; {}", WaitingRoom::most_waiting, why_not_ready()));
}

// A generation that makes room for the next one is still called ready.
std::string Instance::why_not_ready() const {
  return trouble_.empty() ? "a new generation takes its place" : trouble_;
}

void Instance::release_waiting() {
  if (serving() == nullptr) return;
  for (const auto& waiting : waiting_.take_all()) {
    const Message message = waiting.message.message();
    if (!waiting.is_request()) {
      serving()->notify(message);
    } else if (may_pass(message)) {
      serving()->request(waiting.asker, message, waiting.sent_before);
    } else {
      refuse_call(waiting.asker, message);
    }
  }
  watch_overdue_calls();
}

void Instance::refuse(Asker asker, const Message& message, const std::string& why) const {
  std::string words = fmt::format("[mcpivot] server \"{}\" {}: {}", config_->name, manner().absent, why);
  const std::string lines = telling_lines(ring_.lines_of(past_.starts));
  const bool told = why.find('\n') != std::string::npos;  // how a start failed has them already
  if (!lines.empty() && !told) words += fmt::format(".\n{}", lines);
  clients_.answer(asker, failure_answer(message.known, message.text(message.id), words));
}

// --- birth -------------------------------------------------------------------------------------------------

void Instance::bear(std::string reason) {
  if (unborn_ || daemon_busy_ || !farewell_reason_.empty()) return;
  back_off_timer_.cancel();
  if (config_->swap == SwapMode::stop_first) {  // it cannot run twice, and not during a build either
    if (build_ || reloads_.waits()) return;
    if (!leaving_.empty()) {
      birth_due_ = std::move(reason);
      return;
    }
  }
  forget_to_catch_up();
  birth_reason_ = std::move(reason);
  const int number = ++past_.starts;
  changed_before_birth_ = {};
  unborn_file_ = world_.files().program_of(config_->command);
  auto generation = Generation::start(world_, clients_, config_, {id_, ++births_, number}, ring_, *this,
                                      current_ ? &current_->backend() : nullptr);
  cannot_execute_ = !generation;
  if (!generation) return birth_failed(generation.error());
  unborn_ = std::move(*generation);
  const bool tried_before =
      config_->is_daemon() && state_ == State::failed;  // and it is not news that we try
  if (!current_ && !tried_before)
    become(State::starting, fmt::format("it is starting (generation {}){}", number, last_time()));
  if (sources_unwatched_) {
    long_birth_timer_.set(quick_birth, [this] { watch_again(); });
  }
  if (knows_client()) return shake_hands();
  release_waiting();
  // It may be long until a client comes; whoever asked for this must not wait for that.
  if (!reloads_.under_way() || build_) return;
  const std::string words =
      fmt::format("[mcpivot] \"{}\" was started: generation {}, {}. It shakes hands when the client does.",
                  config_->name, number, unborn_->backend().where());
  if (reloads_.end({true, words})) start_round();
}

// What went wrong before, for somebody who waits for a start that may fail again.
std::string Instance::last_time() const {
  if (state_ != State::failed) return {};
  return fmt::format("; the last time {}", trouble_.substr(0, trouble_.find('\n')));
}

void Instance::shake_hands() {
  birth_timer_.set(config_->start_timeout, [this] { on_birth_overdue(); });
  auto may_make = [this](const Replay::Call& call) {
    return call.method != "tools/call" || watcher_.allows_call(find_member(call.params, "name"));
  };
  handshake_ = std::make_shared<Handshake>(*unborn_, replay_.hello, replay_.calls(), std::move(may_make),
                                           [this](auto outcome) { on_born(std::move(outcome)); });
  handshake_->start();
}

// A call that is made again and never answers blocks nothing; the second time in a row it is given up.
void Instance::on_birth_overdue() {
  const std::string limit = duration_text(config_->start_timeout);
  const auto keep = handshake_;
  const Replay::Call* const call = keep ? keep->replaying() : nullptr;
  if (call == nullptr) return birth_failed(fmt::format("it did not finish its handshake within {}", limit));
  const std::string what = fmt::format("{} {}", call->method, call->params);
  const bool again = late_replay_ == what;
  if (again) replay_.drop(*call);
  keep->finish_without_replay(fmt::format("no answer within {} of its start{}", limit,
                                          again ? ", for the second time; it is given up" : ""));
  late_replay_ = again ? std::string() : what;
}

void Instance::on_born(std::expected<Handshake::Outcome, std::string> outcome) {
  late_replay_.clear();
  if (!outcome) return birth_failed(std::move(outcome.error()));
  // A server that cannot list what it had offered takes nobody's place.
  for (const auto& [kind, why] : outcome->lists.refusals)
    if (!guessed_ && !catalog_.list(kind).empty()) return birth_failed(why);
  swap_in(std::move(*outcome));
}

void Instance::birth_failed(std::string why) {
  if (unborn_) {
    const std::string lines = telling_lines(unborn_->stderr_lines());
    if (!lines.empty()) why += fmt::format("\n{}", lines);
  }
  blame_replay();
  abandon_birth();
  if (config_->is_daemon()) {
    connection_.failed(why);
    --past_.starts;  // there was no session to count
    if (wait_for_daemon(why)) return;
  } else {
    log_warn("{}: generation {} failed: {}", config_->name, past_.starts, why);
  }
  // Whoever waits for a build waits for what comes of that.
  auto tell = [&](const std::string& words) {
    if (!build_) reload_done({false, words});
  };
  if (current_)
    return tell(fmt::format("[mcpivot] the new generation of \"{}\" failed: {}\nGeneration {} still serves.",
                            config_->name, why, current_->number()));
  become(State::failed, why);
  ++young_deaths_;
  tell(fmt::format("[mcpivot] \"{}\" failed to start: {}", config_->name, why));
  settle();
  if (!unborn_ && state_ == State::failed) back_off();
}

// A call that two births in a row did not survive is not made again: else there would never be a third.
void Instance::blame_replay() {
  const Replay::Call* const call = handshake_ ? handshake_->replaying() : nullptr;
  const std::string what = call != nullptr ? fmt::format("{} {}", call->method, call->params) : std::string();
  if (std::exchange(fatal_replay_, what) != what || call == nullptr) return;
  dropped_replays_.push_back(fmt::format("{} (two generations did not survive it)", call->label));
  replay_.drop(*call);
}

// Whatever is being born is no longer wanted.
void Instance::abandon_birth() {
  birth_timer_.cancel();
  handshake_.reset();
  birth_due_.clear();
  auto unborn = std::exchange(unborn_, nullptr);
  if (!unborn || unborn->dead()) return;
  leaving_.push_back(unborn);
  unborn->end(farewell);
}

void Instance::swap_in(Handshake::Outcome outcome) {
  birth_timer_.cancel();
  handshake_.reset();
  fatal_replay_.clear();
  for (std::string& dropped : std::exchange(dropped_replays_, {}))
    outcome.failed_replays.push_back(std::move(dropped));
  const auto old = std::exchange(current_, std::exchange(unborn_, nullptr));
  const bool guessed = std::exchange(guessed_, false);
  const bool first = initialize_result_.empty() || guessed;
  past_.last_start_took = world_.timers().since(current_->started());
  const auto absence = connection_.made();
  if (keeper_) keeper_->arrived();
  first_try_ = start_wanted_ = resting_ = false;
  const std::string version_before = server_version(initialize_result_);
  initialize_result_ = std::move(outcome.initialize_result);
  const auto file_before = std::exchange(current_file_, std::move(unborn_file_));
  const Diff diff = compare(catalog_, outcome.lists.catalog);
  catalog_ = std::move(outcome.lists.catalog);
  watcher_.on_catalog();
  const auto shown = [&](ListKind kind, const std::string& own) { return watcher_.shown_name(kind, own); };
  become(State::ready, {});

  std::string words =
      fmt::format("[mcpivot] \"{}\" {}: generation {}, {}, ready in {} ({}).", config_->name,
                  first ? "runs" : current_->backend().renewed(), current_->number(),
                  current_->backend().where(), duration_text(past_.last_start_took), birth_reason_);
  if (config_->is_daemon()) words = connection_words(absence);
  // A session that was merely forgotten is nobody's concern, unless something is different in the new one.
  const bool silent =
      std::exchange(session_forgotten_, false) && diff.empty() && outcome.failed_replays.empty();
  const bool news = (current_->number() > 1 && !silent) || told_missing_ || (guessed && !diff.empty());
  bool telling = news && (told_missing_ || !diff.empty() || current_->backend().news_if_unchanged());
  if (!first) {
    past_.last_diff = diff.empty() ? "nothing" : diff.text(shown);
    log_info("{}: changed: {}", config_->name, past_.last_diff);
  }
  if (news)
    words += fmt::format("\n{}{}", guessed && !diff.empty() ? "unlike its last run: " : "",
                         diff.empty() ? "tools, prompts and resources: unchanged." : diff.text(shown));
  if (!first) words += binary_line(file_before, version_before);
  for (const std::string& failed : outcome.failed_replays)
    words += fmt::format("\nnot repeated: {}.", failed);
  for (const auto& [kind, why] : outcome.lists.refusals) {
    log_warn("{}: {}", config_->name, why);
    if (kind != ListKind::tools) continue;  // who has no use for the others does not miss them
    words += fmt::format("\nit has no tools: {}.", why);
    telling = true;
  }
  if (!crash_to_tell_.empty())
    words += fmt::format("\nprevious generation: {}.", std::exchange(crash_to_tell_, {}));
  told_missing_ = false;
  refetching_ = refetch_again_ = {};
  bool next_round = false;
  if (reloads_.under_way() && !build_) {  // else they wait for what comes of the build
    young_deaths_ = 0;                    // what somebody had made anew is not judged by what it was before
    next_round = end_round({.ok = true, .text = words, .news = telling});
  } else if (telling) {
    add_notice(words);
  }
  for (const ListKind kind : all_lists)
    if ((news || lists_shown_) && !diff.of(kind).empty()) watcher_.on_list_changed(kind);
  for (const ListKind kind : all_lists)
    if (std::exchange(changed_before_birth_[static_cast<std::size_t>(kind)], false)) refetch(kind);
  if (old) last_used_ = std::max(last_used_, old->last_asked());
  if (old) drain(old);
  if (next_round) start_round();  // a server that cannot run twice ends again: requests wait for the next one
  release_waiting();
  settle();
  watcher_.on_writable();
  if (!guessed || !diff.empty()) keep_for_next_run();
}

// What the model should know about the program that runs now: only if it is another one.
std::string Instance::binary_line(const std::optional<FileFacts>& before,
                                  const std::string& version_before) const {
  const std::string version = server_version(initialize_result_);
  const bool same_file = !current_file_ || (before && before->path == current_file_->path &&
                                            before->stamp.looks_like(current_file_->stamp));
  if (same_file && version == version_before) return {};
  if (config_->is_daemon()) return fmt::format("\nversion {} → {}", version_before, version);
  std::string line = "\nbinary: " + (current_file_ ? current_file_->text(world_.timers().date())
                                                   : config_->command.argv.at(0));
  if (version != version_before) line += fmt::format("; version {} → {}", version_before, version);
  return line;
}

// --- death -------------------------------------------------------------------------------------------------

void Instance::on_lost(Generation& generation, Generation::Open lost, std::string_view why) {
  settle(generation, lost, describe_death(generation, std::string(why)), true);
}

void Instance::on_death(Generation& generation, const Backend::Ending& ending) {
  const auto keep = generation.shared_from_this();
  clients_[client()].forget(generation.id());
  Death death = describe_death(generation, ending.how);
  past_.last_exit_code = ending.exit_code;
  past_.last_lifetime = death.after;
  if (keep == unborn_) {
    unreachable_ = ending.unreachable;
    settle_open(generation, death, false);
    birth_failed(fmt::format("it {}{}", ending.how, manner_of(generation.config()).unborn));
  } else if (keep != current_) {
    // A session with a daemon may end later than the daemon itself.
    const bool stopped = !stops_.empty() || (state_ == State::stopped && !resting_);
    if (generation.ending()) {
      death.because = shut_down_ ? farewell_reason_
                      : stopped  ? "it was stopped on request"
                                 : "a new generation took its place";
      count_kill(death.because);
    }
    settle_open(generation, death, !shut_down_ && !stopped);
    leaving_.remove(keep);
    if (generation.ending()) note_end(generation, death.how);
    finish_stop_if_gone();
    begin_reload_if_clear();
    if (leaving_.empty() && !birth_due_.empty() && !shut_down_) bear(std::exchange(birth_due_, {}));
    bear_for_waiting();
  } else if (generation.ending()) {
    current_.reset();
    on_ended(generation, death);
  } else {
    current_.reset();
    if (generation.config().is_daemon()) {
      on_daemon_lost(generation, death, ending.forgotten);
    } else {
      on_crash(generation, death, ending.from_outside);
    }
  }
  end_if_gone();
}

void Instance::count_kill(std::string reason) {
  ++past_.kills;
  past_.last_kill = std::move(reason);
  past_.last_kill_at = world_.timers().date();
}

// The current generation is gone because we wanted it so: to stop, to make room for the next one, or for
// good.
void Instance::on_ended(Generation& generation, Death& death) {
  const bool reloading = reloads_.under_way() && !shut_down_;
  const bool rested = resting_ && !shut_down_ && stops_.empty();
  death.because = shut_down_  ? farewell_reason_
                  : reloading ? "a new generation takes its place"
                  : rested    ? "nobody needed it"
                              : "it was stopped on request";
  past_.last_exit = fmt::format("{} after {}", death.how, duration_text(death.after));
  count_kill(death.because);
  settle_open(generation, death, reloading);
  become(reloading ? State::starting : State::stopped,
         shut_down_  ? std::string(farewell_reason_)
         : reloading ? death.because
         : rested    ? "it was stopped because nobody needed it; the next call starts it"
                     : "it was stopped on request; the next call starts it");
  note_end(generation, past_.last_exit);
  finish_stop_if_gone();
  watcher_.on_writable();  // nobody may wait for a dead server to read
  if (shut_down_) return;
  if (reloads_.under_way()) {
    begin_reload_if_clear();
  } else {
    bear_for_waiting();
  }
}

// Who came while it was being stopped gets the next one, once it is gone.
void Instance::bear_for_waiting() {
  const bool down = state_ == State::stopped && !current_ && !unborn_ && !daemon_busy_;
  if (down && stops_.empty() && !reloads_.under_way() && waiting_.size() > 0) bear("a request needs it");
}

void Instance::on_crash(Generation& generation, const Death& death, bool from_outside) {
  past_.last_exit = crash_to_tell_ = fmt::format("{} after {}", death.how, duration_text(death.after));
  ++(from_outside ? past_.outside_deaths : past_.crashes);
  count_young_death(generation, death.after < young);
  become(State::starting, fmt::format("it {} and is being started again", past_.last_exit));
  if (settle_open(generation, death, true) == 0) add_notice(crash_report(death, {}, {}));
  watcher_.on_writable();  // nobody may wait for a dead server to read
  if (!unborn_) back_off();
}

// What the earlier ones did says nothing of one that was good for something.
void Instance::count_young_death(const Generation& generation, bool young) {
  if (generation.answered() || !young) young_deaths_ = 0;
  if (young) ++young_deaths_;
}

void Instance::back_off() {
  const int doublings = std::min(std::max(young_deaths_ - 2, 0), 10);
  const milliseconds delay =
      young_deaths_ < 2 ? milliseconds(0) : std::min(longest_back_off, first_back_off * (1 << doublings));
  back_off_timer_.set(config_->is_daemon() ? daemon_back_off() : delay,
                      [this] { bear(std::string(manner().comes_back)); });
}

// "tools/call of "search"", "tools/list"
std::string Instance::describe(const Generation::Requests::Request& request) const {
  std::string words = string_value(request.method());
  if (request.name().empty()) return words;
  const ListKind kind = request.known == Method::prompts_get ? ListKind::prompts : ListKind::tools;
  return words + fmt::format(" of \"{}\"", watcher_.shown_name(kind, string_value(request.name())));
}

Death Instance::describe_death(Generation& generation, std::string how) const {
  return {.server = config_->name,
          .generation = generation.number(),
          .how = std::move(how),
          .after = world_.timers().since(generation.started()),
          .stderr_lines = generation.stderr_lines(),
          .control = config_->control,
          .daemon = generation.config().is_daemon(),
          .because = {}};
}

std::size_t Instance::settle_open(Generation& generation, const Death& death, bool again) {
  std::size_t told = 0;
  for (Generation::Open& open : generation.take_open())
    told += settle(generation, open, death, again) ? 1 : 0;
  return told;
}

bool Instance::settle(const Generation& generation, Generation::Open& open, const Death& death, bool again) {
  const auto& [request, reached] = open;
  const Manner& manner = manner_of(generation.config());
  const Message message = request.kept.message();
  const Item* tool = request.known == Method::tools_call && !request.name().empty()
                         ? catalog_.find(ListKind::tools, string_value(request.name()))
                         : nullptr;
  const bool safe = !reached || is_read(request.known) || (tool != nullptr && is_safe_to_repeat(*tool));
  if (again && safe && farewell_reason_.empty() && request.sent_before < manner.most_tries &&
      may_pass(message)) {
    if (Generation* next = serving()) {
      next->request(request.origin, message, request.sent_before + 1);
      watch_overdue_calls();
    } else {
      wait(request.origin, message, request.sent_before + 1);
    }
    return false;
  }
  const std::string_view fate = reached ? manner.unsure : "It never reached the server; it had no effect.";
  const std::string words = crash_report(death, describe(request), fate);
  clients_.answer(request.origin, failure_answer(request.known, request.id(), words));
  return true;
}

void Instance::drain(const std::shared_ptr<Generation>& old) {
  leaving_.push_back(old);
  if (old->ending()) return;
  if (old->idle()) return old->end(farewell);
  old->drain();
  if (old->backend().calls_have_own_limits()) return;  // on_idle() will end it
  old->end_by(old->config().drain, farewell);
}

void Instance::on_idle(Generation& generation) {
  if (!generation.ending() && generation.idle()) generation.end(farewell);
}

// --- what servers say --------------------------------------------------------------------------------------

void Instance::on_answer(const Generation::Requests::Request& request, const Message& message) {
  replay_.learn(request, message);
  Edits edits;
  edits.replace(message.id, request.id());
  if (request.known != Method::tools_call || notices_.empty() || request.origin.client != client())
    return clients_.forward(request.origin, message, edits.list());
  const Item* tool =
      request.name().empty() ? nullptr : catalog_.find(ListKind::tools, string_value(request.name()));
  const NoticeInAnswer notice(message, notices_.text(),
                              tool != nullptr ? std::string_view(tool->json) : std::string_view());
  notice.add_to(edits);
  if (notice.fits()) notices_.carried(notice.delivered());
  clients_.forward(request.origin, message, edits.list());
}

void Instance::on_notification(Generation& from, const Message& message) {
  if (knows_client()) {
    if (message.known == Method::tools_changed) return list_changed(from, ListKind::tools);
    if (message.known == Method::prompts_changed) return list_changed(from, ListKind::prompts);
    if (message.known == Method::resources_changed) {
      list_changed(from, ListKind::templates);
      return list_changed(from, ListKind::resources);
    }
  }
  watcher_.on_notification(message);
}

void Instance::list_changed(Generation& from, ListKind kind) {
  if (&from == current_.get()) {
    refetch(kind);
  } else if (&from == unborn_.get()) {
    changed_before_birth_[static_cast<std::size_t>(kind)] =
        true;  // our own list may be older or newer than that
  }
}

// A server says that a list changed: the client is told once we have the new one.
void Instance::refetch(ListKind kind) {
  bool& again = refetch_again_[static_cast<std::size_t>(kind)];
  bool& fetching = refetching_[static_cast<std::size_t>(kind)];
  if (fetching) {
    again = true;
    return;
  }
  fetching = true;
  fetch_lists(*current_, {kind},
              [this, kind, &again, &fetching, of = std::weak_ptr(current_)](FetchedLists fetched) {
                fetching = false;
                if (of.lock() != current_) return;
                if (std::exchange(again, false)) return refetch(kind);
                if (!fetched.refusals.empty()) {
                  log_warn("{}: {}; its last list is kept", config_->name, fetched.refusals[0].why);
                  return;
                }
                auto& items = fetched.catalog.list(kind);
                const bool differs = catalog_.list(kind) != items;
                catalog_.list(kind) = std::move(items);
                watcher_.on_catalog();
                // Templates have no notification of their own: the one of the resources, which their server
                // sent, stands for both.
                if (differs || kind != ListKind::templates) watcher_.on_list_changed(kind);
                if (differs) keep_for_next_run();
              });
}

void Instance::on_request(Generation& from, const Message& request) {
  if (!clients_.has(client())) {
    from.answer(error_answer(request.text(request.id), code::connection_closed, "no client is connected"));
  } else {
    clients_[client()].ask(from.id(), request);
  }
}

void Instance::on_cancelled(Generation& from, const Message& cancelled) {
  clients_[client()].ask_no_more(from.id(), cancelled);
}

bool Instance::clients_full() const {
  return clients_[client()].full();
}

void Instance::watch_overdue_calls() {
  const Generation* const watched = serving();
  if (watching_overdue_ || watched == nullptr || watched->backend().calls_have_own_limits()) return;
  watching_overdue_ = true;
  const milliseconds pace =
      std::clamp(watched->config().call_timeout / 20, milliseconds(50), milliseconds(5'000));
  overdue_timer_.set(pace, [this] {
    watching_overdue_ = false;
    Generation* const generation = serving();
    if (generation == nullptr) return;
    const auto keep = generation->shared_from_this();  // whoever is answered may ask for anything
    const ServerConfig& config = generation->config();
    for (const auto& request : generation->take_overdue(config.call_timeout)) {
      const std::string words = fmt::format(
          "[mcpivot] server \"{}\" did not answer {} within {} (--call-timeout); it was cancelled there and "
          "may have taken effect.{}",
          config.name, describe(request), duration_text(config.call_timeout), after_overdue(config));
      clients_.answer(request.origin, failure_answer(request.known, request.id(), words));
    }
    if (generation->open() > 0) watch_overdue_calls();
  });
}

void Instance::add_notice(const std::string& words) {
  if (watcher_.tells_model()) notices_.add(words);
}

void Instance::become(State state, std::string trouble) {
  if (state_ != state || (!trouble.empty() && trouble != trouble_))
    log_at(state == State::failed ? LogLevel::warn : LogLevel::info, "{}: {} -> {}{}{}", config_->name,
           text(state_), text(state), trouble.empty() ? "" : ": ", trouble);
  state_ = state;
  trouble_ = std::move(trouble);
}

Status Instance::status() const {
  Status status;
  status.at = world_.timers().date();
  status.server = config_->name;
  status.state = text(state_);
  status.trouble = trouble_;
  for (const std::string& word : config_->command.argv)
    status.command += (status.command.empty() ? "" : " ") + word;
  status.version = server_version(initialize_result_);
  status.executable = world_.files().program_of(config_in_use().command);
  if (current_) {
    status.newer_on_disk = !current_->config().cli && status.executable && current_file_ &&
                           !status.executable->stamp.looks_like(current_file_->stamp);
    status.life = {.generation = current_->number(),
                   .pid = current_->backend().pid(),
                   .uptime = world_.timers().since(current_->started()),
                   .in_flight = current_->calls()};
    current_->backend().describe(
        [&](std::string_view key, const std::string& value) { status.more.emplace_back(key, value); });
  }
  status.waiting = waiting_.size();
  status.draining = leaving_.size();
  status.past = past_;
  if (build_) status.building = world_.timers().since(build_began_);
  status.tools = catalog_.list(ListKind::tools).size();
  status.untold = notices_.text();
  if (config_->is_daemon()) describe_daemon(status);
  return status;
}

}  // namespace mcpivot
