#include "gateway/gateway.h"

#include <fmt/format.h>

#include "log/log.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

Gateway::Gateway(LinkContext& context, Guard& guard, const ServerConfig& config)
    : server_(context, guard, config, *this),
      control_(server_),
      announcer_(context.loop, [this](std::string_view method) {
        for (Session* session : sessions_) session->answer(request_line({}, method, {}));
        log_info("{}: sent {}", server_.name(), method);
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
                  .reason = reason,
                  .progress = {},
                  .done = [this](const Server::Outcome& outcome) {
                    if (outcome.news) server_.add_notice(outcome.text);
                  }});
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
      if (message.name && control_.has(string_value(message.text(message.name))))
        return control_.call(asker, message);
      return server_.request(asker, message);
    default:
      server_.request(asker, message);
  }
}

void Gateway::initialize(Session& session, Asker& asker, const Message& message) {
  auto answer = [this, &session, &asker, id = std::string(message.text(message.id)),
                 params = std::string(message.text(message.params))] {
    const std::string& ours = server_.initialize_result();
    const std::string result =
        ours.empty() ? lonely_initialize_result(
                           params, fmt::format("The MCP server \"{}\" behind mcpivot is not running: {}. Its "
                                               "tools will appear when it is. pivot_logs shows its stderr, "
                                               "pivot_status its state.",
                                               server_.name(), server_.trouble()))
                     : widened_initialize_result(ours);
    session.agreed_version(find_member(result, "protocolVersion"));
    asker.answer(result_answer(id, result));
  };
  server_.hello(message.text(message.params), std::move(answer));
}

void Gateway::list(Asker& asker, const Message& message, ListKind kind) {
  server_.when_settled([this, &asker, kind, id = std::string(message.text(message.id))] {
    std::string items;
    for (const Item& item : server_.catalog().list(kind)) {
      // A tool of the server's with a name of ours would be called in vain: say so rather than list it twice.
      if (kind == ListKind::tools && control_.has(item.key)) {
        log_warn("{}: its tool {} is hidden by mcpivot's own of that name", server_.name(), item.key);
        continue;
      }
      items += items.empty() ? item.json : "," + item.json;
    }
    if (kind == ListKind::tools) items += (items.empty() ? "" : ",") + control_.definitions();
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
