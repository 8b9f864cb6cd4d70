// A server that is a child process and speaks MCP over its stdin and stdout.
//
// It has ended when it has exited and all of its output has been read. One thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "link/pipe_link.h"
#include "proc/guard.h"
#include "proc/process.h"
#include "proc/stderr_reader.h"
#include "server/backend.h"

namespace mcpivot {

class ProcessBackend final : public Backend, public std::enable_shared_from_this<ProcessBackend> {
 public:
  static std::expected<std::shared_ptr<Backend>, std::string> spawn(LinkContext& context, Guard& guard,
                                                                    const ServerConfig& config,
                                                                    int generation, OutputRing& ring);
  ~ProcessBackend() override { close(); }

  Link& link() override { return *link_; }
  void start(Link::Handler& handler, OnEnd on_end) override;
  void end(std::chrono::milliseconds patience) override;
  void close() override;
  void on_link_broken(std::string_view why) override;
  void on_link_end(std::string_view why) override;
  std::string where() const override;
  pid_t pid() const override { return process_->pid(); }

 private:
  ProcessBackend(LinkContext& context, const ServerConfig& config, int generation,
                 std::shared_ptr<Process> process, Process::Pipes pipes, OutputRing& ring);

  void on_exit(ExitStatus status);
  void wait_for_last_words();
  void end_when_settled();

  std::string name_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<PipeLink> link_;
  std::shared_ptr<StderrReader> stderr_;
  boost::asio::steady_timer last_words_;
  OnEnd on_end_;
  std::optional<ExitStatus> exited_;
  std::uint64_t heard_ = 0;  // its signs of life, when we last looked
  bool link_ended_ = false;
  bool ending_ = false;
};

}  // namespace mcpivot
