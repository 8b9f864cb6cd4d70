#include "gateway/gateway.h"

#include <fmt/format.h>

#include <cctype>

#include "log/log.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

namespace {

ServerConfig with_names(ServerConfig config, Compat compat) {
  config.control = control_names(compat);
  return config;
}

// What a tool of the server's is called whose name is one of ours.
std::string other_name(const std::string& server, std::string_view tool) {
  std::string name;
  for (const char c : server) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  return fmt::format("{}__{}", name, tool);
}

}  // namespace

Gateway::Gateway(LinkContext& context, Guard& guard, const ServerConfig& config, Compat compat)
    : server_(context, guard, with_names(config, compat), *this),
      control_(context.loop, server_, compat),
      announcer_(context.loop, [this](std::string_view method) {
        for (Session* session : sessions_) session->answer(request_line({}, method, {}));
      }) {
  if (!config.watching) return;
  watch_ = std::make_unique<SourceWatch>(context.loop, config, [this](const std::string& reason) {
    // One that was stopped on request waits for a call: somebody may be in the middle of a build.
    if (server_.state() != Server::State::stopped) reload(reason);
  });
}

void Gateway::add(Session& session) {
  sessions_.push_back(&session);
  server_.add_client(session);
}

void Gateway::on_writable() {
  for (Session* session : sessions_) session->resume();
}

void Gateway::reload(const std::string& reason) {
  server_.reload({.build = !server_.config().build.empty(),
                  .renew = true,
                  .reason = reason,
                  .progress = {},
                  .done = [this](const Server::Outcome& outcome) { server_.add_notice(outcome.text); }});
}

void Gateway::request(Session& session, Asker& asker, const Message& message) {
  if (message.known == Method::initialize) return initialize(session, asker, message);
  if (!server_.knows_client() && message.known != Method::discover) return server_.request(asker, message);
  const std::string_view id = message.text(message.id);
  switch (message.known) {
    case Method::discover:
      return asker.answer(error_answer(id, code::method_not_found, "Method not found: server/discover"));
    case Method::ping:
      return asker.answer(result_answer(id, "{}"));
    case Method::tools_list:
      return list(asker, message, ListKind::tools);
    case Method::prompts_list:
      return list(asker, message, ListKind::prompts);
    case Method::resources_list:
      return list(asker, message, ListKind::resources);
    case Method::resource_templates_list:
      return list(asker, message, ListKind::templates);
    case Method::set_level:
      return request_if(has_capability(server_.initialize_result(), "logging"), "{}", asker, message);
    case Method::complete:
      return request_if(has_capability(server_.initialize_result(), "completions"),
                        R"({"completion":{"values":[]}})", asker, message);
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      return request_if(takes_subscriptions(server_.initialize_result()), "{}", asker, message);
    case Method::tools_call:
      return call_tool(asker, message);
    default:
      server_.request(asker, message);
  }
}

void Gateway::initialize(Session& session, Asker& asker, const Message& message) {
  auto answer = [this, &session, &asker, id = std::string(message.text(message.id)),
                 params = std::string(message.text(message.params))] {
    const std::string& ours = server_.initialize_result();
    const std::string result =
        ours.empty() ? lonely_initialize_result(params, words_of_trouble()) : widened_initialize_result(ours);
    session.agreed_version(find_member(result, "protocolVersion"));
    asker.answer(result_answer(id, result));
  };
  server_.hello(message.text(message.params), std::move(answer));
}

std::string Gateway::words_of_trouble() const {
  const ControlNames& tools = server_.config().control;
  std::string text = fmt::format(
      "The MCP server \"{}\" behind mcpivot is not running: {}. Its tools will appear when it is.",
      server_.name(), server_.trouble());
  if (!tools.logs.empty()) text += fmt::format(" {} shows its stderr.", tools.logs);
  if (!tools.status.empty()) text += fmt::format(" {} shows its state.", tools.status);
  return text;
}

void Gateway::call_tool(Asker& asker, const Message& message) {
  if (!message.name) return server_.request(asker, message);
  const std::string name = string_value(message.text(message.name));
  if (control_.has(name)) return control_.call(asker, message);
  const auto separator = name.rfind("__");
  if (separator == std::string::npos) return server_.request(asker, message);
  const std::string own = name.substr(separator + 2);
  const bool renamed = control_.has(own) && name == other_name(server_.name(), own) &&
                       server_.catalog().find(ListKind::tools, name) == nullptr;
  if (!renamed) return server_.request(asker, message);
  const std::string line = spliced(message.raw, Edits().replace(message.name, quote(own)).list());
  server_.request(asker, *read_message(line));
}

// The server's tools in the server's order, then ours. Ours keep their names.
std::string Gateway::tools() const {
  std::string items;
  for (const Item& item : server_.catalog().list(ListKind::tools)) {
    if (!items.empty()) items += ",";
    if (!control_.has(item.key)) {
      items += item.json;
      continue;
    }
    const std::string name = other_name(server_.name(), item.key);
    log_warn("{}: its tool {} has the name of one of mcpivot's; it is called {} here", server_.name(),
             item.key, name);
    const std::string_view spelled = find_member(item.json, "name");
    const auto at = static_cast<std::size_t>(spelled.data() - item.json.data());
    items += item.json.substr(0, at) + quote(name) + item.json.substr(at + spelled.size());
  }
  const std::string ours = control_.definitions();
  return items + (items.empty() || ours.empty() ? "" : ",") + ours;
}

void Gateway::list(Asker& asker, const Message& message, ListKind kind) {
  server_.when_settled([this, &asker, kind, id = std::string(message.text(message.id))] {
    std::string items;
    if (kind == ListKind::tools) {
      items = tools();
    } else {
      for (const Item& item : server_.catalog().list(kind)) items += (items.empty() ? "" : ",") + item.json;
    }
    asker.answer(result_answer(id, fmt::format(R"({{"{}":[{}]}})", words(kind).member, items)));
  });
}

void Gateway::request_if(bool has, std::string_view otherwise, Asker& asker, const Message& message) {
  if (has || server_.initialize_result().empty()) return server_.request(asker, message);
  server_.remember_setting(message);
  asker.answer(result_answer(message.text(message.id), otherwise));
}

void Gateway::notify(const Message& message) {
  if (message.known == Method::initialized && server_.knows_client())
    return;  // the server has been told by us
  server_.notify(message);
}

void Gateway::cancel(Asker& client, const Message& cancelled) {
  if (!control_.cancel(client, cancelled)) server_.cancel(client, cancelled);
}

}  // namespace mcpivot
