#include "server/shared_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mcp/initialize.h"
#include "mcp/notice.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// How often to check whether the last calls of a client that has lost the server are done.
constexpr std::chrono::milliseconds let_go_pace{50};

}  // namespace

SharedInstance::SharedInstance(World& world, Clients& clients, Instance::Source& source,
                               const ServerConfig& config)
    : clients_(clients),
      let_go_(world.timers()),
      instance_(world, clients, source, clients.next_shared(), config, *this) {
  instance_.hello(ClientId::nobody, own_hello(), Era::legacy, {});
}

// --- who shares it

SharedInstance::Share SharedInstance::join(ClientId client, Instance::Watcher& desk) {
  // It had lost the server, and some of its calls are still running.
  if (const auto old = sharers_.find(client); old != sharers_.end()) {
    const auto done = std::move(old->second.when_gone);
    sharers_.erase(old);
    if (done) done();
  }
  const Share share{++last_share_};
  sharers_.emplace(client, Sharer{.share = share, .desk = &desk});
  return share;
}

SharedInstance::Sharers::iterator SharedInstance::find(Share share) {
  return std::ranges::find(sharers_, share, [](const auto& entry) { return entry.second.share; });
}

bool SharedInstance::nobody_stays() const {
  return std::ranges::none_of(sharers_, [](const auto& entry) { return entry.second.stays(); });
}

void SharedInstance::drop(Share share) {
  if (const auto found = find(share); found != sharers_.end()) sharers_.erase(found);
}

void SharedInstance::leave(Share share, std::chrono::milliseconds patience, std::function<void()> done) {
  drop(share);
  if (end_ == End::over) return done();
  if (!sharers_.empty()) {
    if (nobody_stays()) retire_itself();
    return done();
  }
  last_ones_.push_back(std::move(done));
  end_ = End::under_way;
  instance_.shut_down(patience, [this] { on_gone(); });
}

void SharedInstance::retire(Share share, std::function<void()> done) {
  if (end_ == End::over) return done();
  const auto found = find(share);
  if (found == sharers_.end()) return done();
  found->second.when_gone = std::move(done);
  if (nobody_stays()) return retire_itself();
  if (!is_busy_for(found->first)) return let_go(share);
  let_go_later();
}

void SharedInstance::retire_itself() {
  let_go_.cancel();
  if (std::exchange(end_, End::under_way) == End::none) instance_.retire([this] { on_gone(); });
}

// Terminals call through a client's desk, which must be told when they leave. It isn't known here whose desk.
bool SharedInstance::is_busy_for(ClientId client) const {
  return instance_.works_for([&](ClientId one) { return one == client || desk_of(one) == nullptr; });
}

// Polls, because calls end in many places, which should cost nothing while no client has lost the server.
void SharedInstance::let_go_later() {
  let_go_.set(let_go_pace, [this] {
    std::vector<Share> idle;
    for (const auto& [client, sharer] : sharers_)
      if (!sharer.stays() && !is_busy_for(client)) idle.push_back(sharer.share);
    for (const Share share : idle) let_go(share);
    const bool all_stay =
        std::ranges::all_of(sharers_, [](const auto& entry) { return entry.second.stays(); });
    if (!all_stay) let_go_later();
  });
}

void SharedInstance::let_go(Share share) {
  const auto found = find(share);
  if (found == sharers_.end()) return;
  const auto [client, sharer] = *found;
  sharers_.erase(found);
  instance_.forget(client);
  sharer.when_gone();
}

void SharedInstance::on_gone() {
  end_ = End::over;
  auto all = std::exchange(last_ones_, {});
  for (const auto& [client, sharer] : std::exchange(sharers_, {}))
    if (sharer.when_gone) all.push_back(sharer.when_gone);
  for (const auto& done : all) done();
}

Instance::Watcher* SharedInstance::desk_of(ClientId client) const {
  const auto found = sharers_.find(client);
  return found == sharers_.end() ? nullptr : found->second.desk;
}

// What one desk does may add or remove others.
template <class Do>
void SharedInstance::each(Do&& what) {
  std::vector<ClientId> clients;
  for (const auto& [client, sharer] : sharers_) clients.push_back(client);
  for (const ClientId client : clients)
    if (Instance::Watcher* const desk = desk_of(client)) what(*desk);
}

// --- what concerns everybody

void SharedInstance::on_writable(const Instance& instance) {
  each([&](Instance::Watcher& desk) { desk.on_writable(instance); });
}

