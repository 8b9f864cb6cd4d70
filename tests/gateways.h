// For tests with many servers behind one mcpivot: their configuration file, and the moment when all are
// ready.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "lives.h"

namespace harness {

// A fake server, as a configuration file describes it.
inline boost::json::object server(const Strings& arguments, boost::json::object more = {}) {
  more["command"] = "${FAKE}";
  more["args"] = boost::json::value_from(arguments);
  return more;
}

// A configuration file.
inline std::string file_of(const boost::json::object& servers, boost::json::object more = {}) {
  more["mcpServers"] = servers;
  return boost::json::serialize(more);
}

// Two servers that have the same tools: one is active, one is not.
inline boost::json::object two() {
  return {{"alpha", server({"--name", "alpha", "--lives", "alpha-lives", "--instructions", "Alpha is first."},
                           {{"active", true}})},
          {"beta",
           server({"--name", "beta", "--lives", "beta-lives", "--only", "echo,crash,state,sleep,log,ask"})}};
}

inline ClientOptions with(const boost::json::object& servers, const boost::json::object& more = {},
                          Strings options = {}) {
  return {.options = std::move(options), .config = file_of(servers, more)};
}

// All servers have answered.
inline void wait_ready(Client& client, const Strings& names) {
  for (const std::string& name : names)
    ASSERT_TRUE(wait_until(
        [&] {
          return client.call_text("pivot_status").find(name + ": ") != std::string::npos &&
                 own(client, "pivot_status", {{"server", name}}).find("state: ready") != std::string::npos;
        },
        soon()))
        << name << "\n"
        << client.call_text("pivot_status");
}

inline void start(Client& client, const Strings& names = {"alpha", "beta"}) {
  client.initialize();
  wait_ready(client, names);
}

// Replaces the configuration file atomically.
inline void rewrite(Client& client, const std::string& text) {
  const std::filesystem::path file = client.directory() / "mcpivot.json";
  std::ofstream(file.string() + ".new") << text;
  std::filesystem::rename(file.string() + ".new", file);
}

// The names among these that belong to one server.
inline Strings with_prefix(const Strings& names, const std::string& prefix) {
  Strings found;
  for (const std::string& name : names)
    if (name.starts_with(prefix)) found.push_back(name);
  return found;
}

}  // namespace harness
