// A CLI that describes its own tools, as a generation sees it: a small MCP server inside mcpivot. It runs the
// schema command when it starts; each call is a run of the program, so the code that runs is always the code
// on disk, and a new generation just reads the schema again.
//
// Messages are answered from the event loop, never from within send(). They wait until the schema is known;
// if it can't be read, everything is answered with the reason. One thread.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>

#include "clitools/call_pool.h"
#include "clitools/schema_fetch.h"
#include "link/pipe_link.h"
#include "proc/guard.h"
#include "server/backend.h"

namespace mcpivot {

class CliBackend final : public Backend, private Link, public std::enable_shared_from_this<CliBackend> {
 public:
  // `predecessor` may be null; its limits and counts are taken over.
  static std::shared_ptr<Backend> make(LinkContext& context, Guard& guard, const ConfigRef& config,
                                       int generation, OutputRing& ring, const CliBackend* predecessor);
  ~CliBackend() override;

  // Backend
  Link& link() override { return *this; }
  void start(Link::Handler& handler, OnEnd on_end) override;
  void end(std::chrono::milliseconds patience) override;
  void close() override;  // as a link, too
  std::string where() const override;
  std::string_view renewed() const override { return "reloaded its tools"; }
  bool news_if_unchanged() const override { return false; }
  bool calls_have_own_limits() const override { return true; }
  std::size_t calls_at_once() const override { return pool_->jobs(); }
  void describe(const Describe& line) const override;

 private:
  struct Call;
  using Calls = std::list<std::shared_ptr<Call>>;

  CliBackend(LinkContext& context, Guard& guard, ConfigRef config, int generation, OutputRing& ring,
             std::shared_ptr<CallPool> pool);

  // Link
  void send(const Message& message, std::span<const Edit> edits) override;
  void send(std::string_view line) override;
  bool full() const override { return false; }  // the pool has limits of its own, and reports them
  std::uint64_t position() const override { return sent_; }
  bool reached(std::uint64_t position) const override { return position <= last_started_; }
  void pause() override;
  void resume() override;
  void finish() override {}

  void on_schema(std::expected<ToolSchema, std::string> schema, std::chrono::milliseconds took);
  void take_later();
  void take_all();
  void take(const Message& message, std::uint64_t position);
  std::string initialize_result(std::string_view params) const;
  std::string tools_result() const;

  void call(const Message& message, std::uint64_t position);
  void run(const std::shared_ptr<Call>& call);
  void progress(Call& call, const std::string& line);
  void send_progress(Call& call);
  void on_done(const std::shared_ptr<Call>& call, const CliRun::Result& result);
  void cancel(std::string_view id);
  void forget(const std::shared_ptr<Call>& call);
  void end_when_idle();

  void answer(std::string line);
  void deliver();
  void hand_over(const std::string& line);

  LinkContext& context_;
  Guard& guard_;
  ConfigRef config_;
  int generation_;
  OutputRing* ring_;  // null once closed
  std::shared_ptr<CallPool> pool_;
  Command schema_command_;

  Handler* handler_ = nullptr;
  OnEnd on_end_;
  std::unique_ptr<SchemaFetch> fetch_;  // until the schema is known
  ToolSchema schema_;
  std::string trouble_;  // why there is no schema
  std::chrono::steady_clock::time_point fetched_{};
  std::chrono::milliseconds fetch_took_{0};

  struct Received {
    std::uint64_t position;
    std::string line;
  };
  std::deque<Received> inbox_;
  std::deque<std::string> outbox_;
  std::uint64_t sent_ = 0;
  std::uint64_t last_started_ = 0;  // calls start in the order in which they were sent
  Calls calls_;
  bool taking_ = false;
  bool delivering_ = false;
  bool paused_ = false;
  bool ending_ = false;
};

}  // namespace mcpivot
