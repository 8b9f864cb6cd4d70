// One client's view of the servers. Decides who answers its requests: mcpivot itself (the handshake, lists
// from the catalogs, the control tools, ping), or one of its instances.
//
// A Presentation decides how they are shown: one as it is, or several behind a gateway, where only the active
// ones are in the client's lists. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "config/config.h"
#include "gateway/active_memory.h"
#include "gateway/client_listens.h"
#include "gateway/client_state.h"
#include "gateway/control_tools.h"
#include "gateway/early_requests.h"
#include "gateway/leaving.h"
#include "gateway/list_announcer.h"
#include "gateway/member.h"
#include "gateway/presentation.h"
#include "gateway/routes.h"
#include "mcp/notice_board.h"

namespace mcpivot {

using Servers = std::map<std::string, std::shared_ptr<Server>>;  // by name

class Desk final : private Instance::Watcher, private ControlTools::Fleet {
 public:
  // The references must outlive it; `servers` has those that the configuration names.
  Desk(World& world, Clients& clients, const Servers& servers, ClientId client, GatewayConfig config);

  ClientId client() const { return client_; }
  // All that it knows about its client and owes it; a new desk, before it is started, continues from that.
  ClientState state() const;
  void restore(const ClientState& state);
  // Whether its client has done its handshake.
  bool shaken() const { return !hello_.empty(); }
  bool is_modern() const { return era_ == Era::modern; }
  // A server's question to a client that can't be asked.
  void refuse_question(GenerationId from, const Message& question);
  void start();
  // The configuration has changed: servers are added, removed and changed, each on its own.
  void configure(GatewayConfig config);
  // The edited configuration has errors, which this line describes: nothing is done.
  void set_trouble(std::string line) { config_.trouble = std::move(line); }
  // Something the model should know.
  void add_notice(const std::string& words) { notices_.add(words); }
  void shut_down(std::chrono::milliseconds patience, std::function<void()> done);

  // How many of its client's own servers are running, and how many would start at their next use.
  struct Own {
    std::size_t working = 0;
    std::size_t resting = 0;
  };
  Own own_servers() const;
  // Stops servers that are idle, until their next use. The model is told why, and what that means. False:
  // none is idle.
  bool rest(const std::string& why);
  // Its client is idle: frees what can be rebuilt from the servers' lists until it is needed. False: it was
  // freed already.
  bool forget_names();

  void request(Asker asker, const Message& message);
  void notify(const Message& message);
  void cancel(Asker by, const Message& cancelled);
  // The generation that asked a client something; null: it is gone, and no longer wants an answer.
  Generation* find(GenerationId id) const;

  // For terminals, which control it but aren't clients. forget() must be called for a terminal that asked
  // something and disconnects.
  ControlTools::Fleet& fleet() { return *this; }
  // No client uses this desk: from now on it controls what all clients have. The function adds a server to
  // their lists, or removes it.
  using Activate = std::function<std::size_t(const std::string& server, bool active)>;
  void steer_all(Activate activate) { activate_all_ = std::move(activate); }
  // For such a desk: does the handshake in mcpivot's own name, to learn the tools of all servers, or of the
  // one that has this tool. Unknown servers are started for that, if allowed. `then` is called when
  // everything that can be known is.
  void learn_tools(std::string_view tool, bool may_start, std::function<void()> then);
  // A terminal adds a server to the client's list, or removes it. False: the client doesn't have it, or
  // has no other, and then it is always active.
  bool activate(const std::string& server, bool active);
  void forget(ClientId client);
  const Clock& clock() const { return world_.timers(); }
  // The definition of the tool that the client knows by this name; empty: there is none.
  std::string_view tool(std::string_view name);
  // The client's own name; empty before the handshake.
  std::string client_name() const;
  // The client's hello, as JSON text; empty before the handshake.
  const std::string& hello() const { return hello_; }

