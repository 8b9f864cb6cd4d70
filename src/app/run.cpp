#include "app/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "app/engine.h"
#include "app/serve.h"
#include "control/control_socket.h"
#include "gateway/link_client.h"
#include "log/log.h"
#include "proc/shared_descriptor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// The longest message that we accept from a client.
constexpr std::size_t client_message_limit = 64 * 1024 * 1024;
// For a client that still reads, to get the last answers.
constexpr milliseconds last_answers{150};

// For one client, on stdin and stdout.
class Program {
 public:
  Program(const Options& options, Guard& guard)
      : engine_(options, guard, [this](const std::string& signal) { shut_down(signal); }),
        link_(std::make_shared<PipeLink>(
            engine_.context(), "client",
            PipeLink::Ends{Descriptor(stdin_.duplicate()), Descriptor(stdout_.duplicate())},
            client_message_limit)),
        desk_(engine_.gateway().open()),
        client_(*link_, engine_.clients(), desk_,
                [this](std::string_view why) { shut_down(fmt::format("the client {}", why)); }),
        control_(engine_.context(), engine_.world(), engine_.clients(), desk_, options.log.name),
        deadline_(engine_.loop()) {
    control_.set_configuration_file(engine_.configuration_file());
    control_.set_journal([this](bool on) { return engine_.journal().turn(on); });
  }

  int run() {
    engine_.start();
    desk_.start();
    control_.open();
    link_->start(client_);
    const int exit_code = engine_.run();
    link_->close();
    return exit_code;
  }

 private:
  void shut_down(const std::string& why) {
    engine_.shut_down(why, [this] { finish(); });
  }

  // The servers have ended; the client may still have to read their last messages.
  void finish() {
    link_->finish();
    deadline_.expires_after(link_->drained() ? milliseconds(0) : last_answers);
    deadline_.async_wait([this](const boost::system::error_code&) { engine_.loop().stop(); });
  }

  SharedDescriptor stdin_{STDIN_FILENO};
  SharedDescriptor stdout_{STDOUT_FILENO};
  Engine engine_;
  std::shared_ptr<PipeLink> link_;
  Desk& desk_;
  LinkClient client_;
  ControlSocket control_;
  boost::asio::steady_timer deadline_;
};

}  // namespace

int run(const Options& options) {
  Guard guard;
  const bool guarded = guard.start();
  ::signal(SIGPIPE, SIG_IGN);
  set_up_log(options.log);
  if (!guarded) log_warn("cannot fork a guard: if mcpivot is killed with SIGKILL, servers may keep running");
  if (options.serve) return serve(options, guard);
  Program program(options, guard);
  return program.run();
}

}  // namespace mcpivot
