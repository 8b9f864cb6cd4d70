#include "gateway/client_state.h"

#include <boost/json.hpp>
#include <exception>
#include <utility>

namespace mcpivot {
namespace {

namespace json = boost::json;

json::array array_of(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

std::string text_at(const json::value& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

std::vector<std::string> texts_at(const json::value& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const json::value& text : object.at(key).as_array()) texts.emplace_back(text.as_string());
  return texts;
}

json::value value_of(const ClientState::OfServer& server) {
  json::array calls;
  for (const Replay::Kept& kept : server.replay.calls)
    calls.push_back({{"tool", kept.rule.tool},
                     {"key", kept.rule.key},
                     {"value", kept.rule.value},
                     {"params", kept.params}});
  return {{"active", server.active},
          {"level", server.replay.log_level},
          {"subscriptions", array_of(server.replay.subscriptions)},
          {"calls", std::move(calls)},
          {"tasks", array_of(server.tasks)}};
}

ClientState::OfServer server_from(const json::value& value) {
  ClientState::OfServer server;
  server.active = value.at("active").as_bool();
  server.replay.log_level = text_at(value, "level");
  server.replay.subscriptions = texts_at(value, "subscriptions");
  server.tasks = texts_at(value, "tasks");
  for (const json::value& call : value.at("calls").as_array())
    server.replay.calls.push_back(
        {{text_at(call, "tool"), text_at(call, "key"), text_at(call, "value")}, text_at(call, "params")});
  return server;
}

}  // namespace

std::string to_json(const ClientState& state) {
  json::object names;
  for (const auto& [server, naming] : state.names_seen)
    names[server] = naming == Naming::bare ? "bare" : "prefixed";
  json::object servers;
  for (const auto& [name, server] : state.servers) servers[name] = value_of(server);
  return json::serialize(json::object{{"hello", state.hello},
                                      {"era", text(state.era)},
                                      {"level", state.level},
                                      {"notices", state.notices},
                                      {"names", std::move(names)},
                                      {"servers", std::move(servers)},
                                      {"questions", array_of(state.questions)}});
}

std::expected<ClientState, std::string> client_state_from(std::string_view text) try {
  const json::value value = json::parse(text);
  ClientState state;
  state.hello = text_at(value, "hello");
  state.era = text_at(value, "era") == mcpivot::text(Era::modern) ? Era::modern : Era::legacy;
  state.level = text_at(value, "level");
  state.notices = text_at(value, "notices");
  state.questions = texts_at(value, "questions");
  for (const auto& [server, naming] : value.at("names").as_object())
    state.names_seen.emplace(server, naming.as_string() == "bare" ? Naming::bare : Naming::prefixed);
  for (const auto& [name, server] : value.at("servers").as_object())
    state.servers.emplace(name, server_from(server));
  return state;
} catch (const std::exception& error) {
  return std::unexpected(std::string("not the state of a client: ") + error.what());
}

}  // namespace mcpivot