  // Whether the client must wait: its server doesn't read as fast as we send.
  bool full() const { return presentation_.client_waits && lone().full(); }
  // Whether far more than that waits for one of its servers, and nothing more can be accepted.
  bool overflows() const;
  // A client that was full reads again.
  void clients_writable();
  // Whether the client's handshake is ours to handle, rather than passed to the server.
  bool shakes_hands() const { return !presentation_.shows_handshake || lone().knows_client(); }

  // Servers that are no longer configured, and have not ended yet.
  std::size_t leaving() const { return leaving_.all().size(); }

 private:
  // Instance::Watcher
  void on_writable(const Instance& instance) override;
  void on_catalog(const Instance& /*instance*/) override {
    stale_ = Stale::names;
    if (!listens_.empty()) subscribe();  // the owner of a resource may have changed
  }
  void on_settled(const Instance& /*instance*/) override { early_.look(); }
  void on_stop(const Instance& instance) override { early_.release(instance.name()); }
  void on_list_changed(const Instance& instance, ListKind kind) override;
  void pass_answer(const Instance& instance, const Generation::Requests::Request& request,
                   ToClient& said) override;
  void pass(const Instance& instance, ToClient& said) override;
  bool is_active(const Instance& instance) const override;
  void tell_model(const Instance& instance, const std::string& words,
                  std::span<const ClientId> know) override;
  std::string shown_name(const Instance& instance, ClientId client, ListKind kind,
                         const std::string& own) override;
  bool allows(const Instance& instance, Asker asker, Method method, std::string_view name) const override;

  // ControlTools::Fleet
  ClientId reader() const override { return client_; }
  const std::string& notices() const override { return notices_.text(); }
  Members& members() override { return members_; }
  const Presentation& presentation() const override { return presentation_; }
  bool offered_choice() const override;
  const std::string& trouble() const override { return config_.trouble; }
  CallThrough call_through() const override { return config_.pivot_call; }
  const Routes& routes() override;
  const Routes& names() override { return stale_ == Stale::names ? routes() : routes_; }
  void set_active(Member& member, bool active) override;
  std::vector<Instance*> all_instances() const override;
  bool steers_all() const override { return activate_all_ != nullptr; }
  std::vector<Instance*> instances(Member& member) const override;
  void reload(Member& member, Reload reload) override;
  void cancel_reload(const std::string& server, ReloadId id) override;
  std::size_t set_active_for_all(const std::string& server, bool active) override {
    return activate_all_(server, active);
  }
  void call_tool(Asker asker, const Message& message, const Routes::Target& target) override;
  std::vector<std::string> starting() const override;

  // The single server that is shown as it is.
  Instance& lone() const { return members_.front()->instance(); }
  // The member that has this instance; null: it has ended.
  Member* member_of(InstanceId id) const;
  Member* member_called(std::string_view name) const;
  std::unique_ptr<Member> make_member(ServerEntry entry);
  // Replaces one of the same name that is now shared, or no longer is.
  std::unique_ptr<Member> make_successor(const Member& old, ServerEntry entry);
  void start_next();
  void start(Member& member);
  void watch_start(Member& member);
  void forget_start(const Member& member);
  bool is_active_at_first(const ServerEntry& entry) const;
  // The configuration has added, changed or removed a server.
  void welcome(Member& member);
  void change(Member& member, ServerEntry entry);
  void retire(std::unique_ptr<Member> member);
  void keep_names();
  Naming naming_of(const Member& member) const;

  // What the model knows about the servers; compared later to find out what is news to it.
  struct Known {
    std::map<std::string, bool> active;  // by name
    std::vector<std::string> clashes;
    bool trouble;  // with the configuration
  };
  Known known();
  void tell_since(const Known& before);
  std::string arrival(const Member& member) const;
  void tell_starts();
  void note_missing();

  // Starts the servers that wait because a client may only want to know the protocol versions.
  void wake();

