// A server as the user configured it: its configuration, its build, and the watch over its files. What
// actually runs are its instances: one for each client, or one for all of them.
//
// One instance tries out a change, the one that was used last: only when its new generation is serving do the
// others follow, each at its next call or when it is idle. So a broken build takes nothing away from any
// client.
//
// One thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/instance.h"
#include "server/shared_build.h"
#include "server/shared_instance.h"

namespace mcpivot {

class Server final : public Instance::Source {
 public:
  Server(World& world, const ServerConfig& config);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void configure(const ServerConfig& config);
  // It is no longer in the configuration, or mcpivot ends: nothing new begins, and callers that wait for a
  // build are told why. Its instances end by themselves.
  void close(const std::string& why);

  // It is in the configuration again, while instances from before are still ending.
  void reopen(const ServerConfig& config);

  // A restart was requested from outside, after a build if it has one. One instance begins; the others
  // follow.
  void reload(const std::string& reason);
  // The same for a caller that waits for the outcome, and says whether to build. Nothing is started for it:
  // without a running instance there is only the build, as this configuration says.
  void reload(const ServerConfig& config, Reload reload);
  void cancel_reload(ReloadId id);

  const std::vector<Instance*>& instances() const { return instances_; }
  // The instance that all clients share, including this one from now on: created for the first, it ends with
  // the last. They must leave it before they are destroyed.
  struct Joined {
    std::shared_ptr<SharedInstance> instance;
    SharedInstance::Share share;
  };
  Joined join(Clients& clients, const ServerConfig& config, ClientId client, Instance::Watcher& desk);

  // Instance::Source
  void add(Instance& instance) override { instances_.push_back(&instance); }
  void remove(Instance& instance) override {
    std::erase(instances_, &instance);
    ended_.add(instance.counts());
  }
  std::shared_ptr<Build> build(const ServerConfig& config, bool for_saves,
                               Build::Handlers handlers) override {
    return builds_.join(config, for_saves, std::move(handlers));
  }
  void reload_begins() override;
  void reload_ends() override;
  void proven(const Instance& by, Clock::Time since) override;
  void gave_up(const Instance& by, const std::string& reason) override;
  bool has_predecessor(const Instance& of) const override;
  void gone(const Instance& instance) override;
  const Changes& changes() const override { return changes_; }
  Changes::Id change_begins(Changes::Change change) override {
    unseen_ = false;
    return changes_.begin(std::move(change));
  }
  void change_ends(Changes::Id id, bool ok) override;
  bool unsettled(bool look) const override;
  CallCounts counts() const override;
  const CheckReport* held() const override { return held_ ? &*held_ : nullptr; }
  void hold(CheckReport report) override { held_ = std::move(report); }
  void accept(const CheckReport& report) override;
  void drop_held() override { held_.reset(); }
  const AcceptedAnswers& accepted() const override { return accepted_; }

 private:
  void tell_if_over();
  void watch(const ServerConfig& config);
  void build_alone(const ServerConfig& config, Reload reload);
  ReloadOutcome accept_alone(const std::string& name, const std::string& absent);
  // The instances that aren't ending, the last used first.
  std::vector<Instance*> by_use() const;
  // The last used of the instances that run; null: none does.
  Instance* first_running() const;

  World& world_;
  SharedBuild builds_;
  Changes changes_;
  CallCounts ended_;  // of instances that have ended
  AcceptedAnswers accepted_;
  std::optional<CheckReport> held_;
  std::unique_ptr<SourceWatch> watch_;
  mutable Clock::Time looked_{};  // about when we last checked for kernel events
  bool unseen_ = false;           // something was saved, but the watch that saw it is gone
  Alarm unseen_timer_;
  int reloads_ = 0;     // under way: what they write triggers nothing
  std::string closed_;  // why nothing new begins; empty: it may
  std::vector<Instance*> instances_;
  struct LoneBuild {
    ReloadId id;
    std::string server;
    std::function<void(const ReloadOutcome&)> done;
    std::shared_ptr<Build> build;
  };
  std::optional<InstanceId> handed_over_{};  // another one already tries out what it was to try
  std::list<LoneBuild> lone_builds_;         // that no instance waits for
  std::weak_ptr<SharedInstance> shared_;     // belongs to the desks that share it
};

}  // namespace mcpivot
