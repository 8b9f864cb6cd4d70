#include "world/process_backend.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/contains.h"
#include "log/log.h"

namespace mcpivot {
namespace {

// Something that left the process group may hold the pipes open forever: don't wait longer than this.
constexpr std::chrono::milliseconds last_words_patience{200};
constexpr std::chrono::milliseconds useless_server_patience{100};
// Signals that a program rarely causes itself.
constexpr std::array outside_signals{SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

}  // namespace

std::expected<std::shared_ptr<Backend>, std::string> ProcessBackend::spawn(LinkContext& context, Guard& guard,
                                                                           const ServerConfig& config,
                                                                           int generation, OutputRing& ring) {
  const auto process = Process::spawn(context.loop, guard, config.command);
  if (!process) return std::unexpected(process.error());
  return std::shared_ptr<ProcessBackend>(
      new ProcessBackend(context, config, generation, *process, (*process)->take_pipes(), ring));
}

ProcessBackend::ProcessBackend(LinkContext& context, const ServerConfig& config, int generation,
                               std::shared_ptr<Process> process, Process::Pipes pipes, OutputRing& ring)
    : name_(config.name),
      process_(std::move(process)),
      link_(std::make_shared<PipeLink>(
          context, config.name, PipeLink::Ends{std::move(pipes.from_stdout), std::move(pipes.to_stdin)},
          config.max_message)),
      stderr_(std::make_shared<StderrReader>(context.loop, std::move(pipes.from_stderr), config.name,
                                             generation, ring, config.passes_stderr)),
      last_words_(context.loop) {}

void ProcessBackend::start(Link::Handler& handler, OnEnd on_end) {
  on_end_ = std::move(on_end);
  process_->on_exit([weak = weak_from_this()](ExitStatus status) {
    if (auto self = weak.lock()) self->on_exit(status);
  });
  link_->start(handler);
  stderr_->start();
}

void ProcessBackend::end(std::chrono::milliseconds patience) {
  ending_ = true;
  link_->finish();
  process_->end(patience);
}

void ProcessBackend::close() {
  on_end_ = nullptr;
  last_words_.cancel();
  link_->close();
  stderr_->close();
}

std::string ProcessBackend::where() const {
  return fmt::format("pid {}", pid());
}

void ProcessBackend::on_link_broken(std::string_view why) {
  if (ending_ || !process_->running()) return;
  // It can't take requests anymore. Usually it is about to exit, and we will know how in a moment.
  log_debug("{}: it stopped reading: {}", name_, why);
  process_->end(useless_server_patience);
}

void ProcessBackend::on_link_end(std::string_view why) {
  link_ended_ = true;
  if (process_->running()) {
    // It is alive, but no longer answers. Usually it is about to exit, and we will know how in a moment. Its
    // stdin stays open until then: how much of it was read decides what may be sent again.
    log_debug("{}: the connection ended: {}", name_, why);
    process_->end(useless_server_patience);
  }
  end_when_settled();
}

void ProcessBackend::on_exit(ExitStatus status) {
  exited_ = status;
  wait_for_last_words();
  end_when_settled();
}

void ProcessBackend::wait_for_last_words() {
  last_words_.expires_after(last_words_patience);
  last_words_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self) return;
    // Does the client make it wait, or is it still sending? But if it is to end, don't wait forever.
    const bool waits = self->link_->paused() && !self->ending_;
    const bool talks =
        std::exchange(self->heard_, self->link_->signs_of_life()) != self->link_->signs_of_life();
    if (talks || waits) return self->wait_for_last_words();
    self->link_ended_ = true;
    self->end_when_settled();
  });
}

void ProcessBackend::end_when_settled() {
  if (!exited_ || !link_ended_ || !on_end_) return;
  const auto keep = shared_from_this();  // the callee may drop us
  last_words_.cancel();
  stderr_->drain();
  stderr_->close();
  const bool from_outside = !process_->signalled() && contains(outside_signals, exited_->signal);
  std::exchange(on_end_,
                nullptr)({.how = exited_->text(),
                          .from_outside = from_outside,
                          .forgotten = false,
                          .unreachable = false,
                          .exit_code = exited_->signal != 0 ? 128 + exited_->signal : exited_->code});
}

}  // namespace mcpivot
