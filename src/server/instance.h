// A server as used by one client, or by all who share it, whatever happens to the processes behind it. It
// passes clients' requests to its current generation, lets them wait while there is none, or answers why not.
// All it knows about its clients is its Watcher.
//
// A new generation always starts next to the current one, if any: process, handshake, lists, replay; then it
// is swapped in, and the old one drains and ends. A failed start (a *birth*) changes nothing.
//
// One thread.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/birth.h"
#include "server/call_counts.h"
#include "server/changes.h"
#include "server/crash_report.h"
#include "server/daemon_supervisor.h"
#include "server/few_at_once.h"
#include "server/generation.h"
#include "server/handshake.h"
#include "server/instance_source.h"
#include "server/instance_watcher.h"
#include "server/life.h"
#include "server/lost_calls.h"
#include "server/offer.h"
#include "server/offer_waits.h"
#include "server/process_supervisor.h"
#include "server/reload_rounds.h"
#include "server/replay.h"
#include "server/sign_in_question.h"
#include "server/status.h"
#include "server/stops.h"
#include "server/verification.h"
#include "server/waiting_room.h"
#include "server/world.h"

namespace mcpivot {

class Instance final : private Generation::Owner, private Birth::Owner {
 public:
  using State = Life::Shown;

  using Watcher = InstanceWatcher;
  using Source = InstanceSource;

  // The references must outlive it.
  Instance(World& world, Clients& clients, Source& source, InstanceId id, ServerConfig config,
           Watcher& watcher);
  ~Instance() override;

  InstanceId id() const { return id_; }
  // The AI's client whose instance it is; nobody: many share it. A terminal is not a client: no model reads
  // what it is told.
  ClientId client() const { return id_.client; }
  bool is_shared() const { return id_.client == ClientId::nobody; }

  // Starts it, if it isn't running. The first generation's handshake waits for a client's.
  void start(const std::string& reason = "first start");
  // The first request that needs it starts it.
  void start_later();
  // A client's handshake: the params of its `initialize`, or a modern client's `_meta` converted to such. If
  // it is the only client, the server's handshake uses them. `then` is called when the answer is known: the
  // server is ready, has failed, or takes too long. Without it, no caller waits: the client sees lists as
  // they come.
  void hello(ClientId client, std::string_view params, Era era, std::function<void()> then);
  // The same for a request that can be answered only when it is known what the server offers; it may be
  // cancelled in the meantime.
  void when_settled(Asker asker, std::string_view id, std::function<void()> then);
  // The same for a client that needs no handshake first.
  void when_known(Asker asker, std::string_view id, std::function<void()> then);
  // None of these needs to wait any longer.
  void settle();
  // Whether it is starting for the first time, and nothing is known about what it offers. A server that
  // rejected us is asked again, but no caller waits for that.
  bool starts_unknown() const {
    const bool on_its_way = life_.is_refused() ? birth_ != nullptr : life_.is<Life::Starting>();
    return !offer_.known() && knows_client() && on_its_way && !failed_lately();
  }
  // It refused us, and nothing is known about what it offers.
  bool refuses_us() const { return life_.is_refused() && !offer_.known(); }
  // A caller wants to know what it offers. A server that rejected us may accept us by now.
  void look_again() {
    if (refuses_us()) happens(Life::Needed{});
  }
  // A sign-in that it wanted is over. `trouble`: why it failed; empty: there are new credentials.
  void sign_in_over(const std::string& trouble);
  bool knows_client() const { return !replay_.hello.empty(); }
  // Which eras the server accepts, as far as known: from this run, or the last one.
  const Eras& eras() const { return eras_.get(); }
  // Asks a server before its handshake whether it accepts the modern era; `then` is called when that is
  // known, or can't be known now.
  void ask_era(ClientId client, std::string_view hello, std::function<void()> then);