void SharedInstance::on_catalog(const Instance& instance) {
  each([&](Instance::Watcher& desk) { desk.on_catalog(instance); });
}

void SharedInstance::on_settled(const Instance& instance) {
  each([&](Instance::Watcher& desk) { desk.on_settled(instance); });
}

void SharedInstance::on_stop(const Instance& instance) {
  each([&](Instance::Watcher& desk) { desk.on_stop(instance); });
}

void SharedInstance::on_list_changed(const Instance& instance, ListKind kind) {
  each([&](Instance::Watcher& desk) { desk.on_list_changed(instance, kind); });
}

bool SharedInstance::is_active(const Instance& instance) const {
  return std::ranges::any_of(sharers_,
                             [&](const auto& entry) { return entry.second.desk->is_active(instance); });
}

void SharedInstance::tell_model(const Instance& instance, const std::string& words,
                                std::span<const ClientId> know) {
  each([&](Instance::Watcher& desk) { desk.tell_model(instance, words, know); });
}

// In texts for all of them, the name that the first of them sees: they have the same configuration.
std::string SharedInstance::shown_name(const Instance& instance, ClientId client, ListKind kind,
                                       const std::string& own) {
  Instance::Watcher* desk = desk_of(client);
  if (desk == nullptr && !sharers_.empty()) desk = sharers_.begin()->second.desk;
  return desk == nullptr ? own : desk->shown_name(instance, client, kind, own);
}

// A terminal has no desk here, and a replayed call may be anybody's: these are allowed if any client's is. A
// client that has lost the server stays in the list while its requests wait, so nobody else's rules apply to
// them.
bool SharedInstance::allows(const Instance& instance, Asker asker, Method method,
                            std::string_view name) const {
  const auto lets = [&](const auto& entry) {
    return entry.second.stays() && entry.second.desk->allows(instance, asker, method, name);
  };
  const auto found = sharers_.find(asker.client);
  return found != sharers_.end() ? lets(*found) : std::ranges::any_of(sharers_, lets);
}

// --- what concerns one

void SharedInstance::pass_answer(const Instance& instance, const Generation::Requests::Request& request,
                                 ToClient& said) {
  if (clients_[said.to.client].overflows())
    return clients_.refuse(
        said.to, failure_answer(request.known, request.id(),
                                fmt::format("[mcpivot] server \"{}\" answered, but the answer was dropped: "
                                            "this client isn't reading, and too much waits for it.",
                                            instance.name())));
  if (Instance::Watcher* const desk = desk_of(said.to.client))
    return desk->pass_answer(instance, request, said);
  // A terminal's; or that of a client whose desk has left, because it is ending.
  if (!request.origin.through) return clients_.pass(said);
  const NoticeInAnswer heading(said.message, {}, {}, call_heading(instance.name(), request.name()));
  heading.add_to(said.edits);
  said.changed = heading.fits();
  clients_.pass(said);
}

void SharedInstance::pass(const Instance& instance, ToClient& said) {
  const bool addressed = said.to.client != ClientId::nobody;
  const std::vector<ClientId> to =
      addressed ? std::vector{said.to.client} : addressees(instance, said.message);
  if (to.empty()) return drop_message(said, "it isn't known which client it is for");
  for (const ClientId client : to) {
    Instance::Watcher* const desk = desk_of(client);
    if (clients_[client].overflows()) {
      drop_message(said, "its client isn't reading, and too much waits for it");
    } else if (addressed) {
      clients_.pass(said);
    } else if (desk != nullptr) {  // as if it were its client's own
      said.to = {};
      desk->pass(instance, said);
    }
  }
}

// The recipients of a notification that has no addressee.
std::vector<ClientId> SharedInstance::addressees(const Instance& instance, const Message& message) const {
  if (message.kind != Kind::notification) return {};
  const std::string method = string_value(message.text(message.method));
  if (method == "notifications/resources/updated")
    return instance.subscribers(string_value(message.text(message.uri)));
  if (method != "notifications/tasks/status") return {};
  const ClientId owner = instance.owner_of_task(find_member(message.text(message.params), "taskId"));
  return owner == ClientId::nobody ? std::vector<ClientId>() : std::vector{owner};
}

void SharedInstance::drop_message(const ToClient& said, std::string_view why) const {
  clients_.saw({.way = Seen::Way::from_server,
                .what = Seen::What::dropped,
                .server = instance_.name(),
                .generation = said.from,
                .raw = said.message.raw,
                .message = &said.message,
                .why = why});
}

}  // namespace mcpivot
