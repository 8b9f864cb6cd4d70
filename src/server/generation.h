// One run of a server: what it runs in (a process, an HTTP session), and the requests that it has not
// answered yet. Gives each request an id of our own on the way in, and restores the old id on the way out.
//
// A generation is running when it is created, and dies once: by itself, or because end() was called. Its
// owner then has to settle everything it left unanswered: take_open() returns that. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/upstream_listen.h"
#include "rpc/request_table.h"
#include "server/backend.h"
#include "server/clients.h"
#include "server/world.h"

namespace mcpivot {

// Whether nothing more is to come of a task once this request about it was answered.
bool ends_task(std::string_view method);

class Generation final : public Link::Handler,
                         private Bridge::Ends,
                         private UpstreamListen::Owner,
                         public std::enable_shared_from_this<Generation> {
 public:
  // How many requests each client has open, where there are several: there may be thousands of them.
  struct ByClient {
    bool counts = false;
    std::unordered_map<ClientId, std::size_t> open{};
    void opened(const Asker& asker) {
      if (counts) [[unlikely]]
        ++open[asker.client];
    }
    void closed(const Asker& asker) {
      if (!counts) [[likely]]
        return;
      if (const auto found = open.find(asker.client); --found->second == 0) open.erase(found);
    }
  };
  using Requests = RequestTable<Asker, ByClient>;

  struct Open {
    Requests::Request request;
    bool reached_the_server;  // so it may have taken effect
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    // An answer to a client's request.
    virtual void on_answer(const Requests::Request& request, ToClient& said) = 0;
    // Anything else: progress, which has its addressee, notifications, and questions.
    virtual void on_said(Generation& from, ToClient& said) = 0;
    // Whether what this generation says has to wait, because its client reads too slowly.
    virtual bool clients_full(const Generation& from) const = 0;
    // How this client introduced itself, if there are several. Empty: it didn't, or is the only one.
    virtual std::string_view hello_of(ClientId /*client*/) const { return {}; }
    virtual void on_writable() = 0;
    // A draining generation has nothing open any more; called after each answer that leads to that.
    virtual void on_idle(Generation& generation) = 0;
    // A client's request is no longer open.
    virtual void on_less() {}
    // The server's answer to this request wasn't valid, and its client has been told.
    virtual void on_failed(const Requests::Request& /*request*/) {}
    // One request was lost on the way, while the generation lives on.
    virtual void on_lost(Generation& generation, Open lost, std::string_view why) = 0;
    // It is dead, and nothing more will come from it.
    virtual void on_death(Generation& generation, const Backend::Ending& ending) = 0;
  };

  static std::expected<std::shared_ptr<Generation>, std::string> start(World& world, const Clients& clients,
                                                                       ConfigRef config, GenerationId id,
                                                                       OutputRing& ring, Owner& owner,
                                                                       const Backend* predecessor);
  ~Generation() override;

  // Before the first message: the era of the server, and the hello and era of the client whose handshake this
  // is. If the eras differ, there is a bridge from the start; otherwise the first request of another era adds
  // one.
  void meet(Era server, std::string_view hello, Era client);
  Era era() const { return era_; }
  // The era of its client, in which mcpivot's own questions are put.
  Era dialect() const { return dialect_; }
  // "2026-07-28 (modern era)", and whether clients of the other era are bridged to it.
  std::string protocol() const;

  // For a modern client: from now on, the server reports changes to the lists that it announced in this
  // answer to `server/discover`, and to these resources.
  void listen(std::string_view discover_result);
  void listen(const Uris& uris);
  // Called now and then: gives up what has waited too long, reopens what was lost.
  void expire();

  // A request from a client. It will be answered, or be in take_open() at the end.
  void request(ToServer& asked);
  void request(Asker asker, const Message& message, Attempts sent_before = {}) {
    ToServer asked(asker, message, sent_before);
    request(asked);
  }
  // A request of our own, whose answer no client sees. `params` is JSON text, or empty. If the generation
  // dies first, the handler isn't called.
  using OnAnswer = std::function<void(const Message& answer)>;
  std::int64_t inquire(std::string_view method, std::string_view params, OnAnswer on_answer);
  // It takes too long: cancels it at the server; the handler isn't called.
  void inquire_no_more(std::int64_t inquiry);
  // One whose answer doesn't matter. Of many that have none, the oldest are forgotten; a server that reads
  // nothing is told nothing.
  void tell(std::string_view method, std::string_view params);
  // The answer isn't wanted any more; the server isn't told.
  void drop_inquiry(std::int64_t inquiry);
  // Its tools have been listed. Removes those that must not be offered.
  void learn_tools(std::vector<Item>& tools) { backend_->learn_tools(tools); }
  // A notification from a client, passed on unchanged; or one of our own.
  void notify(const Message& message);
  void notify(std::string_view line) { send(line); }
  // A client cancels a request. False: this generation doesn't have it.
  bool cancel(Asker by, const Message& cancelled);
  // A client is gone: cancels its requests, without telling anybody.
  void forget(ClientId client);
  // A client's answer to this server's request with this id.
  void answer(ClientId by, const Message& message, std::string_view id);
  // An answer of our own. A server that asks and asks, and reads nothing, gets none.
  void answer(std::string_view line) {
    if (!link_.overflows()) send(line);
  }
  // A client's progress on such a request; it gets the server's own token.
  void progress(ClientId by, const Message& message, std::string_view token);

  bool full() const { return link_.full(); }
  bool overflows() const { return link_.overflows(); }
  // The clients read again.
  void resume() { link_.resume(); }

  // It gets no new requests, and its owner is told when it is idle.
  void drain() {
    if (course_ == Course::serves) course_ = Course::drains;
  }
  bool idle() const { return asked_.size() == 0 && tasks_.empty() && !parks(); }
  // Whether calls wait in the bridge for their clients.
  bool parks() const { return bridge_ && !bridge_->idle(); }
  // The requestStates (values) of such calls.
  std::vector<std::string> parked_states() const {
    return bridge_ ? bridge_->parked_states() : std::vector<std::string>();
  }
  // Whether requestStates are the bridge's, unknown to other generations; else they are the server's own.
  bool owns_states() const { return era_ == Era::legacy; }
  // One that is no longer needed has this long to exit after its stdin is closed, and as long again after
  // SIGTERM.
  static constexpr std::chrono::milliseconds farewell{200};
  // Ends it within twice the patience. on_death() follows.
  void end(std::chrono::milliseconds patience = farewell);
  // The same after this time; while it has tasks, after the time limit of a call.
  void end_by(std::chrono::milliseconds time, std::chrono::milliseconds patience);
  bool ending() const { return course_ == Course::ends; }
  bool dead() const { return dead_; }
  // Whether it ever answered a client.
  bool answered() const { return answered_; }

  // All requests of clients that were not answered, in order.
  std::vector<Open> take_open();
  std::size_t open() const { return asked_.size(); }
  std::size_t calls() const;  // only those of clients
  // Of a client that shares it.
  std::size_t calls_of(ClientId client) const;
  bool has_calls_of(const std::function<bool(ClientId)>& whom) const;
  bool is_asked(Method method) const;
  // Who started a task (of MCP 2025-11-25) here; even after it ended, because its result can still be
  // requested. Nobody: there was none.
  ClientId owner_of_task(std::string_view id) const;
  // Tasks whose results have not been fetched yet.
  std::size_t tasks() const { return tasks_.size(); }
  // Whether it has a call that this request, which has a requestState, continues.
  bool has_parked(const Message& request) const {
    return bridge_ && bridge_->has_parked(request.text(request.request_state));
  }
  const std::map<std::string, ClientId>& open_tasks() const { return tasks_; }
  // When the last one was started.
  Clock::Time last_task() const { return last_task_; }
  // Requests without an answer or progress for this long; they are cancelled at the
  // server.
  std::vector<Requests::Request> take_overdue(std::chrono::milliseconds patience);

  // What it wrote to stderr, as far as it is still in the ring.
  std::vector<std::string> stderr_lines() const;

  int number() const { return id_.number; }
  GenerationId id() const { return id_; }
  // The one that it was started with.
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
  void to_server(std::string_view line) override {
    if (!link_.overflows() || !read_message(line)->is_answer()) link_.send(line);
  }
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
  void on_refused(const ListenFilter& asked, bool refused, int code, std::string_view why) override;
  void wake_listen(std::chrono::milliseconds after) override;
  bool is_heard(const Message& message, std::span<const Edit> edits);

  void build_bridge();
  // To the server, through the bridge if there is one.
  void put(ClientId client, const Message& message, std::span<const Edit> edits) {
    if (!bridge_) return link_.send(message, edits);
    bridge_->from_client(message, edits, static_cast<std::uint64_t>(client));
  }
  // The protocol version of a legacy server, as JSON text.
  std::string_view legacy_version() const;
  // What the server sends, in the era of its addressee.
  void take(const Message& message, std::span<const Edit> edits);
  // Our id for what the server answers under this one.
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
    if (course_ == Course::drains && asked_.size() == 0 && !parks()) owner_.on_idle(*this);
  }
  void die(const Backend::Ending& ending);
  // A message of a client's, or one of our own.
  void send(ClientId client, const Message& message, const Edits& edits, std::int64_t pair = 0);
  void send(std::string_view line, std::int64_t pair = 0);
  void see_request(const ToServer& asked, bool renamed, std::int64_t own) const;
  // Reports to the observer what it sent, and what became of that.
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
  std::unique_ptr<Bridge> bridge_;  // if a client's era differs from the server's
  std::unique_ptr<Bridge> retired_;
  std::unique_ptr<UpstreamListen> listen_;  // for a modern client
  Uris refused_uris_;                       // those that it doesn't listen to, because the server refused
  std::string hello_;                       // of the client whose handshake this is
  std::string initialize_result_;           // of a legacy server
  Era dialect_ = Era::legacy;               // of our own questions
  Era era_ = Era::legacy;                   // of the server
  Alarm late_;                              // when it must end
  Alarm bridge_wake_;
  Alarm listen_wake_;
  Clock::Time started_;
  Requests asked_;
  std::map<std::int64_t, OnAnswer> inquiries_;  // our own requests, by their ids in asked_
  std::deque<std::int64_t> told_;               // those whose answers don't matter
  std::map<std::string, ClientId> tasks_;
  Clock::Time last_task_{};
  Clock::Time last_asked_{};
  std::deque<std::pair<std::string, ClientId>> begun_tasks_;  // the latest tasks, ended or not
  bool answered_ = false;
  enum class Course : std::uint8_t { serves, drains, ends };
  Course course_ = Course::serves;  // what its owner wants of it
  bool dead_ = false;
};

}  // namespace mcpivot
