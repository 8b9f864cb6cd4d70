// One life of a server: what it lives in (a process, an HTTP session), and the requests that it has not
// answered yet. Gives each request an id of our own on the way in, and its old id back on the way out.
//
// A generation is born running and dies once: by itself, or because end() was called. Everything that it owed
// is then the owner's to settle: take_open() has it. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/upstream_listen.h"
#include "rpc/request_table.h"
#include "server/backend.h"
#include "server/clients.h"
#include "server/world.h"

namespace mcpivot {

class Generation final : public Link::Handler,
                         private Bridge::Ends,
                         private UpstreamListen::Owner,
                         public std::enable_shared_from_this<Generation> {
 public:
  using Requests = RequestTable<Asker>;

  struct Open {
    Requests::Request request;
    bool reached_the_server;  // it may have taken effect
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    // An answer to a client's request.
    virtual void on_answer(const Requests::Request& request, ToClient& said) = 0;
    // Anything else: progress, which knows whom it is for, notifications, and questions.
    virtual void on_said(Generation& from, ToClient& said) = 0;
    virtual bool clients_full() const = 0;
    // How this client introduced itself, if it is one of several. Empty: it didn't, or is the only one.
    virtual std::string_view hello_of(ClientId /*client*/) const { return {}; }
    virtual void on_writable() = 0;
    // Nothing is open any more, of one that drains; said after each answer that made it so.
    virtual void on_idle(Generation& generation) = 0;
    // Something that clients asked is open no more.
    virtual void on_less() {}
    // What the server said in answer to this one was no answer, and its client has been told.
    virtual void on_failed(const Requests::Request& /*request*/) {}
    // One request was lost on the way, while the generation lives on.
    virtual void on_lost(Generation& generation, Open lost, std::string_view why) = 0;
    // It is dead and nothing more comes of it.
    virtual void on_death(Generation& generation, const Backend::Ending& ending) = 0;
  };

  static std::expected<std::shared_ptr<Generation>, std::string> start(World& world, const Clients& clients,
                                                                       ConfigRef config, GenerationId id,
                                                                       OutputRing& ring, Owner& owner,
                                                                       const Backend* predecessor);
  ~Generation() override;

  // Before the first message: the era of the server, and the words and the era of the client whose handshake
  // this is. If the two eras differ there is a bridge from the start; else the first request of another era
  // builds one.
  void meet(Era server, std::string_view hello, Era client);
  Era era() const { return era_; }
  // "2026-07-28 (modern era)", and whether clients of the other one are bridged to it.
  std::string protocol() const;

  // A modern client's: from now on the server tells of changes to the lists that it announced in this answer
  // to `server/discover`, and to these resources.
  void listen(std::string_view discover_result);
  void listen(const Uris& uris);
  // Now and then: what has waited too long is given up, what was lost is opened again.
  void expire();

  // A request from a client. It will be answered, or be among take_open() at the end.
  void request(ToServer& asked);
  void request(Asker asker, const Message& message, int sent_before = 0) {
    ToServer asked(asker, message, sent_before);
    request(asked);
  }
  // A question of our own, whose answer no client sees. `params` is JSON text, or empty. If the generation
  // dies first, nobody is called.
  using OnAnswer = std::function<void(const Message& answer)>;
  std::int64_t inquire(std::string_view method, std::string_view params, OnAnswer on_answer);
  // It takes too long: it is cancelled at the server, and nobody is called.
  void inquire_no_more(std::int64_t inquiry);
  // Nobody wants to know any more; the server isn't told.
  void drop_inquiry(std::int64_t inquiry);
  // Its tools have been listed. Takes those out that must not be offered.
  void learn_tools(std::vector<Item>& tools) { backend_->learn_tools(tools); }
  // A notification from a client, passed on as it is; or one of our own.
  void notify(const Message& message);
  void notify(std::string_view line) { send(line); }
  // A client takes a request back. False: this generation does not know it.
  bool cancel(Asker by, const Message& cancelled);
  // A client is gone: what it asked is cancelled, and nobody is told.
  void forget(ClientId client);
  // A client's answer to a request of this server's, which the server knows by this id.
  void answer(ClientId by, const Message& message, std::string_view id);
  void answer(std::string_view line) { send(line); }
  // A client's progress on such a request; the server's own token is put in.
  void progress(ClientId by, const Message& message, std::string_view token);

  bool full() const { return link_.full(); }
  bool overflows() const { return link_.overflows(); }
  // The clients read again.
  void resume() { link_.resume(); }

  // It gets nothing new, and its owner wants to know when it is idle.
  void drain() { draining_ = true; }
  bool idle() const { return asked_.size() == 0 && tasks_.empty() && !parks(); }
  // Whether calls wait in the bridge for their clients.
  bool parks() const { return bridge_ && !bridge_->idle(); }
  // The requestStates (values) of those that do.
  std::vector<std::string> parked_states() const {
    return bridge_ ? bridge_->parked_states() : std::vector<std::string>();
  }
  // Whether requestStates are the bridge's, which no other generation knows; else they are the server's own.
  bool owns_states() const { return era_ == Era::legacy; }
  // Ends it within twice the patience. on_death() follows.
  void end(std::chrono::milliseconds patience);
  // The same after this time; while it has tasks, after as long as a call may take.
  void end_by(std::chrono::milliseconds time, std::chrono::milliseconds patience);
  bool ending() const { return ending_; }
  bool dead() const { return dead_; }
  // Whether it ever answered a client.
  bool answered() const { return answered_; }

  // All that clients asked and were not answered, in order.
  std::vector<Open> take_open();
  std::size_t open() const { return asked_.size(); }
  std::size_t calls() const;  // those of clients alone
  std::size_t calls_of(ClientId client) const;
  bool is_asked(Method method) const;
  // Who began a task (of MCP 2025-11-25) here; also when it has ended, because it can still be asked for.
  // Nobody: there was none.
  ClientId owner_of_task(std::string_view id) const;
  // Tasks whose results nobody has fetched yet.
  std::size_t tasks() const { return tasks_.size(); }
  // Whether it has a call that this request, which bears a requestState, goes on with.
  bool has_parked(const Message& request) const {
    return bridge_ && bridge_->has_parked(request.text(request.request_state));
  }
  const std::map<std::string, ClientId>& open_tasks() const { return tasks_; }
  // When the last one was begun.
  Clock::Time last_task() const { return last_task_; }
  // What has been asked longer ago than this, without an answer or progress since; it is cancelled at the
  // server.
  std::vector<Requests::Request> take_overdue(std::chrono::milliseconds patience);

  // What it wrote to stderr, as far as the ring still has it.
  std::vector<std::string> stderr_lines() const;

  int number() const { return id_.number; }
  GenerationId id() const { return id_; }
  // The one that it was born with.
  const ServerConfig& config() const { return *config_; }
  const Backend& backend() const { return *backend_; }
  Clock::Time started() const { return started_; }
  // When a client last asked it something.
  Clock::Time last_asked() const { return last_asked_; }

 private:
  Generation(World& world, const Clients& clients, ConfigRef config, GenerationId id,
             std::shared_ptr<Backend> backend, OutputRing& ring, Owner& owner);

  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override { owner_.on_writable(); }
  void on_lost(std::string_view id, bool reached, std::string_view why) override;
  void on_broken(std::string_view why) override { backend_->on_link_broken(why); }
  void on_end(std::string_view why) override { backend_->on_link_end(why); }

  // Bridge::Ends
  void to_server(const Message& message, std::span<const Edit> edits) override { link_.send(message, edits); }
  void to_server(std::string_view line) override { link_.send(line); }
  void to_client(const Message& message, std::span<const Edit> edits) override { take(message, edits); }
  void ask(std::uint64_t client, const Message& message) override;
  std::string_view hello_of(std::uint64_t client) const override {
    return owner_.hello_of(static_cast<ClientId>(client));
  }
  void keep_log(std::string_view line) override { ring_.add(number(), std::string(line)); }
  void wake_bridge(std::chrono::milliseconds after) override;
  std::string secret() override { return world_.secret(); }

  // UpstreamListen::Owner
  void send_listen(std::string_view line) override { send(line); }
  void on_listening(const ListenFilter& asked, const ListenFilter& honoured, bool gap) override;
  void on_refused(int code, std::string_view why) override;
  void wake_listen(std::chrono::milliseconds after) override;
  bool is_heard(const Message& message, std::span<const Edit> edits);

  void build_bridge();
  // To the server, by way of the bridge if there is one.
  void put(ClientId client, const Message& message, std::span<const Edit> edits) {
    if (!bridge_) return link_.send(message, edits);
    bridge_->from_client(message, edits, static_cast<std::uint64_t>(client));
  }
  // What the server says, in the era of whoever it is for.
  void take(const Message& message, std::span<const Edit> edits);
  // The id of ours that the server answers under this one.
  std::int64_t own_of(std::string_view id);
  void on_answer(const Message& message, std::span<const Edit> edits);
  void answer_inquiry(std::int64_t own, const Message& message, std::span<const Edit> edits = {});
  void on_progress(const Message& message, std::span<const Edit> edits);
  void pass(const Message& message, std::span<const Edit> edits);
  void pass_answer(std::int64_t own, const Requests::Request& request, const Message& message,
                   std::span<const Edit> edits);
  void follow_task(const Requests::Request& request, const Message& answer);
  void tell_less() {
    owner_.on_less();
    if (draining_ && asked_.size() == 0 && !parks()) owner_.on_idle(*this);
  }
  void die(const Backend::Ending& ending);
  // A message of a client's, or one of our own.
  void send(ClientId client, const Message& message, const Edits& edits, std::int64_t pair = 0);
  void send(std::string_view line, std::int64_t pair = 0);
  void see_request(const ToServer& asked, bool renamed, std::int64_t own) const;
  // What it said, and what became of that.
  void saw(Seen::What what, std::string_view raw, const Message* message, std::string_view why = {}) const;
  void fail_answers(std::string_view line, const std::string& why);
  void fail_answer(const Skim& skim, const std::string& why);
  void fail(std::int64_t own, const Requests::Request& request, int code, std::string_view why);

  World& world_;
  const Clock& clock_;
  const Clients& clients_;
  ConfigRef config_;
  GenerationId id_;
  std::shared_ptr<Backend> backend_;
  Link& link_;  // the backend's
  OutputRing& ring_;
  Owner& owner_;
  std::unique_ptr<Bridge> bridge_;  // some client is of another era than the server
  std::unique_ptr<Bridge> retired_;
  std::unique_ptr<UpstreamListen> listen_;  // for a modern client
  std::string hello_;                       // of the client whose handshake this is
  std::string initialize_result_;           // of a legacy server
  Era dialect_ = Era::legacy;               // in which we put our own questions
  Era era_ = Era::legacy;                   // of the server
  Alarm late_;                              // it was to end by then
  Alarm bridge_wake_;
  Alarm listen_wake_;
  Clock::Time started_;
  Requests asked_;
  std::map<std::int64_t, OnAnswer> inquiries_;  // questions of our own, by their ids in asked_
  std::map<std::string, ClientId> tasks_;
  Clock::Time last_task_{};
  Clock::Time last_asked_{};
  std::deque<std::pair<std::string, ClientId>> begun_tasks_;  // the latest of them, ended or not
  bool batches_ = false;                                      // its protocol version has them
  bool answered_ = false;
  bool draining_ = false;
  bool ending_ = false;
  bool dead_ = false;
};

}  // namespace mcpivot