  // Every request is answered exactly once, sooner or later.
  void request(ToServer& asked);
  void request(Asker asker, const Message& message) {
    ToServer asked(asker, message);
    request(asked);
  }
  void notify(const Message& message);
  // False: no request of this client's with that id is under way here.
  bool cancel(Asker by, const Message& cancelled);
  // Who started this task; nobody: there is none.
  ClientId owner_of_task(std::string_view id) const;
  // The tasks of a client whose results it has not fetched yet.
  std::vector<std::string> tasks(ClientId client) const;
  // What a client told earlier generations, for the next one.
  Replay::Memory memory(ClientId client) const { return replay_.memory(client); }
  // The same client was here before, in an earlier run of mcpivot.
  void restore(ClientId client, Replay::Memory memory, const std::vector<std::string>& tasks);
  // The clients that want to know about updates of this resource.
  std::vector<ClientId> subscribers(std::string_view uri) const { return replay_.subscribers(uri); }
  // A client is gone, and nobody waits for its answers any more.
  void forget(ClientId client);
  // A living generation of its; null: it is gone.
  Generation* find(GenerationId id) const;
  // The resources whose updates a modern client wants.
  void listen(ClientId client, Uris uris);
  // A client made a setting that the server doesn't support; a later generation may. False: it has made too
  // many.
  bool remember_setting(ClientId client, const Message& message);
  // A client set the log level for all servers; nobody waits for the answer.
  void set_level(ClientId client, const Message& message);

  // Starts a new generation, after a build if asked for. Joins a reload that is already under way.
  void reload(Reload reload);
  // Whether a build waits until a user accepts it: Reload::accepts.
  bool holds_build() const { return source_.held() != nullptr; }
  // The caller no longer wants it: a build under way is stopped if no other caller waits for it.
  void cancel_reload(ReloadId id);
  // Stops it and, with `others`, other processes of this user that run its program, if that is the user's
  // own, so that the file can be replaced. The next request that needs it starts it again.
  void stop(Stops::Done done, bool others = true);
  // The server's sources changed, or a restart was requested from outside: builds it first, if it has a
  // build.
  void follow_sources(const std::string& reason);
  // Its program file has been replaced. False: it runs the new one already, or is building.
  bool program_replaced(const std::string& reason);
  // Another instance has shown that the server changed at that time: this one follows, at its next call or
  // when it is idle.
  void fall_behind(Clock::Time since);
  // Nothing newer than the current generation is on its way any more: calls that waited for it go on.
  void changes_over();
  // An instance that it replaces has ended.
  void predecessor_gone() { live(); }
  // The era of its client; legacy until that is known.
  Era client_era() const override { return client_era_; }
  // Whether it is serving, or will as soon as it has started.
  bool works() const { return birth_ || (current_ && !current_->ending()); }
  // Whether a request of one of these clients is in flight or waits.
  bool works_for(const std::function<bool(ClientId)>& whom) const;
  // Whether any generation of it runs.
  bool runs() const { return current_ || birth_ || !leaving_.empty(); }
  // Whether nothing of it runs, and nothing is about to.
  bool rests() const {
    return !runs() && state() == State::stopped && reloads_.round() == Life::Round::none &&
           life_.coming() == Life::Next::nothing;
  }
  // Whether it serves and isn't needed at the moment: nothing is in flight, and no client is subscribed to a
  // resource.
  bool is_idle() const;
  // Stops it until its next use, if it is idle.
  void rest();
  // Whether it is active for any of its clients.
  bool is_active() const { return watcher_.is_active(*this); }
  // Sets another configuration: a new generation uses it, if it runs.
  void configure(ServerConfig config);
  // It is no longer in the configuration: it finishes its calls, then ends. `done` must not destroy it at
  // once.
  void retire(std::function<void()> done);
  // Ends it for good, within twice the patience.
  void shut_down(std::chrono::milliseconds patience, std::function<void()> done);

  bool full() const { return serving() != nullptr && serving()->full(); }
  // Far more waits for it than full() allows.
  bool overflows() const { return serving() != nullptr && serving()->overflows(); }
  void resume();

  const ServerConfig& config() const { return *config_; }
  // The configuration that the current generation was started with.
  const ServerConfig& config_in_use() const { return current_ ? current_->config() : *config_; }
  const std::string& name() const { return config_->name; }
  State state() const { return life_.shown(); }
  const Life& life() const { return life_; }
  // When it was last asked something.
  Clock::Time last_used() const {
    return std::max(last_used_, current_ ? current_->last_asked() : last_used_);
  }
  // It is ending for good.
  bool ends() const { return life_.is<Life::Leaving>(); }
  // It was stopped on request: a call starts it again.
  bool stopped_on_request() const;
  // Whether its last starts failed, or it died soon after them; it may be starting again.
  bool failed_lately() const { return young_deaths_ > 0; }
  // Why it is not ready, in a sentence.
  std::string_view trouble() const { return life_.trouble(); }
  // "is not running", "is away"; and "can't be used" of a daemon that answers, though with an error.
  std::string_view absence() const;
  const Catalog& catalog() const { return offer_.catalog(); }
  // The server's own result of the handshake; empty before there was one.
  const std::string& initialize_result() const { return offer_.initialize_result(); }
  const OutputRing& ring() const { return ring_; }
  // Its call counts; and those of all instances of its server.
  const CallCounts& counts() const { return counts_; }
  CallCounts counts_of_all() const { return source_.counts(); }
  // The last lines that its server printed, if they aren't in the ring.
  std::optional<std::string> own_output(std::size_t lines) const { return supervisor().own_output(lines); }
  // A notice for the model, with the next tool answer, if this server is in its context and its client
  // doesn't know already.
  void add_notice(const std::string& words, std::span<const ClientId> know = {}) {
    watcher_.tell_model(*this, words, know);
  }
  Status status() const;

