// The builds of one server, for all callers, one at a time. A caller that comes while one runs may have saved
// something that it missed, and shares the next one.
//
// One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/world.h"

namespace mcpivot {

class SharedBuild {
 public:
  SharedBuild(World& world, LastSave last_save);
  ~SharedBuild();
  SharedBuild(const SharedBuild&) = delete;
  SharedBuild& operator=(const SharedBuild&) = delete;

  // A share in a build, which must not outlive this object. Dropped or stopped, it leaves the build to the
  // others; the build itself stops with the last share.
  std::shared_ptr<Build> join(const ServerConfig& config, bool for_saves, Build::Handlers handlers);

 private:
  class Share;
  using Shares = std::vector<std::weak_ptr<Share>>;

  void begin();
  void on_done(const Build::Result& result);
  void leave(const Share& share);

  World& world_;
  LastSave last_save_;
  Alarm next_;
  std::shared_ptr<Build> build_;
  Shares building_;  // only live ones, as below: a share is removed when it is destroyed
  Shares waiting_;   // for the next one
};

}  // namespace mcpivot
