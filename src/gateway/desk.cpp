#include "gateway/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/after_all.h"
#include "base/contains.h"
#include "config/profile.h"
#include "log/log.h"
#include "mcp/initialize.h"
#include "mcp/notice.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A shared server's texts are for all of its clients.
ControlNames names_for(const GatewayConfig& config, const ServerConfig& server) {
  const bool shared = server.sharing == Sharing::shared;
  return control_names(config.compat, shared ? powers_of_all(config, server.name) : config.powers, server);
}

}  // namespace

Desk::Desk(World& world, Clients& clients, const Servers& servers, ClientId client, GatewayConfig config)
    : world_(world),
      clients_(clients),
      servers_(servers),
      client_(client),
      config_(std::move(config)),
      presentation_(presentation_of(config_)),
      memory_(world.files(), config_.remember ? config_.file : std::string()),
      leaving_(world.timers()),
      next_start_(world.timers()),
      control_(world, clients, *this, config_.compat, config_.powers),
      early_(world.timers(), [this](const std::string& server) { return is_starting(server); }),
      announcer_(world.timers(),
                 [this](ListKind kind) {
                   const std::string_view method = words(kind).notification;
                   if (era_ == Era::legacy) clients_[client_].announce(request_line({}, method, {}));
                   for (const auto& [exchange, line] : listens_.changed(kind))
                     clients_.tell({.client = client_, .exchange = exchange}, line);
                   log_info("sent {}", method);
                 }),
      discover_timer_(world.timers()) {
  for (const ServerEntry& entry : config_.servers) members_.push_back(make_member(entry));
}

std::unique_ptr<Member> Desk::make_member(ServerEntry entry) {
  entry.server.control = names_for(config_, entry.server);
  const bool active = is_active_at_first(entry);
  Instance::Watcher& watcher = *this;
  const auto& server = servers_.at(entry.server.name);
  const InstanceId id{client_, ++last_instance_};
  auto member = std::make_unique<Member>(world_, clients_, server, id, std::move(entry), watcher);
  by_instance_.emplace(member->instance().id(), member.get());
  member->set_active(active);
  return member;
}

std::unique_ptr<Member> Desk::make_successor(const Member& old, ServerEntry entry) {
  auto member = make_member(std::move(entry));
  member->set_active(member->entry().active.value_or(old.active()));
  member->instance().restore(client_, old.instance().memory(client_), {});
  return member;
}

bool Desk::is_active_at_first(const ServerEntry& entry) const {
  if (!presentation_.offers_choice) return true;
  if (const auto& remembered = memory_.active()) return remembered->contains(entry.server.name);
  return entry.active.value_or(false);
}

ClientState Desk::state() const {
  ClientState state{.hello = hello_,
                    .era = era_,
                    .level = level_,
                    .notices = notices_.text(),
                    .names_seen = seen_naming_,
                    .servers = {},
                    .questions = clients_[client_].questions()};
  for (const auto& member : members_)
    state.servers[member->name()] = {.active = member->active(),
                                     .replay = member->instance().memory(client_),
                                     .tasks = member->instance().tasks(client_)};
  return state;
}

// Its questions are not asked again: the servers that asked them are gone.
void Desk::restore(const ClientState& state) {
  hello_ = state.hello;
  era_ = state.era;
  control_.set_era(era_);
  level_ = state.level;
  seen_naming_ = state.names_seen;
  if (!state.notices.empty()) notices_.add(state.notices);
  for (const auto& member : members_) {
    if (const auto known = state.servers.find(member->name()); known != state.servers.end()) {
      member->set_active(known->second.active || !presentation_.offers_choice);
      member->instance().restore(client_, known->second.replay, known->second.tasks);
    }
    if (!hello_.empty()) member->instance().hello(client_, hello_, era_, {});
  }
}

// A client that only asks for the protocol versions, of servers whose eras are known, needs no server: some
// clients start a separate process just for that, and end it at once.
void Desk::start() {
  if (!shaken() && offers_modern()) return;
  wake();
}

void Desk::wake() {
  if (std::exchange(awake_, true)) return;
  if (presentation_.client_waits) return members_.front()->start();
  for (const auto& member : members_) to_start_.push_back(member->name());
  start_next();
}

// Starting a process takes a millisecond or two: between one and the next, the client gets its turn.
void Desk::start_next() {
  next_start_.set(std::chrono::milliseconds(0), [this] {
    if (to_start_.empty()) return;
    const std::string name = std::move(to_start_.front());
    to_start_.pop_front();
    if (Member* const next = member_called(name)) start(*next);
    early_.look();
    start_next();
  });
}