 private:
  Generation* incoming() const { return birth_ ? birth_->generation().get() : nullptr; }
  bool is_in_check(const Generation& which) const { return &which == incoming() && birth_->check.begun(); }

  // Who gets requests now: the current generation, or a new one before its handshake, if the client does its
  // own; or nobody.
  Generation* serving() const {
    if (current_) return current_->ending() ? nullptr : current_.get();
    return knows_client() || (incoming() != nullptr && incoming()->ending()) ? nullptr : incoming();
  }

  void adopt(ServerConfig config);
  // The supervisor for the kind of server that a configuration names.
  Supervisor& supervisor_for(const ServerConfig& config);
  const Supervisor& supervisor_for(const ServerConfig& config) const;
  Supervisor& supervisor() { return supervisor_for(*config_); }
  const Supervisor& supervisor() const { return supervisor_for(*config_); }
  const KindTraits& traits() const { return supervisor().traits(); }
  // Why the next generation is started after the one that was lost.
  std::string why_back() const { return std::string(killed_ ? traits().after_kill : traits().comes_back); }
  bool can_build() const { return !config_->build.empty(); }

  // Generation::Owner
  void on_answer(const Generation::Requests::Request& request, ToClient& said) override;
  void on_said(Generation& from, ToClient& said) override;
  bool clients_full(const Generation& from) const override;
  std::string_view hello_of(ClientId client) const override;
  void on_writable() override { watcher_.on_writable(*this); }
  void on_idle(Generation& generation) override;
  void on_less() override {
    if (turns_.size() > 0) take_turns();
  }
  void on_failed(const Generation::Requests::Request& request) override { count_failure(request); }
  void on_lost(Generation& generation, Generation::Open lost, std::string_view why) override;
  void on_death(Generation& generation, const Backend::Ending& ending) override;

  // Birth::Owner, and client_era() above
  std::expected<std::shared_ptr<Generation>, std::string> start_generation(int number) override;
  const std::string& hello() const override { return replay_.hello; }
  std::shared_ptr<Handshake> make_handshake(Generation& with) const override;
  void on_era_asked() override;
  void on_birth_overdue() override;
  void on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome) override;
  void on_start_failed(std::string why) override { birth_failed(std::move(why), false); }

  void count_failure(const Generation::Requests::Request& request) {
    if (request.known == Method::tools_call) counts_.failed();
  }
  void learn_tools();
  void recall_last_run(bool lists_alone);
  void keep_for_next_run() const;

  Life::Facts facts() const;
  void happens(Life::Event event, std::function<void()> then = {});
  void happens_first(Life::Event event);
  void live();
  Life::Effects step(const Life::Event* event);
  void log_step(State before) const;
  void perform(const Life::Effect& effect);

  void bear(const std::string& reason);
  void end_unused_round();
  void on_born(Handshake::Outcome outcome);
  void check();
  void on_checked(CheckReport report);
  void make_up();
  void end_check();
  bool shows_values() const;
  bool keep_from_clients(Generation& from, const Message& said);
  void birth_failed(std::string why, bool ran, bool refused = false);
  void blame_replay();
  void abandon_birth();
  struct Swap;
  void swap_in(Handshake::Outcome outcome);
  Swap make_current(Handshake::Outcome outcome);
  std::vector<std::string> take_failed_replays(Handshake::Outcome& outcome);
  void report(const Swap& swap, bool news);
  std::string diff_of(const Offer::Change& change, bool news);
  std::string headline_of(const Swap& swap) const;
  void announce_lists(const Swap& swap, bool news);
  void tell_birth(const std::string& words, bool news);
  void back_off();
  void drain(const std::shared_ptr<Generation>& old);
  Generation* keeper_of(const Message& message) const;
  std::string program_line(const std::optional<FileFacts>& before, const std::string& version_before) const;
  void list_changed(Generation& from, ListKind kind);
  void refetch(ListKind kind);
  bool has_stale_headers(const Generation::Requests::Request& request, const ToClient& said) const;

