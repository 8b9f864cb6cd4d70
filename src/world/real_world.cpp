#include "world/real_world.h"

#include "base/secret.h"
#include "proc/same_program.h"
#include "world/cli_backend.h"
#include "world/daemon_process.h"
#include "world/file_source_watch.h"
#include "world/http_backend.h"
#include "world/locked_build.h"
#include "world/process_backend.h"

namespace mcpivot {
std::expected<std::shared_ptr<Backend>, std::string> RealWorld::make_backend(const ConfigRef& config,
                                                                             GenerationId id,
                                                                             OutputRing& ring,
                                                                             const Backend* predecessor) {
  if (config->cli)
    return CliBackend::make(context_, guard_, config, id.number, ring,
                            dynamic_cast<const CliBackend*>(predecessor));
  if (config->is_daemon()) return HttpBackend::connect(context_, *config, sign_ins_.of(*config));
  return ProcessBackend::spawn(context_, guard_, *config, id.number, ring);
}

std::shared_ptr<Build> RealWorld::start_build(const ServerConfig& config, Build::Handlers handlers,
                                              LastSave last_save) {
  auto build =
      std::make_shared<LockedBuild>(context_.loop, guard_, config, std::move(handlers), std::move(last_save));
  build->start();
  return build;
}

std::unique_ptr<DaemonKeeper> RealWorld::make_keeper(const ConfigRef& config) {
  return std::make_unique<DaemonProcess>(context_.loop, guard_, timers_, config);
}

std::unique_ptr<SourceWatch> RealWorld::watch_sources(const ServerConfig& config,
                                                      SourceWatch::Handlers handlers) {
  return std::make_unique<FileSourceWatch>(context_.loop, config, std::move(handlers));
}

std::string RealWorld::secret() {
  return random_text();
}

void RealWorld::end_processes_running(const FileFacts& program, std::chrono::milliseconds patience,
                                      std::function<void(std::vector<pid_t> ended)> done) {
  mcpivot::end_processes_running(context_.loop, program.stamp.device, program.stamp.inode, patience,
                                 std::move(done));
}

}  // namespace mcpivot
