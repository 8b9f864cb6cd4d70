// Who answers what a client asks: mcpivot itself, or the server that has the tool, prompt or resource.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/contains.h"
#include "base/utf8.h"
#include "gateway/control_arguments.h"
#include "gateway/desk.h"
#include "gateway/unknown_tools.h"
#include "mcp/initialize.h"
#include "mcp/log_levels.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/kept_message.h"

namespace mcpivot {
namespace {

// Whether a server is known not to have this: before its first handshake, that isn't known.
bool lacks(const Instance& server, std::string_view capability) {
  const std::string& theirs = server.initialize_result();
  return !theirs.empty() && !has_capability(theirs, capability);
}

bool lacks_subscriptions(const Instance& server) {
  const std::string& theirs = server.initialize_result();
  return !theirs.empty() && !takes_subscriptions(theirs);
}

// A name as JSON spells it, decoded; copied only if it is spelled with escapes.
class Name {
 public:
  explicit Name(std::string_view spelled) : text_(spelled) {
    if (text_.find('\\') != std::string_view::npos) {
      decoded_ = string_value(text_);
      text_ = decoded_;
    } else if (text_.starts_with('"')) {
      text_ = text_.substr(1, text_.size() - 2);
    }
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  std::string decoded_;
};

}  // namespace

void Desk::request(Asker asker, const Message& message) {
  asker.era = era_of(message);
  if (message.known == Method::discover) return discover(asker, message);
  wake();
  if (asker.era == Era::modern || era_ == Era::modern || message.known == Method::listen)
    return request_modern(asker, message);
  if (message.known == Method::initialize) return initialize(asker, message);
  if (!shakes_hands()) return request_unshaken(asker, message);
  route(asker, message);
}

void Desk::route(Asker asker, const Message& message) {
  const std::string_view id = message.text(message.id);
  switch (message.known) {
    case Method::ping:
      return clients_.answer(asker, result_answer(id, "{}"));
    case Method::tools_list:
      return list(asker, message, ListKind::tools);
    case Method::prompts_list:
      return list(asker, message, ListKind::prompts);
    case Method::resources_list:
      return list(asker, message, ListKind::resources);
    case Method::resource_templates_list:
      return list(asker, message, ListKind::templates);
    case Method::tools_call:
      return request_tool(asker, message);
    case Method::prompts_get:
      return request_prompt(asker, message);
    case Method::resources_read:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      return request_resource(asker, message);
    case Method::complete:
      return request_completion(asker, message);
    case Method::set_level:
      return set_level(asker, message);
    default:
      return request_other(asker, message);
  }
}

// From a client that skips the handshake. What the server lists then can't be filtered.
void Desk::request_unshaken(Asker asker, const Message& message) {
  if (message.known != Method::tools_list || !members_.front()->tools().restricts())
    return lone().request(asker, message);
  clients_.refuse(
      asker,
      error_answer(message.text(message.id), code::invalid_request,
                   fmt::format("send \"initialize\" first: the configuration of \"{}\" doesn't allow all of "
                               "its tools, and mcpivot can list the others only after the handshake",
                               members_.front()->name())));
}

void Desk::initialize(Asker asker, const Message& message) {
  hello_ = message.params ? message.text(message.params) : "{}";
  era_ = Era::legacy;
  control_.set_era(era_);
  auto answer = [this, asker, id = std::string(message.text(message.id))] {
    const std::string result = initialize_result();
    clients_[asker.client].agreed_version(find_member(result, "protocolVersion"));
    clients_.answer(asker, result_answer(id, result));
  };
  if (presentation_.client_waits) return lone().hello(client_, hello_, era_, std::move(answer));
  for (const auto& member : members_) member->instance().hello(client_, hello_, era_, {});
  answer();
}

// The servers may have changed since the client asked.
std::string Desk::initialize_result() const {
  if (!presentation_.shows_handshake) return gateway_initialize_result(hello_, instructions());
  std::string theirs = lone().initialize_result();
  if (is_discover_result(theirs)) theirs = initialize_result_of(theirs, agreed_version(hello_));
  std::string result = theirs.empty() ? gateway_initialize_result(hello_, words_of_trouble())
                                      : widened_initialize_result(theirs);
  // The server negotiated a version with us, not with this client.
  if (lone().is_shared()) result = with_version(result, agreed_version(hello_));
  return config_.trouble.empty() ? result : with_words(result, words_of_config());
}

// Lists can be megabytes: the client's link writes them without copying.
void Desk::list(Asker asker, const Message& message, ListKind kind) {
  auto answer = [this, asker, kind, id = std::string(message.text(message.id))] {
    const Message items = routes().list(kind);
    const std::string ours = kind == ListKind::tools ? control_.definitions() : std::string();
    const std::string before =
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"{}":[)", id, words(kind).member);
    const std::string after = fmt::format(
        "{}{}]{}}}}}", items.raw.empty() || ours.empty() ? "" : ",", ours,
        asker.era == Era::modern ? R"(,"resultType":"complete","ttlMs":0,"cacheScope":"private")" : "");
    clients_.answer(asker, items, Edits().insert(0, before).insert(items.raw.size(), after).list());
    note_missing();
  };
  if (!presentation_.client_waits) {
    const auto active = [this] {
      std::vector<std::string> names;
      for (const auto& member : members_)
        if (member->active()) names.push_back(member->name());
      return names;
    };
    return when_started(asker, message.text(message.id), active, std::move(answer));
  }
  lone().look_again();
  if (asker.era == Era::modern) return lone().when_known(asker, message.text(message.id), std::move(answer));
  lone().when_settled(asker, message.text(message.id), std::move(answer));
}

// --- servers that start

bool Desk::is_starting(const std::string& server) const {
  const Member* const member = member_called(server);
  if (member == nullptr || !shaken()) return false;
  return member->instance().starts_unknown() ||
         (contains(to_start_, server) && member->instance().initialize_result().empty());
}

std::vector<std::string> Desk::starting() const {
  std::vector<std::string> names;
  if (presentation_.client_waits) return names;
  for (const auto& member : members_)
    if (is_starting(member->name())) names.push_back(member->name());
  return names;
}

// Activating a server asks for what it offers; a search asks all of them.
std::vector<std::string> Desk::starting_for(const Message& call, const std::string& tool) {
  if (presentation_.client_waits) return {};
  std::vector<std::string> wanted = control_.has(tool) ? control_.asked_for(call, tool) : std::vector{tool};
  std::vector<std::string> servers;
  for (const auto& member : members_) {
    const auto fits = [&](const std::string& one) {
      const bool begins_so = one.starts_with(member->name());
      return begins_so &&
             (one.size() == member->name().size() || one.compare(member->name().size(), 2, "__") == 0);
    };
    if (std::ranges::any_of(wanted, fits)) return {member->name()};
    servers.push_back(member->name());
  }
  return wanted.empty() ? std::vector<std::string>() : servers;
}

// None, if it is known by now who has the tool.
std::vector<std::string> Desk::needed_for(const Message& call) {
  const Name tool(call.text(call.name));
  if (names().tool(tool.text()) != nullptr) return {};
  return starting_for(call, std::string(tool.text()));
}

void Desk::when_started(Asker asker, std::string_view id, const EarlyRequests::Servers& servers,
                        std::function<void()> then, std::size_t bytes) {
  for (const std::string& server : servers())
    if (Member* const member = member_called(server)) member->instance().look_again();
  early_.wait(asker, id, servers, std::move(then), bytes);
}

void Desk::request_tool(Asker asker, const Message& message, bool waited) {
  const Name name(message.text(message.name));
  const Routes::Target* target = names().tool(name.text());
  if (target == nullptr && !waited && !starting_for(message, std::string(name.text())).empty()) {
    const auto kept = std::make_shared<KeptMessage>(message);
    return when_started(
        asker, message.text(message.id), [this, kept] { return needed_for(kept->message()); },
        [this, asker, kept] { request_tool(asker, kept->message(), true); }, message.raw.size());
  }
  if (target == nullptr) return request_unrouted_tool(asker, message, std::string(name.text()));
  if (!target->member->active())
    return clients_.answer(
        asker, tool_answer(message.text(message.id),
                           control_.hint_to_activate(*target->member, std::string(name.text())), true));
  call_tool(asker, message, *target);
}

// Ours, or one that no server lists.
void Desk::request_unrouted_tool(Asker asker, const Message& message, const std::string& name) {
  if (control_.has(name)) return control_.call(asker, message);
  if (const std::string why_not = control_.why_not(name); !why_not.empty())
    return clients_.refuse(asker, error_answer(message.text(message.id), code::invalid_params,
                                               fmt::format("Unknown tool: {}: {}.{}", name, why_not,
                                                           control_.hint_to_listed())));
  // The server may have tools that it doesn't list, or an answer for what it doesn't have. Its client may
  // have seen it among others, and know its tools by longer names.
  if (presentation_.passes_through) {
    const std::string prefix = prefixed_name(lone().name(), "");
    const bool has_long_names = naming_of(*members_.front()) == Naming::prefixed;
    const bool is_long = has_long_names && name.starts_with(prefix);
    const std::string own = is_long ? name.substr(prefix.size()) : name;
    // Any other name may belong to a server that is gone, and its requests must reach no other server.
    if (is_long == has_long_names && members_.front()->tools().allows(own)) {
      ToServer asked(asker, message);
      if (is_long) {
        asked.name = asked.edits.keep(quote(own));
        asked.edits.replace(message.name, asked.name);
      }
      return pass(*members_.front(), asked);
    }
  }
  if (const auto refusing = behind_refusal(members_, name); refusing && refusing->member->active())
    return call_tool(asker, message, *refusing);
  clients_.refuse(asker,
                  error_answer(message.text(message.id), code::invalid_params,
                               fmt::format("Unknown tool: {}{}", name, control_.words_of_unknown(name))));
}

void Desk::call_tool(Asker asker, const Message& message, const Routes::Target& target) {
  tell_starts();
  pass_renamed(target, asker, message, message.name);
}

void Desk::pass_renamed(const Routes::Target& target, Asker asker, const Message& message, Span name) {
  ToServer asked(asker, message);
  const std::string_view spelled = message.text(name);
  if (spelled != target.spelled && Name(spelled).text() != target.own) {
    asked.name = asked.edits.keep(target.spelled);  // the routes may change while it is on its way
    asked.edits.replace(name, asked.name);
  }
  pass(*target.member, asked);
}

void Desk::pass(Member& member, ToServer& asked) {
  if (presentation_.client_waits || !member.instance().full()) return member.instance().request(asked);
  // Waiting for it would block the client from using the others.
  const std::string words = fmt::format(
      "[mcpivot] server \"{}\" isn't reading its messages; the request was not sent. Try again later.",
      member.name());
  const Message& message = asked.message;
  clients_.refuse(asked.asker, failure_answer(message.known, message.text(message.id), words));
}

void Desk::request_prompt(Asker asker, const Message& message) {
  const std::string name = message.name ? string_value(message.text(message.name)) : std::string();
  const Routes::Target* target = names().prompt(name);
  // If there were several servers, an unknown name may belong to one that is gone.
  const bool is_lone = presentation_.passes_through && naming_of(*members_.front()) != Naming::prefixed;
  if (target == nullptr && is_lone) return lone().request(asker, message);
  if (target == nullptr || !target->member->active())
    return clients_.refuse(asker, error_answer(message.text(message.id), code::invalid_params,
                                               fmt::format("Unknown prompt: {}", name)));
  pass_renamed(*target, asker, message, message.name);
}

void Desk::request_resource(Asker asker, const Message& message) {
  const bool reads = message.known == Method::resources_read;
  if (presentation_.passes_through)
    return request_unless(!reads && lacks_subscriptions(lone()), "{}", asker, message);
  const std::string uri = message.uri ? string_value(message.text(message.uri)) : std::string();
  Member* const member = routes().resource(uri);
  if (member == nullptr)
    return clients_.refuse(
        asker, error_answer(message.text(message.id),
                            asker.era == Era::modern ? code::invalid_params : code::resource_not_found,
                            fmt::format("No active server has the resource {}", uri)));
  if (!reads && !takes_subscriptions(member->instance().initialize_result()))
    return clients_.answer(asker, result_answer(message.text(message.id), "{}"));
  pass(*member, asker, message);
}

void Desk::request_completion(Asker asker, const Message& message) {
  constexpr std::string_view nothing = R"({"completion":{"values":[]}})";
  if (presentation_.passes_through)
    return request_unless(lacks(lone(), "completions"), nothing, asker, message);
  const std::string_view reference = find_member(message.text(message.params), "ref");
  const std::string_view name = find_member(reference, "name");
  const std::string_view uri = find_member(reference, "uri");
  const Routes::Target* prompt = name.empty() ? nullptr : names().prompt(string_value(name));
  Member* const member = prompt != nullptr ? prompt->member
                         : uri.empty()     ? nullptr
                                           : routes().resource(string_value(uri));
  if (member == nullptr || !member->active() ||
      !has_capability(member->instance().initialize_result(), "completions"))
    return clients_.answer(asker, result_answer(message.text(message.id), nothing));
  if (prompt == nullptr) return pass(*member, asker, message);
  pass_renamed(*prompt, asker, message, span_of(message.raw, name));
}

// A single server checks the level itself, if it supports logging; otherwise we do, and keep it for when it
// does.
void Desk::set_level(Asker asker, const Message& message) {
  if (presentation_.passes_through && !lacks(lone(), "logging")) return lone().request(asker, message);
  const std::string level = text_argument(message.text(message.params), "level");
  if (!contains(log_levels, level))
    return clients_.refuse(
        asker, error_answer(message.text(message.id), code::invalid_params,
                            fmt::format("Unknown log level {}; use one of: {}",
                                        quote(as_utf8(level.substr(0, 40))), fmt::join(log_levels, ", "))));
  if (!presentation_.passes_through) level_ = message.raw;
  for (const auto& member : members_) member->instance().set_level(client_, message);
  clients_.answer(asker, result_answer(message.text(message.id), "{}"));
}

// A single server may know what we don't; of several, only the one that has the task can be meant.
void Desk::request_other(Asker asker, const Message& message) {
  if (presentation_.passes_through) return lone().request(asker, message);
  const std::string method = string_value(message.text(message.method));
  if (method.starts_with("tasks/")) {
    const std::string_view task = find_member(message.text(message.params), "taskId");
    const auto keeper = std::ranges::find_if(members_, [&](const auto& member) {
      return !task.empty() && member->instance().owner_of_task(task) == asker.client;
    });
    if (keeper != members_.end()) return pass(**keeper, asker, message);
    if (!task.empty())
      return clients_.refuse(asker, error_answer(message.text(message.id), code::invalid_params,
                                                 fmt::format("Unknown task: {}", task)));
  }
  clients_.refuse(asker, error_answer(message.text(message.id), code::method_not_found,
                                      fmt::format("Method not found: {}", method)));
}

void Desk::request_unless(bool lacking, std::string_view otherwise, Asker asker, const Message& message) {
  if (!lacking) return lone().request(asker, message);
  if (!lone().remember_setting(client_, message))
    return clients_.refuse(asker, too_many_subscriptions(message.text(message.id)));
  clients_.answer(asker, result_answer(message.text(message.id), otherwise));
}

void Desk::notify(const Message& message) {
  if (message.known == Method::initialized && shakes_hands()) return;  // we have told the servers
  if (message.known == Method::tools_call) {
    // A call without an answer, which MCP doesn't have, and it names no server.
    return clients_.saw({.way = Seen::Way::from_client,
                         .what = Seen::What::refused,
                         .client = client_,
                         .raw = message.raw,
                         .message = &message,
                         .why = "a tools/call without an id"});
  }
  for (const auto& member : members_) member->instance().notify(message);
}

void Desk::cancel(Asker by, const Message& cancelled) {
  if (const auto asker = early_.cancel(by, cancelled.text(cancelled.request_id)))
    return clients_.withdrawn(*asker, cancelled);
  if (control_.cancel(by, cancelled) || close_listen(by, cancelled)) return;
  for (const Members* some : {&std::as_const(members_), &leaving_.all()})
    for (const auto& member : *some)
      if (member->instance().cancel(by, cancelled)) return;
  clients_.saw({.way = Seen::Way::from_client,
                .what = Seen::What::dropped,
                .client = by.client,
                .raw = cancelled.raw,
                .message = &cancelled,
                .why = "a cancellation of a request that isn't in flight"});
}

}  // namespace mcpivot
