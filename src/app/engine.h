// What every mcpivot consists of, whatever clients it has: the loop, the real world, the gateway, the
// configuration file, and the signals that control it.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "app/journal.h"
#include "app/run.h"
#include "config/config_file.h"
#include "gateway/gateway.h"
#include "proc/guard.h"
#include "server/logging_observer.h"
#include "watch/replacement_watcher.h"
#include "world/real_world.h"

namespace mcpivot {

class Engine {
 public:
  // Called once, when a signal wants mcpivot to end.
  using OnSignal = std::function<void(const std::string& name)>;

  // The references must outlive it. `adapt` may change every configuration that is read.
  Engine(const Options& options, Guard& guard, OnSignal on_signal,
         std::function<void(GatewayConfig&)> adapt = {});

  // From now on, it handles signals and changes of the configuration.
  void start();
  // Returns the exit code when the loop was stopped.
  int run();
  // Ends the servers, once; then `done`.
  void shut_down(const std::string& why, std::function<void()> done);

  boost::asio::io_context& loop() { return loop_; }
  LinkContext& context() { return context_; }
  RealWorld& world() { return world_; }
  Clients& clients() { return clients_; }
  Gateway& gateway() { return gateway_; }
  Journal& journal() { return journal_; }
  // Where its servers are configured; empty: on the command line.
  std::string configuration_file() const;

 private:
  LoadedConfig configuration() const;
  void reload_on_signal();
  void reload_soon();
  void watch_configuration();
  void configuration_changed();

  boost::asio::io_context loop_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO};  // one thread, so it needs no locks
  LinkContext context_;
  const Options& options_;
  OnSignal on_signal_;
  std::function<void(GatewayConfig&)> adapt_;
  LoadedConfig loaded_;
  RealWorld world_;
  LoggingObserver message_log_;
  Clients clients_;
  Journal journal_;
  Gateway gateway_;
  boost::asio::signal_set signals_;
  boost::asio::signal_set reload_signal_;
  boost::asio::steady_timer burst_;
  boost::asio::steady_timer settling_;
  std::unique_ptr<ReplacementWatcher> configuration_watch_;
  bool reload_due_ = false;  // when the burst of signals is over
  bool shutting_down_ = false;
  int exit_code_ = 0;
};

}  // namespace mcpivot
