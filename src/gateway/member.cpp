#include "gateway/member.h"

#include "log/log.h"
#include "rpc/message.h"

namespace mcpivot {

Member::Member(World& world, Clients& clients, std::shared_ptr<Server> server, InstanceId id,
               ServerEntry entry, Instance::Watcher& watcher)
    : entry_(std::move(entry)),
      client_(id.client),
      server_(std::move(server)),
      tools_(entry_),
      idle_(world.timers()) {
  if (entry_.server.sharing == Sharing::shared) {
    auto joined = server_->join(clients, entry_.server, client_, watcher);
    shared_ = std::move(joined.instance);
    share_ = joined.share;
    instance_ = &shared_->instance();
  } else {
    own_ = std::make_unique<Instance>(world, clients, *server_, id, entry_.server, watcher);
    instance_ = own_.get();
  }
}

Member::~Member() {
  if (shared_) shared_->drop(share_);
}

void Member::retire(std::function<void()> done) {
  idle_.cancel();
  if (shared_) return shared_->retire(share_, std::move(done));
  own_->retire(std::move(done));
}

void Member::shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
  idle_.cancel();
  if (shared_) return shared_->leave(share_, patience, std::move(done));
  own_->shut_down(patience, std::move(done));
}

void Member::start() {
  started_ = true;
  if (entry_.start == StartMode::lazy) {
    instance_->start_later();
  } else if (!instance_->stopped_on_request()) {  // by another client that shares it
    instance_->start();
  }
  if (!active_) rest_later();
}

void Member::configure(ServerEntry entry) {
  const bool same_server = entry.server == entry_.server;
  const bool was_lazy = entry_.start == StartMode::lazy;
  const bool same_rest = entry.idle_stop == entry_.idle_stop;
  entry_ = std::move(entry);
  tools_ = ToolFilter(entry_);
  if (!same_server) instance_->configure(entry_.server);
  if (!active_ && !same_rest) rest_later();
  if (started_ && was_lazy && entry_.start == StartMode::eager) start();
}

// If a name isn't a string, the server might read anything into it.
bool Member::allows_call(std::string_view name) const {
  if (!tools_.restricts()) return true;
  return name.starts_with('"') && tools_.allows(string_value(name));
}

void Member::set_active(bool active) {
  active_ = active;
  if (active_) {
    idle_.cancel();
    if (started_ && entry_.start == StartMode::eager) instance_->start("it was activated");
  } else {
    rest_later();
  }
}

void Member::rest_later() {
  if (!entry_.idle_stop) return idle_.cancel();
  idle_.set(*entry_.idle_stop, [this] {
    if (active_) return;
    if (!instance_->is_active()) instance_->rest();
    rest_later();  // a client may call one of its tools anyway
  });
}

}  // namespace mcpivot
