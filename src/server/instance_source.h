// What all instances of a server share: its builds, the changes under way, what a check compares with.
//
// One thread.
#pragma once

#include <memory>
#include <string>

#include "server/build.h"
#include "server/call_counts.h"
#include "server/changes.h"
#include "server/verification.h"

namespace mcpivot {

class Instance;

class InstanceSource {
 public:
  virtual ~InstanceSource() = default;
  virtual void add(Instance& instance) = 0;
  virtual void remove(Instance& instance) = 0;
  // `for_saves`: it wasn't requested explicitly, so a build that another mcpivot has made since the last
  // save will do.
  virtual std::shared_ptr<Build> build(const ServerConfig& config, bool for_saves,
                                       Build::Handlers handlers) = 0;
  // A reload, with its build if there is one: what they write doesn't trigger another.
  virtual void reload_begins() = 0;
  virtual void reload_ends() = 0;
  // The server has changed since then, and a new generation of this instance is serving: the others may
  // follow.
  virtual void proven(const Instance& by, Clock::Time since) = 0;
  // It was to try out a change and no longer will: another instance must.
  virtual void gave_up(const Instance& by, const std::string& reason) = 0;
  // Whether another instance that it replaces has yet to end.
  virtual bool has_predecessor(const Instance& of) const = 0;
  // It has ended.
  virtual void gone(const Instance& instance) = 0;
  // The changes under way in any of the instances.
  virtual const Changes& changes() const = 0;
  virtual Changes::Id change_begins(Changes::Change change) = 0;
  virtual void change_ends(Changes::Id id, bool ok) = 0;
  // As in SourceWatch; false if nothing is watched.
  virtual bool unsettled(bool look) const = 0;
  // The call counts of all instances, including those that have ended.
  virtual CallCounts counts() const = 0;
  // A build that answers differently from the one before, and waits until a user accepts it; null: none.
  virtual const CheckReport* held() const = 0;
  virtual void hold(CheckReport report) = 0;
  // It was accepted, so its answers are the right ones from now on; or a newer generation serves anyway.
  virtual void accept(const CheckReport& report) = 0;
  virtual void drop_held() = 0;
  virtual const AcceptedAnswers& accepted() const = 0;
};

}  // namespace mcpivot
