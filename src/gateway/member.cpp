#include "gateway/member.h"

#include "log/log.h"
#include "rpc/message.h"

namespace mcpivot {

Member::Member(World& world, Clients& clients, InstanceId id, ServerEntry entry, NoticeBoard& notices,
               Owner& owner)
    : world_(world),
      owner_(owner),
      entry_(std::move(entry)),
      server_(world, clients, id, entry_.server, notices, *this),
      tools_(entry_.tools),
      idle_(world.timers()) {
  watch();
}

void Member::watch() {
  watch_.reset();
  if (!entry_.server.watching) return;
  // One that was stopped on request waits for a call: somebody may be in the middle of a build.
  const auto runs = [this] { return server_.state() != Server::State::stopped; };
  SourceWatch::Handlers handlers;
  handlers.on_sources = [this, runs](const std::string& reason) {
    if (runs()) reload(reason);
  };
  handlers.on_program = [this, runs](const std::string& reason) {
    if (runs()) server_.program_replaced(reason);
  };
  watch_ = world_.watch_sources(entry_.server, std::move(handlers));
}

void Member::start() {
  started_ = true;
  if (entry_.start == StartMode::lazy) {
    server_.start_later();
  } else {
    server_.start();
  }
  if (!active_) rest_later();
}

void Member::reload(const std::string& reason) {
  server_.reload({.build = !entry_.server.build.empty(),
                  .renew = true,
                  .reason = reason,
                  .progress = {},
                  .done = [this](const ReloadOutcome& outcome) {
                    if (outcome.news) server_.add_notice(outcome.text);
                  }});
}

void Member::configure(ServerEntry entry) {
  const bool same_server = entry.server == entry_.server;
  entry_ = std::move(entry);
  tools_ = ToolFilter(entry_.tools);
  if (same_server) return;
  watch();
  server_.configure(entry_.server);
}

// A name that isn't a string is one that the server might read as it likes.
bool Member::allows_call(std::string_view name) const {
  if (!tools_.restricts()) return true;
  return name.starts_with('"') && tools_.allows(string_value(name));
}

void Member::set_active(bool active) {
  active_ = active;
  if (active_) {
    idle_.cancel();
    if (started_ && entry_.start == StartMode::eager) server_.start("it was activated");
  } else {
    rest_later();
  }
}

void Member::rest_later() {
  if (!entry_.idle_stop) return;
  idle_.set(*entry_.idle_stop, [this] {
    if (active_) return;
    server_.rest();
    rest_later();  // somebody may call one of its tools all the same
  });
}

}  // namespace mcpivot