  // What modern clients ask, in desk_modern.cpp.
  void request_modern(Asker asker, const Message& message);
  void meet(const Message& message);
  void discover(Asker asker, const Message& message);
  std::optional<bool> offers_modern() const;
  std::string words_of_lone() const;
  bool lacks_words() const;
  std::string discover_result(bool modern) const;
  void answer_discovers();
  void listen(Asker asker, const Message& message);
  void end_listens();
  bool close_listen(Asker by, const Message& cancelled);
  void subscribe();
  void pass_unasked(const Instance& instance, ToClient& said);

  // What all clients ask, in desk_requests.cpp.
  void route(Asker asker, const Message& message);
  void request_unshaken(Asker asker, const Message& message);
  void initialize(Asker asker, const Message& message);
  std::string initialize_result() const;
  void list(Asker asker, const Message& message, ListKind kind);
  void request_tool(Asker asker, const Message& message, bool waited = false);
  void request_unrouted_tool(Asker asker, const Message& message, const std::string& name);
  // The servers of a gateway that are starting for the first time, if what they offer may matter to a call of
  // this tool.
  bool is_starting(const std::string& server) const;
  std::vector<std::string> starting_for(const Message& call, const std::string& tool);
  std::vector<std::string> needed_for(const Message& call);
  void when_started(Asker asker, std::string_view id, const EarlyRequests::Servers& servers,
                    std::function<void()> then, std::size_t bytes = 0);
  void request_prompt(Asker asker, const Message& message);
  void request_resource(Asker asker, const Message& message);
  void request_completion(Asker asker, const Message& message);
  void set_level(Asker asker, const Message& message);
  void request_other(Asker asker, const Message& message);
  // The same under the name that the server knows; `name` is its place in the message.
  void pass_renamed(const Routes::Target& target, Asker asker, const Message& message, Span name);
  // Passes it to one of several servers, which may not be able to take more.
  void pass(Member& member, ToServer& asked);
  void pass(Member& member, Asker asker, const Message& message) {
    ToServer asked(asker, message);
    pass(member, asked);
  }
  // For methods that a single server may not support, though the client was told that it might.
  void request_unless(bool lacking, std::string_view otherwise, Asker asker, const Message& message);
  void mark_logger(const Instance& instance, ToClient& said) const;
  std::string words_of_trouble() const;
  std::string words_of_config() const;
  std::string instructions() const;

  World& world_;
  Clients& clients_;
  const Servers& servers_;
  const ClientId client_;
  std::uint32_t last_instance_ = 0;
  GatewayConfig config_;
  Presentation presentation_;
  Activate activate_all_;  // empty: the desk is a client's own
  ActiveMemory memory_;
  NoticeBoard notices_;
  std::map<InstanceId, Member*> by_instance_;  // of members_ and leaving_
  Members members_;
  Leaving<Member> leaving_;  // no longer configured; finishing their calls
  Alarm next_start_;
  std::deque<std::string> to_start_;
  // Active servers that were started and aren't known to be ready: if they fail, the model is told.
  struct Start {
    InstanceId instance;
    bool failure_told = false;
    bool missed = false;  // from a list that the client has, because it wasn't ready
  };
  std::vector<Start> starts_;
  // How servers were named when the configuration changed: clients have seen these names.
  std::map<std::string, Naming> seen_naming_;
  Routes routes_;
  enum class Stale : std::uint8_t { nothing, lists, names };  // which part of the routes must be rebuilt
  Stale stale_ = Stale::names;
  std::vector<std::string> logged_clashes_;
  ControlTools control_;
  EarlyRequests early_;
  ListAnnouncer announcer_;
  Era era_ = Era::legacy;  // of the client: modern if it sent a request without a handshake
  ClientListens listens_;
  struct Discover {
    Asker asker;
    std::string id;
  };
  std::vector<Discover> discovers_;  // waiting to learn the servers' eras
  Alarm discover_timer_;
  bool awake_ = false;
  bool ends_ = false;  // mcpivot is ending
  std::string hello_;  // the params of the client's `initialize`, or the same from a modern client
  std::string level_;  // its last logging/setLevel, as a whole message
};

}  // namespace mcpivot
