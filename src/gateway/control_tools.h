// The tools that mcpivot adds for the model, so that it can see and control the servers: pivot_rebuild,
// pivot_restart, pivot_status, pivot_logs, and with several servers pivot_activate, pivot_deactivate,
// pivot_search, pivot_call; or those of an earlier program under their old names. Only those that can do
// something are listed, and their descriptions are terse, since they are in every context.
//
// One thread.
#pragma once

#include <array>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "gateway/presentation.h"
#include "gateway/routes.h"
#include "search/tool_search.h"
#include "server/instance.h"

namespace mcpivot {

// What the tools are called, for texts about this server.
ControlNames control_names(Compat compat, Powers powers, const ServerConfig& server);

class ControlTools {
 public:
  // What the tools work on.
  class Fleet {
   public:
    virtual ~Fleet() = default;
    // The AI's client whose fleet it is; and the notices that its model has yet to get.
    virtual ClientId reader() const = 0;
    virtual const std::string& notices() const = 0;
    virtual Members& members() = 0;
    virtual const Presentation& presentation() const = 0;
    // Whether the model had several servers to choose from, now or earlier.
    virtual bool offered_choice() const = 0;
    // What is wrong with the configuration, in one line; empty: nothing.
    virtual const std::string& trouble() const = 0;
    virtual CallThrough call_through() const = 0;
    virtual const Routes& routes() = 0;
    // The same where only names matter, not what is listed: the lists are assembled when they are needed.
    virtual const Routes& names() = 0;
    virtual void set_active(Member& member, bool active) = 0;
    // All instances of all servers, for all clients.
    virtual std::vector<Instance*> all_instances() const = 0;
    // Whether actions on a server apply to every client. Then the fleet belongs to a terminal rather than a
    // client.
    virtual bool steers_all() const = 0;
    // The instances that a member stands for: the client's own, or everybody's.
    virtual std::vector<Instance*> instances(Member& member) const = 0;
    virtual void reload(Member& member, Reload reload) = 0;
    virtual void cancel_reload(const std::string& server, ReloadId id) = 0;
    // Adds it to every client's list, or removes it; returns how many clients there are.
    virtual std::size_t set_active_for_all(const std::string& server, bool active) = 0;
    virtual void call_tool(Asker asker, const Message& message, const Routes::Target& target) = 0;
    // Servers about which nothing is known yet, because they are starting for the first time.
    virtual std::vector<std::string> starting() const { return {}; }
  };

  // The fleet must outlive the tools.
  ControlTools(World& world, Clients& clients, Fleet& fleet, Compat compat, Powers powers = {})
      : world_(world),
        clients_(clients),
        fleet_(fleet),
        compat_(compat),
        powers_(powers),
        started_(world.timers().now()) {}

  // For a modern client, whose lists must not change because of its requests: it can't activate anything, and
  // reaches inactive servers by search and call.
  void set_era(Era era) { era_ = era; }
  void set_powers(Powers powers) { powers_ = powers; }

  // Definitions as in the result of tools/list, separated by commas.
  std::string definitions() const;
  bool has(std::string_view tool) const { return find(tool) != nullptr; }

  // Answers a call of one of these tools, at once or later.
  void call(Asker asker, const Message& message);
  // The client cancels such a call. False: it isn't one of these.
  bool cancel(Asker by, const Message& cancelled);

  // The servers or tools whose definitions a call of one of these tools needs, by name; a name that is
  // neither stands for all servers. Empty: none.
  std::vector<std::string> asked_for(const Message& message, std::string_view tool) const;
  // ". Still starting, …": the servers whose tools aren't known, for a search or call that may have missed
  // them. With a tool's name, only those that it may belong to. Empty: there are none.
  std::string words_of_starts(std::string_view tool = {}) const;
  // How an error goes on after naming a tool that doesn't exist: whether its server is starting, which tool
  // may be meant, and how to find it.
  std::string words_of_unknown(const std::string& tool) const;

