// The options that describe one server: what an entry of a config file says, on the command line. CLI11 fills
// in texts; what they mean, and which of them don't go together, is decided once all are known.
//
// One thread.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "config/server_config.h"

namespace CLI {
class App;
}

namespace mcpivot {

// The values of --tools-from and related options.
struct CliTexts {
  std::string command;
  std::string schema_args = "schema --json";
  std::string result_args = "--json";
  CliConfig config{};
};

// Options about a server whose text has yet to be parsed.
struct ServerTexts {
  std::vector<std::string> variables;
  std::vector<std::string> replay;
  std::map<std::string, std::string> durations;
  std::string swap = "overlap";
  std::string on_save;
  std::string compat;
  std::string era;
  std::string front;
  bool no_watch = false;
  CliTexts cli{};

  void add_limit(CLI::App& app, const std::string& name, const std::string& what);
};

// Each adds a group of options.
void add_server_options(CLI::App& app, ServerConfig& server, ServerTexts& texts);
void add_time_limits(CLI::App& app, ServerTexts& texts);
void add_http_options(CLI::App& app, HttpConfig& http, ServerTexts& texts);
void add_cli_options(CLI::App& app, CliTexts& texts);

// Puts what the texts mean into the server. Throws CLI::ValidationError if a value is wrong, or if options
// don't go together.
void take_server_options(const CLI::App& app, ServerTexts& texts, ServerConfig& server);

// Throws if the text isn't a duration.
std::chrono::milliseconds duration_option(const std::string& option, const std::string& text);

}  // namespace mcpivot