  void count_young_death(const Generation& generation, bool young);
  void count_kill(std::string reason);
  void note_end(const Generation& generation, const std::string& how);
  void on_buried(Generation& generation, Death& death);
  void on_ended(Death death);
  void on_crash(const Death& death, const Backend::Ending& ending);
  void on_daemon_stopped(const DaemonSupervisor::Stopped& stopped);

  void refuse_stopped();
  void refuse_waiting(const std::string& why);
  void cancel_timers();
  void begin_round();
  void unwatch_sources();
  void watch_again();
  void take_up_saves(Reload& reload) const;
  // Callers that the old generation answers in the meantime should be told.
  void announce(Reload& reload);
  void tell(const ReloadOutcome& outcome);
  void give_up_round();
  bool must_follow(const Generation& serving, const Message& message) const;
  bool has_work() const;
  void forget_to_follow();
  void follow_when_idle();
  void follow();
  void build();
  void on_built(const Build::Result& result);
  void end_round(const ReloadOutcome& outcome);

  void wait_to_settle();
  void tell_level();
  void on_level_told();
  void subscribe_to(ClientId client, const Uris& uris);
  void unsubscribe(Asker asker, const Message& message);
  void refuse_subscription(const Generation::Requests::Request& request);
  void drop_notification(const Message& message, std::string_view why) const;
  void unsubscribe_if_unwanted(const std::string& params);
  bool can_ask(ClientId client) const { return clients_.has(client) && !clients_[client].overflows(); }
  void answer_question(Generation& from, const ToClient& said) const;
  std::vector<std::string> stderr_for_clients(int generation) const;
  void wait(const ToServer& asked);
  void wait(Asker asker, const Message& message, Attempts sent_before) {
    wait(ToServer(asker, message, sent_before));
  }
  // Sends it to the server or, if this client has enough requests in flight there, later, when some have
  // ended. Waiting ones come first, unless it is one of them.
  void put(Generation& generation, ToServer& asked, bool waited = false);
  void put(Generation& generation, Asker asker, const Message& message, Attempts sent_before,
           bool waited = false) {
    ToServer asked(asker, message, sent_before);
    put(generation, asked, waited);
  }
  void put_waiting(const WaitingRoom::Waiting& waiting, bool waited = false);
  void take_turns();
  // Whether requests wait for a generation.
  bool is_waited_for() const { return waiting_.any(false) || (turns_.size() > 0 && serving() == nullptr); }
  std::vector<WaitingRoom::Waiting> take_waiting();
  bool waits_for_predecessor() const;
  std::string why_not_ready() const;
  void release_waiting();
  void release_signing_in();
  struct Settled {
    std::vector<ClientId> told{};
    std::size_t retried = 0;      // though they had reached the server
    std::string retried_first{};  // what it was doing for the first of them
  };
  // What a generation leaves unanswered is retried, once, where that does no harm (and if `again` allows it
  // at all); otherwise its sender is told.
  Settled settle_open(Generation& generation, const Death& death, bool again);
  std::string crash_notice(const Death& death, const Settled& settled) const;
  bool settle(const Generation& generation, Generation::Open& open, const Death& death, bool again);
  void refuse(Asker asker, const Message& message, const std::string& why);
  void refuse_unsigned(Asker asker, const Message& message, const std::string& why) const;
  void refuse_crowded(Asker asker, const Message& message);
  void refuse_turn(Asker asker, const Message& message, const std::string& what) const;
  bool may_pass(Asker asker, Method method, std::string_view name) const;
  bool may_pass(Asker asker, const Message& message) const {
    return may_pass(asker, message.known, message.text(message.name));
  }
  void refuse_unallowed(Asker asker, const Message& message, std::string_view name) const;
  void refuse_lost(Asker asker, const Message& message, const std::string& words) const;
  bool needs_task(const Message& message, std::string_view name) const;
  bool ask_to_sign_in(Asker asker, const Message& message);
  bool asks_for_sign_in(const Generation::Requests::Request& request, const ToClient& said);
  void request_after_sign_in(const ToServer& asked);
  void remember_lost(const Generation& generation, const Death& death);
  enum class Hold : std::uint8_t { if_newer, never };
  void request(ToServer& asked, Hold hold_it);
  void follow_earlier_task(const Generation::Requests::Request& request);
  void count_answer(const Generation::Requests::Request& request, const ToClient& said);
  bool must_hold(const Generation& serving, const Message& message) const;
  void hold(const ToServer& asked);
  void let_go(const WaitingRoom::Waiting& held);
  bool is_outdated(const GenerationId& from) const;
  std::string remark_on_answer(const GenerationId& from) const;
  void watch_overdue_calls();
  std::string describe(const Generation::Requests::Request& request) const;
  Death describe_death(Generation& generation, std::string how) const;
  NextStep next_step(int generation) const;
  std::string next_at_daemon(bool attempted) const;

