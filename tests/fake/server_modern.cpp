// The fake server in the modern era: every request identifies its client, and clients are only told what they
// listen for. It is strict, so that it rejects what mcpivot gets wrong.
#include <algorithm>
#include <set>

#include "modern_check.h"
#include "server.h"
#include "tools.h"

namespace fake {
namespace {

namespace json = boost::json;

constexpr const char* log_level_key = "io.modelcontextprotocol/logLevel";
constexpr const char* server_info_key = "io.modelcontextprotocol/serverInfo";

// What the modern era lacks.
bool is_gone(const std::string& method) {
  static const std::set<std::string> gone = {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                                             "resources/unsubscribe"};
  return gone.contains(method) || method.starts_with("tasks/");
}

bool is_cacheable(const std::string& method) {
  return method.ends_with("/list") || method == "resources/read" || method == "server/discover";
}

bool wants(const json::object& filter, const char* key) {
  const json::value* wish = filter.if_contains(key);
  return wish != nullptr && *wish == json::value(true);
}

bool wants_resource(const json::object& filter, const std::string& uri) {
  const json::value* uris = filter.if_contains("resourceSubscriptions");
  return uris != nullptr && std::ranges::find(uris->as_array(), json::value(uri)) != uris->as_array().end();
}

}  // namespace

bool Server::admits(const json::object& message, const std::string& method) {
  const json::value& id = message.at("id");
  const bool asks_modern = method == "server/discover" || fake::is_modern(message);
  if (options_.era == "both" && !pinned_) modern_ = asks_modern;
  pinned_ = true;
  if (method == "server/discover" && options_.die_at == DieAt::discover) die(options_.die_how);
  if (method == "initialize" && options_.die_at == DieAt::before_initialize) die(options_.die_how);
  if (options_.deaf && asks_modern != modern_) return false;
  if (!modern_) return true;  // all it knows about the modern era is that it has no such methods
  const json::object versions = {{"supported", json::array{modern_version}},
                                 {"requested", method == "initialize" ? "2025-11-25" : "another"}};
  const json::value* version = member(meta_of(message), version_key);
  if (method == "initialize") {
    wire_.error(id, -32022, "Unsupported protocol version", versions);
  } else if (version == nullptr || !version->is_string()) {
    wire_.error(id, -32602, "params._meta names no protocol version");
  } else if (*version != json::value(modern_version)) {
    wire_.error(id, -32022, "Unsupported protocol version", versions);
  } else if (const json::value* able = member(meta_of(message), capabilities_key);
             !able || !able->is_object()) {
    wire_.error(id, -32602, "params._meta names no client capabilities");
  } else if (is_gone(method)) {
    wire_.error(id, -32601, "Method not found: " + method);
  } else {
    return true;
  }
  return false;
}

json::value Server::in_its_era(const std::string& method, json::value result) const {
  if (!modern_) return result;
  json::object& members = result.as_object();
  members.insert({{"resultType", "complete"}});
  if (is_cacheable(method)) members.insert({{"ttlMs", 0}, {"cacheScope", "private"}});
  return result;
}

json::value Server::discover() const {
  json::array versions = {modern_version};
  if (options_.era == "both") versions.emplace_back("2025-11-25");
  json::object result = {{"supportedVersions", versions}, {"capabilities", capabilities()}};
  result["_meta"] = {{server_info_key, {{"name", options_.name}, {"version", options_.version}}}};
  if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
  return result;
}

void Server::listen(const json::value& id, const json::object& params) {
  if (options_.listen == "hold") return;
  if (options_.listen == "refuse") return wire_.error(id, -32601, "Method not found: subscriptions/listen");
  const json::value* filter = params.if_contains("notifications");
  if (filter == nullptr || !filter->is_object()) return wire_.error(id, -32602, "no notifications are named");
  wire_.notify("notifications/subscriptions/acknowledged",
               {{"_meta", {{subscription_key, id}}}, {"notifications", *filter}});
  if (options_.listen == "end")
    return wire_.result(id, in_its_era("", json::object{{"_meta", {{subscription_key, id}}}}));
  listens_[json::serialize(id)] = {id, filter->get_object()};
}

void Server::announce(std::string_view method, const char* wish) {
  if (!modern_) return wire_.notify(method, nullptr);
  for (const auto& [key, listen] : listens_)
    if (wants(listen.second, wish)) wire_.notify(method, {{"_meta", {{subscription_key, listen.first}}}});
}

void Server::touch(const std::string& uri) {
  constexpr std::string_view updated = "notifications/resources/updated";
  if (!modern_ && subscriptions_.contains(uri)) wire_.notify(updated, {{"uri", uri}});
  for (const auto& [key, listen] : listens_)
    if (wants_resource(listen.second, uri))
      wire_.notify(updated, {{"uri", uri}, {"_meta", {{subscription_key, listen.first}}}});
}

std::string Server::log_level_of(const json::object& meta) {
  const json::value* level = meta.if_contains(log_level_key);
  return level != nullptr && level->is_string() ? std::string(level->get_string()) : std::string();
}

}  // namespace fake