void Desk::start(Member& member) {
  member.start();
  watch_start(member);
}

void Desk::configure(GatewayConfig config) {
  keep_names();
  const Known before = known();
  config_ = config;
  control_.set_powers(config_.powers);
  presentation_ = presentation_of(config_);
  Members old_ones = std::exchange(members_, {});
  std::vector<std::pair<Member*, std::optional<ServerEntry>>> changes;  // no entry: it is new
  for (ServerEntry& entry : config.servers) {
    const auto old = std::ranges::find_if(
        old_ones, [&](const auto& member) { return member && member->name() == entry.server.name; });
    const bool stays = old != old_ones.end() && (*old)->entry().server.sharing == entry.server.sharing;
    if (!stays) {
      members_.push_back(old == old_ones.end() ? make_member(entry) : make_successor(**old, entry));
      changes.emplace_back(members_.back().get(), std::nullopt);
    } else {
      members_.push_back(std::move(*old));
      changes.emplace_back(members_.back().get(), std::move(entry));
    }
  }
  std::erase(old_ones, nullptr);
  stale_ = Stale::names;
  // Only when all members are in place: what follows may answer requests that wait for one of them.
  for (auto& [member, entry] : changes) entry ? change(*member, std::move(*entry)) : welcome(*member);
  for (auto& gone : old_ones) retire(std::move(gone));
  for (const auto& member : members_) {
    if (!presentation_.offers_choice && !member->active()) member->set_active(true);
    if (!presentation_.client_waits) member->instance().settle();
  }
  for (const ListKind kind : {ListKind::tools, ListKind::prompts, ListKind::resources})
    announcer_.changed(kind);
  if (!listens_.empty()) subscribe();
  tell_since(before);
  early_.look();
  if (!full()) clients_[client_].resume();  // it may have waited for a server that is no longer its only one
}

void Desk::welcome(Member& member) {
  log_info("{}: it is in the configuration now", member.name());
  if (!steers_all()) start(member);
  if (!hello_.empty()) member.instance().hello(client_, hello_, era_, {});
  if (!level_.empty()) member.instance().set_level(client_, *read_message(level_));
}

void Desk::change(Member& member, ServerEntry entry) {
  entry.server.control = names_for(config_, entry.server);
  const bool changes = entry.active && entry.active != member.entry().active;
  const bool active = entry.active.value_or(false);
  member.configure(std::move(entry));
  if (!changes) return;
  member.set_active(active);  // last: whether that starts it is up to the new entry
  forget_start(member);
  watch_start(member);
}

// It is no longer configured: it may finish its calls.
void Desk::retire(std::unique_ptr<Member> gone) {
  log_info("{}: it is no longer in the configuration", gone->name());
  Member& member = leaving_.add(std::move(gone));
  forget_start(member);
  member.set_active(false);
  member.retire([this, &member] {
    by_instance_.erase(member.instance().id());
    leaving_.ended(member);
  });
}

void Desk::shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
  to_start_.clear();
  answer_discovers();
  early_.release();
  ends_ = true;
  end_listens();
  const auto one_less = after_all(members_.size() + leaving_.all().size() + 1, std::move(done));
  for (const auto& member : members_) member->shut_down(patience, one_less);
  for (const auto& member : leaving_.all()) member->shut_down(patience, one_less);
  one_less();
}

Desk::Own Desk::own_servers() const {
  Own own;
  for (const auto& member : members_)
    if (!member->instance().is_shared()) ++(member->instance().works() ? own.working : own.resting);
  return own;
}

// For shared servers, pass() tells the caller.
bool Desk::overflows() const {
  return std::ranges::any_of(members_, [&](const auto& member) {
    return (presentation_.client_waits || !member->instance().is_shared()) && member->instance().overflows();
  });
}

bool Desk::rest(const std::string& why) {
  bool any = false;
  for (const auto& member : members_) {
    Instance& instance = member->instance();
    if (instance.is_shared() || !instance.is_idle()) continue;
    if (member->active())
      notices_.add(
          fmt::format("[mcpivot] \"{}\" was stopped {}. The next call starts it again; anything it held in "
                      "memory is gone.",
                      member->name(), why));
    instance.rest();
    any = true;
  }
  return any;
}