  // Whether pivot_call reaches this server.
  bool reaches(const Member& member) const;

  // A caller is gone. What it started goes on.
  void forget(ClientId client);
  // Drops the search index; the next search rebuilds it.
  void forget_index() {
    index_ = ToolSearch();
    indexed_ = 0;
  }

  // The handshake's instructions for a client of several servers.
  std::string instructions() const;
  // Why a tool with one of our names doesn't exist here, in a sentence; empty: the name isn't ours.
  std::string why_not(std::string_view tool) const;
  // What to do about a server or a tool that isn't in the context, or doesn't exist.
  std::string how_to_activate(const std::string& server) const;
  std::string hint_to_activate(const Member& member, const std::string& tool) const;
  std::string hint_to_search() const;
  std::string hint_to_listed() const;

 private:
  struct Tool;
  struct Running;  // a call that takes time
  struct Call {
    Asker asker;
    const Message& message;
    std::string_view arguments;
  };
  static const std::array<Tool, 16> tools;

  bool offers_choice() const { return fleet_.presentation().offers_choice; }
  const Tool* find(std::string_view name) const;
  bool is_listed(const Tool& tool) const;
  bool is_granted(const Tool& tool) const;
  bool calls_through() const;  // whether pivot_call exists here
  std::string_view description_of(const Tool& tool) const;
  std::string properties_of(const Tool& tool, bool with_server) const;
  void answer(const Call& call, const std::string& text, bool failed = false) const;
  void refuse(const Call& call, const std::string& words) const { answer(call, words, true); }
  std::string no_servers() const;
  static std::string list_of(const std::vector<std::string>& names);
  static bool can_build(const Member& member);

  // The server that a call means: by its name, or an unambiguous part of it. Without a name, the only one
  // that fits.
  using Fits = std::function<bool(const Member& member)>;
  std::expected<Member*, std::string> pick(std::string_view arguments, const Fits& fits = {}) const;
  // The same; if it is ambiguous, the caller is told, and null is returned.
  Member* pick_or_refuse(const Call& call, const Fits& fits = {}) const;
  // The same for a server whose stderr the caller may see.
  Member* pick_readable(const Call& call) const;

  // "Call pivot_activate {…} first", or which command to run.
  std::string activate_first(const std::string& server) const;
  // What the tools do.
  void rebuild(const Call& call);
  void restart(const Call& call);
  void status(const Call& call);
  void logs(const Call& call);
  void own_calls(const Call& call) const;
  void activate(const Call& call);
  void deactivate(const Call& call);
  void search(const Call& call);
  void call_through(const Call& call);
  void sitter_kill(const Call& call);
  void sitter_state(const Call& call);
  void sitter_info(const Call& call);
  void sitter_logs(const Call& call);

  void switch_to(const Call& call, bool active);
  std::string farewell_text(const Member& member, bool was_active, std::size_t count) const;
  std::string overview() const;
  void index_tools();
  // Whether a build can be held back, and so be accepted.
  bool can_accept() const;
  enum class Wish : std::uint8_t { build, restart, accept };
  void reload(const Call& call, Member& member, Wish wish);
  // True: the call accepts the build that was held back, and has been handled.
  bool accept(const Call& call);
  using WordsOfStop = std::string (*)(const std::string& server, const StopResult& stopped);
  void stop(const Call& call, Member& member, WordsOfStop words);
  static StopResult gathered(const std::vector<StopResult>& all);
  std::shared_ptr<Running> begin(const Call& call, const std::string& server);
  void end(const std::shared_ptr<Running>& running, const ReloadOutcome& outcome);
  Instance* find_server(const std::string& name) const;  // null: it is gone

  World& world_;
  Clients& clients_;
  Fleet& fleet_;
  Compat compat_;
  Powers powers_;
  Era era_ = Era::legacy;
  std::list<std::shared_ptr<Running>> running_;
  ToolSearch index_;
  std::uint64_t indexed_ = 0;  // which edition of the routes
  Clock::Time started_;
};

}  // namespace mcpivot
