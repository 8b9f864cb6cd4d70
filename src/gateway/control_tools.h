// The tools that mcpivot adds for the model, so that it can see and steer what is behind it: pivot_rebuild,
// pivot_restart, pivot_status, pivot_logs; or those of an earlier program under their old names. Only those
// that can do something are listed, and their descriptions are terse: they stand in every context.
//
// One thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "server/server.h"

namespace mcpivot {

// Whose tools are listed: ours, or instead of them those that an earlier program had.
enum class Compat : std::uint8_t { none, mcpflow, mcp_sitter };
ControlNames control_names(Compat compat);

class ControlTools {
 public:
  // The server must outlive the tools.
  ControlTools(boost::asio::io_context& loop, Server& server, Compat compat)
      : loop_(loop), server_(server), compat_(compat) {}

  // Definitions as in the result of tools/list, separated by commas.
  std::string definitions() const;
  bool has(std::string_view tool) const { return find(tool) != nullptr; }

  // Answers a call of one of these tools, at once or later.
  void call(Asker& asker, const Message& message);
  // The client takes such a call back. False: none of them.
  bool cancel(Asker& client, const Message& cancelled);

 private:
  struct Tool;
  struct Running;  // a call that takes time
  static const std::array<Tool, 9> tools;

  const Tool* find(std::string_view name) const;
  bool is_listed(const Tool& tool) const;

  // What the tools do.
  void rebuild(Asker& asker, const Message& message, std::string_view arguments);
  void restart(Asker& asker, const Message& message, std::string_view arguments);
  void status(Asker& asker, const Message& message, std::string_view arguments);
  void logs(Asker& asker, const Message& message, std::string_view arguments);
  void sitter_kill(Asker& asker, const Message& message, std::string_view arguments);
  void sitter_state(Asker& asker, const Message& message, std::string_view arguments);
  void sitter_info(Asker& asker, const Message& message, std::string_view arguments);
  void sitter_logs(Asker& asker, const Message& message, std::string_view arguments);

  void reload(Asker& asker, const Message& message, bool build);
  void stop(Asker& asker, const Message& message, std::string (*words)(const Server::Stopped&));
  struct Tail {
    int lines;
    int generation;            // 0: all
    std::string_view between;  // what stands before the lines of a generation
  };
  std::string tail(const Tail& wanted) const;
  std::shared_ptr<Running> begin(Asker& asker, const Message& message);
  void end(const std::shared_ptr<Running>& running, const Server::Outcome& outcome);

  boost::asio::io_context& loop_;
  Server& server_;
  Compat compat_;
  std::list<std::shared_ptr<Running>> running_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace mcpivot
