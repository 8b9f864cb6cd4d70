#include "cli/server_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "base/files.h"
#include "base/shell_word.h"
#include "base/url.h"
#include "cli/split_words.h"
#include "config/credentials.h"
#include "config/units.h"
#include "glob/glob.h"

namespace mcpivot {
namespace {

std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw CLI::ValidationError("--env", "expected KEY=VALUE, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

ReplayRule replay_rule(const std::string& text) {
  if (auto rule = parse_replay_rule(text)) return std::move(*rule);
  throw CLI::ValidationError("--replay", "expected TOOL or TOOL:KEY=VALUE, got '" + text + "'");
}

std::vector<std::string> words(const std::string& option, const std::string& text) {
  auto split = split_words(text);
  if (!split) throw CLI::ValidationError(option, fmt::format("{} in '{}'", split.error(), text));
  return std::move(*split);
}

// The server that --tools-from describes; does nothing without it.
void take_cli(const CLI::App& app, CliTexts& texts, ServerConfig& server) {
  auto given = [&](const char* option) { return app.count(option) > 0; };
  if (!given("--tools-from")) {
    for (const char* option : {"--schema-args", "--result-args", "--jobs", "--max-output"})
      if (given(option)) throw CLI::ValidationError(option, "it needs --tools-from");
    return;
  }
  if (!server.command.argv.empty())
    throw CLI::ValidationError("--tools-from", "there is also a command after \"--\"; give one or the other");
  if (given("--replay"))
    throw CLI::ValidationError("--replay", "a CLI keeps no state, so there is nothing to replay");
  if (given("--drain"))
    throw CLI::ValidationError("--drain",
                               "a CLI's calls always finish; \"timeout\" in its schema limits them");
  if (server.swap == SwapMode::stop_first)
    throw CLI::ValidationError("--swap",
                               "a CLI runs only while it is called; there is nothing to stop first");
  server.command.argv = words("--tools-from", texts.command);
  if (server.command.argv.empty())
    throw CLI::ValidationError("--tools-from", "expected a command, got nothing");
  texts.config.schema_args = words("--schema-args", texts.schema_args);
  texts.config.result_args = words("--result-args", texts.result_args);
  server.cli = texts.config;
}

// For a server that no file knows.
std::string login_arguments(const HttpConfig& http) {
  const auto url = parse_url(http.url);
  std::string text = shell_word(url ? url->shown() : http.url);
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {} {}", option, shell_word(value));
  };
  add("--client-id", http.oauth.client_id);
  add("--client-metadata-url", http.oauth.client_metadata_url);
  if (http.oauth.redirect_port != 0) add("--redirect-port", std::to_string(http.oauth.redirect_port));
  add("--cacert", http.cacert);
  if (http.insecure) text += " --insecure";
  return text;
}

// Throws if an option for daemons is wrong, or given without a daemon.
void check_http_options(const CLI::App& app, ServerConfig& server) {
  const HttpConfig& http = server.http;
  auto given = [&](const char* name) { return app.count(name) > 0; };
  if (!given("--url")) {
    for (const char* name : {"--header", "--cacert", "--insecure", "--client-id", "--client-metadata-url",
                             "--redirect-port", "--start", "--stop", "--start-after"})
      if (given(name)) throw CLI::ValidationError(name, "is for a daemon; give its address with --url");
    return;
  }
  const auto url = parse_url(http.url);
  if (!url) throw CLI::ValidationError("--url", url.error());
  if (!server.command.argv.empty())
    throw CLI::ValidationError("--url", "give either an address or a command after \"--\", not both");
  // Whether the variables exist is checked later.
  const auto credentials = Credentials::from_headers(http.headers, [](const char*) { return "x"; });
  if (!credentials) throw CLI::ValidationError("--header", credentials.error());
  for (const char* name : {"--cacert", "--insecure"})
    if (given(name) && !url->tls)
      throw CLI::ValidationError(name, "makes sense only with an https:// address");
  if (given("--cacert") && http.insecure)
    throw CLI::ValidationError("--insecure", "trusts any certificate, so --cacert has no effect with it");
  if (given("--client-metadata-url") && !http.oauth.client_metadata_url.starts_with("https://"))
    throw CLI::ValidationError("--client-metadata-url", "must be an https:// address");
  if (given("--start-after") && http.start.empty())
    throw CLI::ValidationError("--start-after", "needs --start");
  if (given("--swap")) throw CLI::ValidationError("--swap", "is for processes, not for a daemon");
  if (given("--watch") && server.build.empty() && http.start.empty() && http.stop.empty())
    throw CLI::ValidationError(
        "--watch", "needs --build, --start or --stop with a daemon; otherwise there is nothing to do");
  if (!given("--queue-timeout")) server.queue_timeout = std::chrono::seconds(60);
  if (server.name.empty()) server.name = url->authority();
  server.http.login = login_arguments(http);
}

// Parses them.
void take_texts(const ServerTexts& texts, ServerConfig& server) {
  for (const auto& [name, limit] : {std::pair{"--drain", &server.drain},
                                    {"--call-timeout", &server.call_timeout},
                                    {"--start-timeout", &server.start_timeout},
                                    {"--queue-timeout", &server.queue_timeout},
                                    {"--start-after", &server.http.start_after}})
    if (const std::string& text = texts.durations.at(name); !text.empty())
      *limit = duration_option(name, text);
  if (server.verify.wanted() && !server.verify.from_journal())
    server.verify.calls = absolute_path(server.verify.calls).lexically_normal().string();
  if (server.verify.gate && !server.verify.wanted()) throw CLI::ValidationError("--gate", "needs --verify");
  if (server.verify.gate && !server.http.url.empty())
    throw CLI::ValidationError("--gate",
                               "is for processes: a daemon's old build is gone when its new one runs");
  for (const std::string& rule : texts.replay) server.replay.push_back(replay_rule(rule));
  for (const std::string& pattern : server.watch)
    if (auto glob = Glob::compile(pattern); !glob) throw CLI::ValidationError("--watch", glob.error());
  server.watching = !texts.no_watch;
  if (texts.swap == "stop-first") server.swap = SwapMode::stop_first;
  if (!texts.on_save.empty()) server.on_save = texts.on_save == "wait" ? OnSave::wait : OnSave::serve;
  if (texts.era == "legacy") server.era = Era::legacy;
  if (texts.era == "modern") server.era = Era::modern;
  for (const std::string& variable : texts.variables) server.command.env.push_back(key_and_value(variable));
}

}  // namespace

void ServerTexts::add_limit(CLI::App& app, const std::string& name, const std::string& what) {
  app.add_option(name, durations[name], what)->option_text("TIME");
}

void add_server_options(CLI::App& app, ServerConfig& server, ServerTexts& texts) {
  app.add_option("--name", server.name,
                 "What to call the server in messages and logs (default: its script, package or program)")
      ->option_text("NAME");
  app.add_option("--cwd", server.command.cwd, "Run the server in this folder")->option_text("FOLDER");
  app.add_option("--env", texts.variables, "Set a variable in the server's environment (repeatable)")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--build", server.build,
                 "A shell command that builds the server, for the tool pivot_rebuild; run in --cwd")
      ->option_text("COMMAND");
  app.add_option("--watch", server.watch,
                 "Rebuild and swap when a file that matches is saved (repeatable; ** crosses folders; "
                 "relative to --cwd). Default: when the server's own file is replaced")
      ->option_text("GLOB")
      ->allow_extra_args(false);
  app.add_flag("--no-watch", texts.no_watch, "Watch no files");
  app.add_option("--on-save", texts.on_save,
                 "A call that arrives while a saved change is built or started: wait for the new server (the "
                 "default; at most 20 s), or serve it with the old one (the default of mcpivot serve)")
      ->check(CLI::IsMember({"wait", "serve"}))
      ->option_text("MODE");
  app.add_option("--swap", texts.swap,
                 "overlap (the default): a new server starts while the old one runs; stop-first: for servers "
                 "that cannot run twice")
      ->check(CLI::IsMember({"overlap", "stop-first"}))
      ->option_text("MODE");
  app.add_option("--replay", texts.replay,
                 "After each start, repeat the last successful call of this tool (repeatable); with "
                 "TOOL:KEY=VALUE only calls with that argument count")
      ->option_text("TOOL")
      ->allow_extra_args(false);
  app.add_option("--verify", server.verify.calls,
                 "Before a new build serves, repeat recorded calls that are safe to repeat, and compare the "
                 "answers: \"journal\", or a file that \"mcpivot journal keep\" wrote")
      ->option_text("CALLS");
  app.add_flag(
      "--gate", server.verify.gate,
      "With --verify: if an answer differs, the old server serves until somebody accepts the new one "
      "(\"mcpivot accept\")");
  app.add_option("--compat", texts.compat,
                 "List this program's control tools instead of pivot_…: mcpflow (recompile), "
                 "mcp-sitter (sitter_status, sitter_kill, …) or mcpflip (gateway_activate, …)")
      ->check(CLI::IsMember({"mcpflow", "mcp-sitter", "mcpflip"}))
      ->option_text("PROGRAM");
  app.add_option("--era", texts.era,
                 "The protocol era to speak with the server: legacy (up to 2025-11-25) or modern "
                 "(2026-07-28). Default: detect it")
      ->check(CLI::IsMember({"auto", "legacy", "modern"}))
      ->option_text("ERA");
  app.add_option("--front", texts.front,
                 "Offer the modern protocol era to clients that support both: modern (always), legacy "
                 "(never), or auto (the default: if a server supports it)")
      ->check(CLI::IsMember({"auto", "legacy", "modern"}))
      ->option_text("ERA");
  app.add_option("--max-message", server.max_message,
                 "Longest message to the client, e.g. 10000000 or 8MB; a longer one becomes an error "
                 "(default: 10000000)")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 30))
      ->option_text("BYTES");
}

