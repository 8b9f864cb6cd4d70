// One of a client's servers: its own or a shared instance, how it is shown, and whether its tools are in the
// client's context.
//
// One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/config.h"
#include "gateway/tool_filter.h"
#include "server/server.h"

namespace mcpivot {

class Member {
 public:
  // The references must outlive it; the watcher is told about the instance. `id` is for an instance of the
  // client's own.
  Member(World& world, Clients& clients, std::shared_ptr<Server> server, InstanceId id, ServerEntry entry,
         Instance::Watcher& watcher);
  ~Member();

  Instance& instance() { return *instance_; }
  const Instance& instance() const { return *instance_; }
  const ServerEntry& entry() const { return entry_; }
  const std::string& name() const { return entry_.server.name; }

  // Starts it, now or at its first use.
  void start();
  // Sets another configuration under the same name.
  void configure(ServerEntry entry);
  // It is no longer in the configuration: it finishes its calls, then ends. `done` must not destroy it at
  // once.
  void retire(std::function<void()> done);
  // The client leaves, or mcpivot ends: ends for good, within twice the patience. What others share goes
  // on.
  void shut_down(std::chrono::milliseconds patience, std::function<void()> done);

  bool active() const { return active_; }
  // An inactive server keeps running, for as long as its entry says.
  void set_active(bool active);

  // How clients see the names of its tools and prompts.
  Naming naming() const { return naming_; }
  void set_naming(Naming naming) { naming_ = naming; }

  // Which of its tools the user allows.
  const ToolFilter& tools() const { return tools_; }
  // The same for a call: `name` as JSON spells it; empty: it has none.
  bool allows_call(std::string_view name) const;

 private:
  void rest_later();

  ServerEntry entry_;
  ClientId client_;
  std::shared_ptr<Server> server_;
  std::unique_ptr<Instance> own_;  // one of these
  std::shared_ptr<SharedInstance> shared_;
  SharedInstance::Share share_{};
  Instance* instance_;
  ToolFilter tools_;
  Alarm idle_;
  bool started_ = false;  // it was told to start, now or at its first use
  bool active_ = false;
  Naming naming_ = Naming::prefixed;
};

}  // namespace mcpivot
