// For tests of the two protocol eras: clients and fake servers of either, what a modern client says about
// itself, and the rounds of a call that needs answers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gateways.h"

namespace harness {

enum class Era { legacy, modern };

inline std::string text(Era era) {
  return era == Era::modern ? "modern" : "legacy";
}

constexpr const char* modern_version = "2026-07-28";
constexpr const char* version_key = "io.modelcontextprotocol/protocolVersion";
constexpr const char* capabilities_key = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* info_key = "io.modelcontextprotocol/clientInfo";
constexpr const char* level_key = "io.modelcontextprotocol/logLevel";
constexpr const char* subscription_key = "io.modelcontextprotocol/subscriptionId";

inline boost::json::object all_capabilities() {
  return {{"roots", boost::json::object()},
          {"sampling", boost::json::object()},
          {"elicitation", {{"form", boost::json::object()}, {"url", boost::json::object()}}}};
}

inline boost::json::object modern_meta(const boost::json::object& capabilities = all_capabilities()) {
  return {{version_key, modern_version},
          {capabilities_key, capabilities},
          {info_key, {{"name", "test"}, {"version", "1"}}}};
}

// The client connects, as one of its era does. A modern one has no handshake; it asks for the tools, so that
// the server has answered.
inline void greet(Client& client, Era era) {
  if (era == Era::legacy) {
    client.initialize("2025-11-25");
  } else {
    client.meta = modern_meta();
    client.request("tools/list", nullptr, in(std::chrono::seconds(20)));
  }
}

inline Strings of_era(Era era, const Strings& more = {}) {
  Strings arguments = {"--era", text(era)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// Several runs of mcpivot with the same command, in the same folder, with the same cache.
class EraRuns {
 public:
  explicit EraRuns(Strings server) : server_(std::move(server)) {
    server_.insert(server_.begin(), {"--lives", "lives"});
  }
  ClientOptions run(const Strings& options = {}) const {
    Strings all = {"--cwd", folder_.path()};
    all.insert(all.end(), options.begin(), options.end());
    return {.options = all, .server = server_, .environment = {{"XDG_CACHE_HOME", folder_.path() / "cache"}}};
  }
  // Options for the server in addition to its command line, from its next start on.
  void script(const boost::json::object& options) const {
    std::ofstream(folder() / "script.new") << options;
    std::filesystem::rename(folder() / "script.new", folder() / "script");
  }
  const std::filesystem::path& folder() const { return folder_.path(); }
  // How often the server was started.
  int starts() const {
    const std::string lives = content_of(folder_.path() / "lives");
    return lives.empty() ? 0 : std::stoi(lives);
  }

 private:
  TemporaryDirectory folder_;
  Strings server_;
};

// Each era of the client with each of its server.
struct EraPair {
  Era client;
  Era server;
};

inline std::string name_of(const testing::TestParamInfo<EraPair>& pair) {
  return text(pair.param.client) + "_client_" + text(pair.param.server) + "_server";
}

inline const auto every_pair =
    testing::Values(EraPair{Era::legacy, Era::legacy}, EraPair{Era::legacy, Era::modern},
                    EraPair{Era::modern, Era::legacy}, EraPair{Era::modern, Era::modern});

inline std::int64_t code_of(const boost::json::object& answer) {
  const boost::json::value* error = answer.if_contains("error");
  return error == nullptr ? 0 : error->at("code").to_number<std::int64_t>();
}

inline Strings versions_in(const boost::json::object& discovered) {
  Strings versions;
  for (const auto& version : discovered.at("result").at("supportedVersions").as_array())
    versions.emplace_back(version.as_string());
  return versions;
}

// --- rounds

inline boost::json::object elicitation(std::string_view message = "Which?") {
  return {{"method", "elicitation/create"},
          {"params",
           {{"mode", "form"},
            {"message", message},
            {"requestedSchema", {{"type", "object"}, {"properties", boost::json::object()}}}}}};
}

inline boost::json::object accepted(const boost::json::object& content = {{"is", "this"}}) {
  return {{"action", "accept"}, {"content", content}};
}

// A round in which the server asks this under the key "q".
inline boost::json::object round_of(const boost::json::object& question, std::string_view state = "s") {
  return {{"inputRequests", {{"q", question}}}, {"requestState", state}};
}

// Arguments for the tool "require".
inline boost::json::object rounds(const boost::json::array& all, boost::json::object more = {}) {
  more["rounds"] = all;
  return more;
}

inline bool wants_input(const boost::json::object& answer) {
  const boost::json::value* result = answer.if_contains("result");
  const boost::json::value* type =
      result != nullptr ? result->as_object().if_contains("resultType") : nullptr;
  return type != nullptr && *type == boost::json::value("input_required");
}

// The params of a retry that answers all questions in the same way.
inline boost::json::object retry_of(boost::json::object params, const boost::json::object& answer,
                                    const boost::json::value& response) {
  const boost::json::object& result = answer.at("result").as_object();
  boost::json::object responses;
  if (const boost::json::value* asked = result.if_contains("inputRequests"))
    for (const auto& question : asked->as_object()) responses[question.key()] = response;
  params["inputResponses"] = responses;
  if (const boost::json::value* state = result.if_contains("requestState")) params["requestState"] = *state;
  return params;
}

inline boost::json::object call_of(std::string_view tool, const boost::json::object& arguments = {}) {
  return {{"name", tool}, {"arguments", arguments}};
}

// --- subscriptions

inline std::int64_t listen(Client& client, const boost::json::object& filter) {
  const std::int64_t id = client.send("subscriptions/listen", {{"notifications", filter}});
  const boost::json::object first = client.expect_notification("notifications/subscriptions/acknowledged");
  EXPECT_EQ(first.at("params").at("_meta").at(subscription_key), boost::json::value(id));
  return id;
}

inline boost::json::value subscription_of(const boost::json::object& notification) {
  const boost::json::value* params = notification.if_contains("params");
  const boost::json::value* meta = params != nullptr ? params->as_object().if_contains("_meta") : nullptr;
  const boost::json::value* id = meta != nullptr ? meta->as_object().if_contains(subscription_key) : nullptr;
  return id != nullptr ? *id : boost::json::value();
}

}  // namespace harness