void add_time_limits(CLI::App& app, ServerTexts& texts) {
  texts.add_limit(app, "--drain",
                  "How long calls in flight may take to finish on an old server (default: 10s)");
  texts.add_limit(app, "--call-timeout", "How long a call may take without progress (default: 10m)");
  texts.add_limit(app, "--start-timeout",
                  "How long a server may take to start and complete its handshake (default: 30s)");
  texts.add_limit(app, "--queue-timeout",
                  "How long a request waits for a server that is down (default: 30s; with --url 60s)");
}

// A server behind a URL instead of a command.
void add_http_options(CLI::App& app, HttpConfig& http, ServerTexts& texts) {
  app.add_option("--url", http.url, "The address of an HTTP server, instead of a COMMAND")
      ->option_text("URL");
  app.add_option("--header", http.headers,
                 "Send this header with each request (repeatable); ${VAR} comes from the environment")
      ->option_text("\"NAME: VALUE\"")
      ->allow_extra_args(false);
  app.add_option("--cacert", http.cacert, "Trust the certificates in this file, in addition to the system's")
      ->option_text("FILE")
      ->check(CLI::ExistingFile);
  app.add_flag("--insecure", http.insecure, "Trust any certificate");
  app.add_option("--client-id", http.oauth.client_id,
                 "Sign in as this OAuth client, which you registered with the server's authorization server")
      ->option_text("ID");
  app.add_option("--client-metadata-url", http.oauth.client_metadata_url,
                 "Sign in as the OAuth client that this https:// document describes, if the authorization "
                 "server accepts such documents")
      ->option_text("URL");
  app.add_option("--redirect-port", http.oauth.redirect_port,
                 "The port on 127.0.0.1 that the browser comes back to after a sign-in")
      ->option_text("PORT")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65535}));
  app.add_option(
         "--start", http.start,
         "A shell command that starts the daemon if nothing listens; it keeps running when mcpivot exits")
      ->option_text("COMMAND");
  app.add_option("--stop", http.stop,
                 "A shell command that stops it, for rebuilds and for pivot_restart with stop")
      ->option_text("COMMAND");
  texts.add_limit(app, "--start-after",
                  "How long a daemon may be away before a waiting request runs --start (default: 5s)");
}