bool Desk::forget_names() {
  if (stale_ == Stale::names) return false;
  stale_ = Stale::names;
  routes_.forget();
  control_.forget_index();
  return true;
}

// --- what servers say --------------------------------------------------------------------------------------

void Desk::on_writable(const Instance& /*instance*/) {
  clients_[client_].resume();
}

void Desk::clients_writable() {
  for (const auto& member : members_) member->instance().resume();
  for (const auto& member : leaving_.all()) member->instance().resume();
}

void Desk::on_list_changed(const Instance& instance, ListKind kind) {
  // An inactive server's tools also decide which of the others' names need no prefix.
  const bool names_depend =
      std::ranges::any_of(members_, [](const auto& other) { return other->naming() == Naming::bare; });
  if (is_active(instance) || names_depend) announcer_.changed(kind);
}

void Desk::pass_answer(const Instance& instance, const Generation::Requests::Request& request,
                       ToClient& said) {
  const bool through = request.origin.through;
  const bool says_nothing = notices_.empty() && said.remark.empty() && !through;
  if (request.known != Method::tools_call || says_nothing) return clients_.pass(said);
  const bool tells = request.origin.client == client_ && !notices_.empty();
  std::string words(said.remark);
  if (tells) words += (words.empty() ? "" : "\n\n") + notices_.text();
  if (words.empty() && !through) return clients_.pass(said);
  const Item* tool = request.name().empty()
                         ? nullptr
                         : instance.catalog().find(ListKind::tools, string_value(request.name()));
  const NoticeInAnswer notice(said.message, words,
                              tool != nullptr ? std::string_view(tool->json) : std::string_view(),
                              through ? call_heading(instance.name(), request.name()) : std::string());
  notice.add_to(said.edits);
  said.changed = notice.fits();
  if (tells && notice.fits()) notices_.carried(notice.delivered());
  clients_.pass(said);
}

// From the client's own instance, what has no addressee is for that client.
void Desk::pass(const Instance& instance, ToClient& said) {
  if (said.to.client == ClientId::nobody) {
    said.to.client = client_;
    if (presentation_.marks_names) mark_logger(instance, said);
    if (era_ == Era::modern || !listens_.empty()) return pass_unasked(instance, said);
  }
  clients_.pass(said);
}

// Marks a log message with its server's name. If params isn't an object, there is no place for it, and the
// message passes unchanged: the client decides what to make of it, as it would without mcpivot.
void Desk::mark_logger(const Instance& instance, ToClient& said) const {
  const Message& message = said.message;
  const std::string_view params = message.text(message.params);
  if (!params.starts_with('{') || message.kind != Kind::notification || message.known != Method::log_message)
    return;
  const std::string_view own = find_member(params, "logger");
  const std::string logger = quote(
      own.starts_with('"') ? fmt::format("{}/{}", instance.name(), string_value(own)) : instance.name());
  said.changed = true;
  if (own.empty()) {
    said.edits.insert(
        message.params.begin + 1,
        said.edits.keep(fmt::format(R"("logger":{}{})", logger, is_empty_container(params) ? "" : ",")));
  } else {
    said.edits.replace(span_of(message.raw, own), said.edits.keep(logger));
  }
}

bool Desk::is_active(const Instance& instance) const {
  const Member* const member = member_of(instance.id());
  return member != nullptr && member->active();
}

// Only about servers in its context.
void Desk::tell_model(const Instance& instance, const std::string& words, std::span<const ClientId> know) {
  if (!contains(know, client_) && is_active(instance)) notices_.add(words);
}

std::string Desk::shown_name(const Instance& instance, ClientId /*client*/, ListKind kind,
                             const std::string& own) {
  const Member* const member = member_of(instance.id());
  return member == nullptr ? own : names().shown(*member, kind, own);
}

bool Desk::allows(const Instance& instance, Asker asker, Method method, std::string_view name) const {
  const Member* const member = member_of(instance.id());
  if (member == nullptr || method != Method::tools_call) return member != nullptr;
  return member->allows_call(name) && (!asker.through || control_.reaches(*member));
}

Member* Desk::member_of(InstanceId id) const {
  const auto found = by_instance_.find(id);
  return found == by_instance_.end() ? nullptr : found->second;
}

Member* Desk::member_called(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, [](const auto& member) { return member->name(); });
  return found == members_.end() ? nullptr : found->get();
}