  World& world_;
  Clients& clients_;
  const Clock& clock_;
  Source& source_;
  InstanceId id_;
  ConfigRef config_;
  Watcher& watcher_;
  OutputRing ring_;
  Replay replay_;
  std::string late_replay_;                   // what had no answer when the last birth timed out
  std::string fatal_replay_;                  // what was being replayed when the last birth failed
  std::vector<std::string> dropped_replays_;  // given up because of that; not reported yet
  Era client_era_ = Era::legacy;
  std::map<ClientId, std::string> hellos_;  // of the clients that share it, in the legacy era
  Uris listened_;                           // resources whose updates the client wants
  struct ToldLevel {
    GenerationId to{};  // that has not answered yet
    std::string level{};
    std::int64_t inquiry = 0;
  };
  ToldLevel told_level_;
  KnownEras eras_;  // of the program that was last started or examined
  struct EraAsker {
    ClientId client;
    std::function<void()> then;
  };
  std::vector<EraAsker> era_askers_;
  std::string era_hello_;  // the hello with which it is asked
  LostCalls lost_calls_;
  std::uint64_t generations_ = 0;
  std::uint64_t last_line_before_start_ = 0;  // of the last process; a generation may take two
  WaitingRoom waiting_;
  WaitingRoom turns_;                // of clients that have used up their share
  WaitingRoom signing_in_;           // of clients whose users are signing in
  SignInQuestion sign_in_question_;  // that its client was asked last

  Life life_;
  struct Happening {
    Life::Event event;
    std::function<void()> then;  // to run once the state has changed
  };
  std::deque<Happening> happenings_;                // still to be processed
  bool living_ = false;                             // one of them is being processed
  std::shared_ptr<Generation> current_;             // is serving, or is ending
  std::shared_ptr<Birth> birth_;                    // of the next one
  std::list<std::shared_ptr<Generation>> leaving_;  // draining or ending
  std::optional<FileFacts> current_file_;           // the program file when it was started
  Offer offer_;
  bool lazy_ = false;  // starts at its first use

  ProcessSupervisor process_;
  DaemonSupervisor daemon_;

  std::shared_ptr<Build> build_;
  Clock::Time build_began_;
  ReloadRounds reloads_;
  OfferWaits offer_waits_;
  Stops stops_;
  std::function<void()> shut_down_;
  std::chrono::milliseconds patience_{Generation::farewell};  // with generations that must end
  // The server has changed, as another instance has shown.
  enum class Following : std::uint8_t { not_needed, soon, now };
  Following following_ = Following::not_needed;
  Clock::Time changed_{};           // when what the current round will start was changed
  Clock::Time last_used_{};         // in earlier generations
  bool sources_unwatched_ = false;  // what a reload writes doesn't trigger another

  Alarm back_off_timer_;  // until the next attempt
  Alarm patience_timer_;  // of a client that waits for the first handshake
  Alarm overdue_timer_;
  Alarm long_birth_timer_;
  Alarm follow_timer_;
  Alarm held_timer_;
  Alarm level_timer_;
  struct EarlierTask {
    ClientId owner;
    bool open = true;  // its result has not been fetched yet
  };
  std::map<std::string, EarlierTask> earlier_tasks_;  // of generations in an earlier run of mcpivot
  int young_deaths_ = 0;
  bool killed_ = false;  // by another program: the generation that died last

  FewAtOnce full_refusals_;  // that contain its stderr
  History past_;
  CallCounts counts_;
};

}  // namespace mcpivot
