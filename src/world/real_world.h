// The real world: the event loop's time, the disk, processes, HTTP daemons, CLIs. One thread.
#pragma once

#include "link/pipe_link.h"
#include "proc/guard.h"
#include "server/world.h"
#include "world/calls_reader.h"
#include "world/loop_timers.h"
#include "world/real_files.h"
#include "world/sign_ins.h"

namespace mcpivot {

class RealWorld final : public World {
 public:
  // Both must outlive it.
  RealWorld(LinkContext& context, Guard& guard)
      : context_(context),
        guard_(guard),
        timers_(context.loop),
        calls_reader_(context.loop),
        sign_ins_(context.loop) {}

  Timers& timers() override { return timers_; }
  Files& files() override { return files_; }
  std::expected<std::shared_ptr<Backend>, std::string> make_backend(const ConfigRef& config, GenerationId id,
                                                                    OutputRing& ring,
                                                                    const Backend* predecessor) override;
  std::shared_ptr<Build> start_build(const ServerConfig& config, Build::Handlers handlers,
                                     LastSave last_save) override;
  std::unique_ptr<DaemonKeeper> make_keeper(const ConfigRef& config) override;
  std::unique_ptr<SourceWatch> watch_sources(const ServerConfig& config,
                                             SourceWatch::Handlers handlers) override;
  void calls_to_check(const ServerConfig& config, std::function<void(CallsToCheck)> then) override {
    calls_reader_.read(config, std::move(then));
  }
  std::string sign_in_of(const ServerConfig& config) override { return sign_ins_.describe(config); }
  std::string sign_in_address(const ServerConfig& config) override { return sign_ins_.address(config); }
  std::string secret() override;
  void end_processes_running(const FileFacts& program, std::chrono::milliseconds patience,
                             std::function<void(std::vector<pid_t> ended)> done) override;

  SignIns& sign_ins() { return sign_ins_; }

 private:
  LinkContext& context_;
  Guard& guard_;
  LoopTimers timers_;
  RealFiles files_;
  CallsReader calls_reader_;
  SignIns sign_ins_;
};

}  // namespace mcpivot
