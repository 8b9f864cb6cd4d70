#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/shell_word.h"
#include "base/url.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/control_command.h"
#include "cli/did_you_mean.h"
#include "cli/man_page.h"
#include "cli/parse_error.h"
#include "cli/server_name.h"
#include "cli/split_words.h"
#include "config/config_file.h"
#include "config/credentials.h"
#include "config/units.h"
#include "glob/glob.h"
#include "server/executable.h"

namespace mcpivot {
namespace {

constexpr const char* description =
    "mcpivot sits between an AI client and its MCP servers, so that servers can be rebuilt, restarted and "
    "replaced while the client's connection, and with it the conversation, stays up.";

constexpr const char* footer = R"(
Example: put a server behind mcpivot in Claude Code
  claude mcp add my-server -- mcpivot -- node build/index.js

Example: an HTTP server, which you can restart whenever you like
  claude mcp add my-daemon -- mcpivot --url http://127.0.0.1:8080/mcp

The server speaks MCP over stdin and stdout; so does mcpivot. Its stderr goes to mcpivot's stderr and log.)";

std::vector<std::string> usage() {
  return {"mcpivot [OPTIONS] [--config FILE]",
          "mcpivot [OPTIONS] -- COMMAND [ARG...]",
          "mcpivot [OPTIONS] --url URL",
          "mcpivot [OPTIONS] --tools-from CLI",
          "mcpivot serve --listen ADDRESS [OPTIONS] [-- COMMAND...]",
          "mcpivot check|install|status|... [ARG...]  (below; each has a --help)"};
}

// The command that the line has got to, "mcpivot status" or "mcpivot" itself.
std::string command_of(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? "mcpivot" : "mcpivot " + commands.front()->get_name();
}

std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw CLI::ValidationError("--env", "expected KEY=VALUE, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::chrono::milliseconds duration(const std::string& option, const std::string& text) {
  if (const auto time = parse_duration(text)) return *time;
  throw CLI::ValidationError(option, "expected a duration like 500ms, 30s or 10m, got '" + text + "'");
}

ReplayRule replay_rule(const std::string& text) {
  if (auto rule = parse_replay_rule(text)) return std::move(*rule);
  throw CLI::ValidationError("--replay", "expected TOOL or TOOL:KEY=VALUE, got '" + text + "'");
}

// The values of --tools-from and related options.
struct CliTexts {
  std::string command;
  std::string schema_args = "schema --json";
  std::string result_args = "--json";
  CliConfig config{};
};

std::vector<std::string> words(const std::string& option, const std::string& text) {
  auto split = split_words(text);
  if (!split) throw CLI::ValidationError(option, fmt::format("{} in '{}'", split.error(), text));
  return std::move(*split);
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
                 "file (default: 1MB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 28))
      ->option_text("BYTES");
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

// A server behind a URL instead of a command.
void add_http_options(CLI::App& app, HttpConfig& http) {
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

// The servers are in a file: then no option may be about a single one of them.
void take_config(const CLI::App& app, GatewayConfig& gateway, bool serves) {
  for (const char* name :
       {"--url", "--tools-from", "--name", "--cwd", "--env", "--build", "--watch", "--no-watch", "--on-save",
        "--swap", "--replay", "--verify", "--gate", "--era", "--drain", "--call-timeout", "--start-timeout",
        "--queue-timeout", "--max-message"})
    if (app.count(name) > 0 && !(serves && std::string_view(name) == "--drain"))
      throw CLI::ValidationError(name, "is about one server; with a config file, set it there");
  if (!gateway.servers.front().server.command.argv.empty())
    throw CLI::ValidationError("--config", "give either a file or a command after \"--\", not both");
  const auto file = find_config(gateway.file);
  if (!file) throw CLI::ValidationError("--config", file.error());
  gateway.file = *file;
  gateway.servers.clear();
}

constexpr const char* serve_footer = R"(
Example: the servers of a file, for every client on this machine
  mcpivot serve --listen 127.0.0.1:7420 --config mcpivot.json
  claude mcp add --transport http all http://127.0.0.1:7420/mcp

Example: for other machines, each with a token of its own
  mcpivot serve --listen '*:7420' --cert cert.pem --key key.pem \
    --token-file tokens -- node server.js

Example: for everyone with an access token of your authorization server
  mcpivot serve --listen 127.0.0.1:7420 --trusted-proxy 127.0.0.1 \
    --public-url https://example.com/mcp --audience https://example.com/mcp \
    --oauth-issuer https://login.example.com --config mcpivot.json

Each client has servers of its own, started when it first needs them, unless
they are shared (--sharing, or "sharing": "shared" in the configuration).)";

// For clients that connect over HTTP.
struct ServeTexts {
  ServeOptions options{};
  std::string session_idle{};
  std::string sharing{};
};

CLI::App* add_serve_command(CLI::App& app, ServeTexts& texts, std::string& drain) {
  CLI::App* const serve = add_command(app, "serve", "--listen ADDRESS [OPTIONS] [-- COMMAND [ARG...]]",
                                      "Serve many clients over Streamable HTTP, isolated from each other");
  serve->fallthrough();
  serve->footer(serve_footer);
  ServeOptions& options = texts.options;
  serve
      ->add_option("--listen", options.listens,
                   "Address to listen on (repeatable): 127.0.0.1:7420, localhost:7420, '*:7420' for all "
                   "addresses, or unix:PATH")
      ->option_text("ADDRESS")
      ->allow_extra_args(false)
      ->required();
  serve
      ->add_option("--token-file", options.token_file,
                   "The clients' tokens, a line each: NAME TOKEN [PROFILE]; required beyond this machine")
      ->option_text("FILE");
  serve
      ->add_option("--oauth-issuer", options.oauth_issuer,
                   "Accept access tokens (JWTs) of this authorization server, for --audience; together with "
                   "--token-file, either kind of token is accepted")
      ->option_text("URL");
  serve
      ->add_option("--audience", options.audience,
                   "What these tokens must be issued for: mcpivot's own address, https://example.com/mcp")
      ->option_text("URI");
  serve->add_flag("--no-auth", options.no_auth,
                  "Accept anyone who can reach the address, also from other machines");
  serve
      ->add_option("--cert", options.certificate,
                   "Serve HTTPS with this certificate; reloaded when it changes")
      ->option_text("FILE");
  serve->add_option("--key", options.key, "The certificate's key")->option_text("FILE");
  serve
      ->add_option("--public-url", options.public_url,
                   "The URL that clients use, if a proxy is in front: https://example.com/mcp")
      ->option_text("URL");
  serve->add_option("--allow-host", options.hosts, "Another Host name to accept (repeatable)")
      ->option_text("NAME")
      ->allow_extra_args(false);
  serve
      ->add_option("--allow-origin", options.origins,
                   "Accept requests from web pages of this origin (repeatable): https://example.com, or *")
      ->option_text("ORIGIN")
      ->allow_extra_args(false);
  serve
      ->add_option("--trusted-proxy", options.trusted_proxies,
                   "Trust X-Forwarded-For, -Proto and -Host from this proxy (repeatable): an address, "
                   "a network, or unix")
      ->option_text("ADDRESS|CIDR")
      ->allow_extra_args(false);
  serve
      ->add_option("--session-key-file", options.session_key_file,
                   "The key that encrypts session ids (default: session.key under "
                   "$XDG_STATE_HOME/mcpivot, created if missing)")
      ->option_text("FILE");
  serve
      ->add_option("--session-idle", texts.session_idle,
                   "How long a client may be idle before its servers are stopped (default: 10m)")
      ->option_text("TIME");
  serve
      ->add_option("--sharing", texts.sharing,
                   "per-client (the default): each client has its own instance of a server; shared: all have "
                   "one. For servers that don't set \"sharing\" themselves")
      ->option_text("HOW")
      ->check(CLI::IsMember({"per-client", "shared"}));
  serve
      ->add_option("--max-instances", options.max_instances,
                   "How many per-client servers may run at once (default: 256)")
      ->option_text("NUMBER")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  // The one option for all servers that means more here.
  serve
      ->add_option("--drain", drain,
                   "How long calls in flight may take to finish when mcpivot exits, and on an old server "
                   "(default: 10s)")
      ->option_text("TIME");
  return serve;
}

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

  void add_limit(CLI::App& app, const std::string& name, const std::string& what) {
    app.add_option(name, durations[name], what)->option_text("TIME");
  }
};

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

void add_log_options(CLI::App& app, LogOptions& log) {
  app.add_option("--log", log.file,
                 "Log to this file (default: NAME.log under $XDG_STATE_HOME/mcpivot, 1 MB, rotating)")
      ->option_text("FILE");
  app.add_option("--log-level", log.level,
                 "trace (every message), debug, info (the default), warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->option_text("LEVEL");
}

void add_journal_options(CLI::App& app, JournalConfig& journal) {
  app.add_flag("--journal", journal.on,
               "Write every message, without secrets, into a journal; \"mcpivot journal\" shows it");
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

// Parses them.
void take_texts(const ServerTexts& texts, ServerConfig& server) {
  for (const auto& [name, limit] : {std::pair{"--drain", &server.drain},
                                    {"--call-timeout", &server.call_timeout},
                                    {"--start-timeout", &server.start_timeout},
                                    {"--queue-timeout", &server.queue_timeout},
                                    {"--start-after", &server.http.start_after}})
    if (const std::string& text = texts.durations.at(name); !text.empty()) *limit = duration(name, text);
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

Front front_of(const std::string& era) {
  if (era == "legacy") return Front::legacy;
  return era == "modern" ? Front::modern : Front::automatic;
}

Compat compat_of(const std::string& program) {
  if (program == "mcpflow") return Compat::mcpflow;
  if (program == "mcp-sitter") return Compat::mcp_sitter;
  return program == "mcpflip" ? Compat::mcpflip : Compat::none;
}

void take_serve(ServeTexts& texts, const ServerTexts& server, Options& options) {
  ServeOptions& serve = texts.options;
  if (serve.certificate.empty() != serve.key.empty())
    throw CLI::ValidationError(serve.key.empty() ? "--cert" : "--key", "--cert and --key go together");
  if (texts.sharing == "shared") serve.sharing = Sharing::shared;
  if (!texts.session_idle.empty()) serve.session_idle = duration("--session-idle", texts.session_idle);
  if (const std::string& drain = server.durations.at("--drain"); !drain.empty())
    serve.drain = duration("--drain", drain);
  if (!serve.public_url.empty())
    if (const auto url = parse_url(serve.public_url); !url)
      throw CLI::ValidationError("--public-url", url.error());
  options.serve = serve;
}

Invocation wrong(std::string why) {
  Invocation invocation;
  invocation.exit_code = usage_error;
  invocation.err = std::move(why);
  return invocation;
}

// The whole command line, as used by the parser, the help, the man page and the completions.
struct CommandLine {
  Invocation invocation{};
  ServerTexts texts{};
  CliTexts cli{};
  ServeTexts serving{};
  std::string shell{};
  CLI::App app{description, "mcpivot"};
  CLI::App* check = nullptr;
  CLI::App* serve = nullptr;
  CLI::App* man = nullptr;
  CLI::App* completion = nullptr;
  CLI::App* complete = nullptr;
  CLI::App* version = nullptr;
  std::vector<std::function<std::function<int()>()>> others{};  // commands that know how they are run

  CommandLine();
};

CommandLine::CommandLine() {
  Options& options = invocation.options;
  ServerConfig& server = options.gateway.servers.emplace_back().server;
  app.formatter(std::make_shared<CommandHelp>(usage()));
  app.footer(footer);
  app.require_subcommand(0, 1);  // a second name is an argument, such as a server called "tools"
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "mcpivot " MCPIVOT_VERSION)->description("Print the version and exit");
  app.add_option("--config", options.gateway.file,
                 "Run the servers in this file. Default, if no server is given: ./mcpivot.json, or "
                 "$XDG_CONFIG_HOME/mcpivot/mcpivot.json")
      ->option_text("FILE");
  add_server_options(app, server, texts);
  add_log_options(app, options.log);
  add_journal_options(app, options.gateway.journal);
  app.option_defaults()->group("Time limits");
  add_time_limits(app, texts);
  app.option_defaults()->group("HTTP daemons");
  add_http_options(app, server.http);
  texts.add_limit(app, "--start-after",
                  "How long a daemon may be away before a waiting request runs --start (default: 5s)");
  app.option_defaults()->group("CLIs that describe their own tools");
  add_cli_options(app, cli);
  app.option_defaults()->group("Options");
  serve = add_serve_command(app, serving, texts.durations.at("--drain"));
  check =
      add_command(app, "check", "[FILE | --tools-from CLI]",
                  "Explain a config file, or what --tools-from would serve, and list every problem in it");
  check->fallthrough();
  check->add_option("FILE", options.gateway.file, "The file (default: the one that mcpivot would use)")
      ->option_text(" ");
  others.push_back(add_install_commands(app));
  others.push_back(add_doctor_command(app));
  others.push_back(add_replay_command(app, server.command.argv));
  others.push_back(add_journal_command(app));
  others.push_back(add_login_commands(app));
  completion = add_command(app, "completion", "SHELL", "Print a shell's completion script");
  completion->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(shells()))
      ->option_text(" ");
  completion->footer(completion_footer);
  man = add_command(app, "man", "", "Print the man page, for: mcpivot man | man -l -");
  version = add_command(app, "version", "", "Print the version and exit");
  others.push_back(add_control_commands(app));
  complete = add_command(app, "complete", "-- [WORD...]", "For shells: complete the last word");
  complete->group("");  // not meant to be typed
}

}  // namespace

Invocation parse_command_line(std::vector<std::string> arguments) {
  CommandLine line;
  CLI::App& app = line.app;
  Invocation& invocation = line.invocation;
  Options& options = invocation.options;
  ServerConfig& server = options.gateway.servers.front().server;
  // What follows "--" is the server's own command line, options and all.
  const auto separator = std::ranges::find(arguments, "--");
  if (separator != arguments.end()) server.command.argv.assign(separator + 1, arguments.end());
  const bool has_dashes = separator != arguments.end();
  arguments.erase(separator, arguments.end());
  const std::vector<std::string> words = arguments;

  try {
    std::ranges::reverse(arguments);  // as CLI11 expects them
    app.parse(arguments);
    for (const auto& other : line.others)
      if (invocation.instead = other(); invocation.instead) return invocation;
    if (*line.version) invocation.out = "mcpivot " MCPIVOT_VERSION "\n";
    if (*line.man) invocation.out = man_page(app, MCPIVOT_VERSION);
    if (*line.completion) invocation.out = completion_script(line.shell);
    if (*line.complete) invocation.out = completions(app, server.command.argv, running_names);
    if (!invocation.out.empty()) return invocation;
    take_texts(line.texts, server);
    if (*line.serve) take_serve(line.serving, line.texts, options);
    options.gateway.compat = compat_of(line.texts.compat);
    options.gateway.front = front_of(line.texts.front);
    take_cli(app, line.cli, server);
    check_http_options(app, server);
    if (*line.check && !options.gateway.file.empty() && server.cli)
      throw CLI::ValidationError("check", "give either a file or a CLI, not both");
    if (*line.check && !server.cli) {
      invocation.check = true;
      return invocation;
    }
    const bool no_server = server.command.argv.empty() && !server.is_daemon();
    if (!options.gateway.file.empty() || (no_server && find_config({}))) {
      take_config(app, options.gateway, options.serve.has_value());
      options.log.name = "mcpivot";
      invocation.run = true;
      return invocation;
    }
    if (no_server)
      return wrong(
          "mcpivot: no server to run. Put its command after \"--\", as in: mcpivot -- node server.js\n"
          "or give the address of a daemon with --url, or a file of servers with --config.\n"
          "Run mcpivot --help for more.\n");
    if (options.gateway.compat == Compat::mcpflow && server.build.empty())
      throw CLI::ValidationError("--compat", "mcpflow's only tool, recompile, needs --build");
  } catch (const CLI::ParseError& error) {
    const bool failed = error.get_exit_code() != 0;
    if (failed) {
      const std::string hint = misplaced_word(app, words, has_dashes, names_a_program);
      const std::string command = command_of(app);
      return wrong(fmt::format("{}\nRun {} --help for more.\n",
                               hint.empty() ? fmt::format("{}: {}", command, parse_error_text(error)) : hint,
                               command));
    }
    std::ostringstream out;
    std::ostringstream err;
    invocation.exit_code = app.exit(error, out, err) == 0 ? 0 : usage_error;
    invocation.out = out.str();
    invocation.err = err.str();
    return invocation;
  }
  if (server.name.empty()) server.name = server_name(server.command);
  options.log.name = server.name;
  (*line.check ? invocation.check : invocation.run) = true;
  return invocation;
}

}  // namespace mcpivot