const Routes& Desk::routes() {
  const Stale stale = std::exchange(stale_, Stale::nothing);
  if (stale == Stale::nothing) return routes_;
  if (stale == Stale::names) {
    for (const auto& member : members_) member->set_naming(naming_of(*member));
    routes_.build(members_, [this](std::string_view name) { return control_.has(name); });
  } else {
    routes_.list_active(members_);
  }
  std::vector<std::string> clashes = routes_.clashes();
  if (clashes != logged_clashes_)
    for (const std::string& clash : clashes) log_warn("{}", clash);
  logged_clashes_ = std::move(clashes);
  return routes_;
}

// A model that has seen a tool goes on calling it by that name, so a server keeps its bare or prefixed names
// when others come or go. Keeping old names alive next to new ones would need a second table of names.
void Desk::keep_names() {
  for (const auto& member : members_) seen_naming_.try_emplace(member->name(), presentation_.naming());
}

bool Desk::offered_choice() const {
  return std::ranges::any_of(seen_naming_, [](const auto& seen) { return seen.second == Naming::prefixed; });
}

Naming Desk::naming_of(const Member& member) const {
  if (config_.names == Naming::bare || config_.compat == Compat::mcpflip) return Naming::bare;
  if (const auto seen = seen_naming_.find(member.name()); seen != seen_naming_.end()) return seen->second;
  return presentation_.naming();
}

std::vector<Instance*> Desk::all_instances() const {
  std::vector<Instance*> all;
  for (const auto& [name, server] : servers_) std::ranges::copy(server->instances(), std::back_inserter(all));
  return all;
}

std::vector<Instance*> Desk::instances(Member& member) const {
  if (steers_all()) return servers_.at(member.name())->instances();
  return {&member.instance()};
}

void Desk::reload(Member& member, Reload reload) {
  if (steers_all()) return servers_.at(member.name())->reload(member.entry().server, std::move(reload));
  member.instance().reload(std::move(reload));
}

void Desk::cancel_reload(const std::string& server, ReloadId id) {
  Member* const member = member_called(server);
  if (member == nullptr) return;
  if (steers_all()) return servers_.at(server)->cancel_reload(id);
  member->instance().cancel_reload(id);
}

void Desk::learn_tools(std::string_view tool, bool may_start, std::function<void()> then) {
  hello_ = own_hello();
  const auto has_tool = [&](const auto& member) { return tool.starts_with(member->name() + "__"); };
  const bool named = std::ranges::any_of(members_, has_tool);
  const auto one_less = after_all(members_.size() + 1, std::move(then));
  for (const auto& member : members_) {
    if (named && !has_tool(member)) {
      one_less();
      continue;
    }
    if (may_start) member->start();
    member->instance().hello(client_, hello_, era_, one_less);
  }
  one_less();
}

bool Desk::activate(const std::string& server, bool active) {
  Member* const member = member_called(server);
  if (member == nullptr || !presentation_.offers_choice) return false;
  if (member->active() != active) set_active(*member, active);
  return true;
}

void Desk::set_active(Member& member, bool active) {
  member.set_active(active);
  forget_start(member);
  // The client that activates it is told about an earlier failure.
  if (member.instance().state() != Instance::State::failed) watch_start(member);
  stale_ = std::max(stale_, Stale::lists);
  const Catalog& catalog = member.instance().catalog();
  for (const ListKind kind : all_lists)
    if (!catalog.list(kind).empty()) announcer_.changed(kind);
  std::set<std::string> names;
  for (const auto& other : members_)
    if (other->active()) names.insert(other->name());
  if (!listens_.empty()) subscribe();
  memory_.save(names);
}

void Desk::forget(ClientId client) {
  early_.forget(client);
  control_.forget(client);
  for (const Members* some : {&std::as_const(members_), &leaving_.all()})
    for (const auto& member : *some) member->instance().forget(client);
}

Generation* Desk::find(GenerationId id) const {
  const Member* const member = member_of(id.instance);
  return member == nullptr ? nullptr : member->instance().find(id);
}

std::string_view Desk::tool(std::string_view name) {
  const Routes::Target* const target = names().tool(name);
  if (target == nullptr) return {};
  const Item* const item = target->member->instance().catalog().find(ListKind::tools, target->own);
  return item == nullptr ? std::string_view() : std::string_view(item->json);
}

std::string Desk::client_name() const {
  const std::string_view name = find_member(find_member(hello_, "clientInfo"), "name");
  return name.starts_with('"') ? string_value(name) : std::string();
}

}  // namespace mcpivot