void add_cli_options(CLI::App& app, CliTexts& texts) {
  app.add_option("--tools-from", texts.command,
                 "Serve the tools that this CLI describes: \"CLI schema --json\" prints them, and each call "
                 "runs it once. Quotes keep words together; no shell is involved")
      ->option_text("CLI");
  app.add_option("--schema-args", texts.schema_args,
                 "The arguments that make the CLI print its tools (default: \"schema --json\")")
      ->option_text("ARGS");
  app.add_option("--result-args", texts.result_args,
                 "Arguments to append to each call, possibly none (default: \"--json\")")
      ->option_text("ARGS");
  app.add_option("--jobs", texts.config.jobs,
                 "How many calls of a CLI may run at once; the rest wait (default: 4 for each core)")
      ->check(CLI::Range(1, 10'000))
      ->option_text("N");
  app.add_option("--max-output", texts.config.max_output,
                 "Longest output of a call; the middle of a longer one is cut, and the whole is kept in a "
                 "file (default: 1MiB)")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 28))
      ->option_text("BYTES");
}

void take_server_options(const CLI::App& app, ServerTexts& texts, ServerConfig& server) {
  take_texts(texts, server);
  take_cli(app, texts.cli, server);
  check_http_options(app, server);
}

std::chrono::milliseconds duration_option(const std::string& option, const std::string& text) {
  if (const auto time = parse_duration(text)) return *time;
  throw CLI::ValidationError(option, "expected a duration like 500ms, 30s or 10m, got '" + text + "'");
}

}  // namespace mcpivot
