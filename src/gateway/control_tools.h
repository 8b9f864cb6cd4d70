// The tools that mcpivot adds for the model, so that it can see and steer what is behind it: pivot_rebuild,
// pivot_restart, pivot_status, pivot_logs. Only those that can do something are listed, and their
// descriptions are terse: they stand in every context.
//
// One thread.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "server/server.h"

namespace mcpivot {

class ControlTools {
 public:
  // The server must outlive the tools.
  explicit ControlTools(Server& server) : server_(server) {}

  // Definitions as in the result of tools/list, separated by commas.
  std::string definitions() const;
  bool has(std::string_view tool) const;

  // Answers a call of one of these tools, at once or later.
  void call(Asker& asker, const Message& message);
  // The client takes such a call back. False: none of them.
  bool cancel(Asker& client, const Message& cancelled);

 private:
  struct Running;  // a call that takes time
  void reload(Asker& asker, const Message& message, bool build);
  void stop(Asker& asker, const Message& message);
  std::string logs(std::string_view arguments) const;
  std::shared_ptr<Running> begin(Asker& asker, const Message& message);
  void end(const std::shared_ptr<Running>& running, const Server::Outcome& outcome);

  Server& server_;
  std::list<std::shared_ptr<Running>> running_;
};

}  // namespace mcpivot
