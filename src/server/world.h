// Everything outside the core that the core uses: time, files, and what servers run in. mcpivot passes in the
// real one (world/real_world.h), the simulation its own.
//
// Handlers that are passed in here are called later, from the event loop, never from within the call. One
// thread.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/backend.h"
#include "server/build.h"
#include "server/checked_call.h"
#include "server/clients.h"
#include "server/daemon_keeper.h"
#include "server/files.h"
#include "server/source_watch.h"
#include "server/timers.h"

namespace mcpivot {

class World {
 public:
  virtual ~World() = default;

  virtual Timers& timers() = 0;
  virtual Files& files() = 0;

  // The backend that the configuration asks for; `predecessor` is that of the current generation, or null.
  // The error says what couldn't be started, and why.
  virtual std::expected<std::shared_ptr<Backend>, std::string> make_backend(const ConfigRef& config,
                                                                            GenerationId id, OutputRing& ring,
                                                                            const Backend* predecessor) = 0;
  virtual std::shared_ptr<Build> start_build(const ServerConfig& config, Build::Handlers handlers,
                                             LastSave last_save) = 0;
  virtual std::unique_ptr<DaemonKeeper> make_keeper(const ConfigRef& config) = 0;
  virtual std::unique_ptr<SourceWatch> watch_sources(const ServerConfig& config,
                                                     SourceWatch::Handlers handlers) = 0;
  // The recorded calls that the configuration (`verify`) names: some hundreds of the newest at most.
  virtual void calls_to_check(const ServerConfig& config, std::function<void(CallsToCheck)> then) = 0;
  // Whether a user is signed in to this server, as whom and until when; empty: it never asked for a sign-in.
  virtual std::string sign_in_of(const ServerConfig&) { return {}; }
  // The address that its user should open in a browser now to sign in; empty: there is none, or clients must
  // not see it.
  virtual std::string sign_in_address(const ServerConfig&) { return {}; }
  // An unguessable text: 32 letters and digits.
  virtual std::string secret() = 0;
  // Ends every process of this user that runs this program, except us and our ancestors. `done` gets those
  // that were ended.
  virtual void end_processes_running(const FileFacts& program, std::chrono::milliseconds patience,
                                     std::function<void(std::vector<pid_t> ended)> done) = 0;
};

}  // namespace mcpivot
