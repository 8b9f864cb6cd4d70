#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"

namespace mcpivot {
namespace {

using std::string_view;

constexpr std::array<string_view, 5> types{"stdio", "http", "sse", "streamable-http", "streamableHttp"};
constexpr std::array<string_view, 2> swaps{"overlap", "stop-first"};
constexpr std::array<string_view, 2> on_saves{"wait", "serve"};
constexpr std::array<string_view, 2> sharings{"per-client", "shared"};
constexpr std::array<string_view, 2> starts{"eager", "lazy"};
constexpr std::array<string_view, 2> styles{"prefixed", "bare"};
constexpr std::array<string_view, 3> reaches{"active", "all", "off"};
constexpr std::array<string_view, 3> eras{"auto", "legacy", "modern"};
constexpr std::array<string_view, 2> url_aliases{"serverUrl", "httpUrl"};
constexpr std::array<string_view, 1> env_file_aliases{"envFile"};
constexpr std::array<string_view, 1> type_aliases{"transport"};

#define IN_SERVER(member) [](Draft& draft) -> Target { return &draft.member; }

constexpr std::array timeout_keys{
    Key{.name = "start",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "30s",
        .words = "How long a server may take to start and complete its handshake",
        .in_server = IN_SERVER(entry.server.start_timeout)},
    Key{.name = "call",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "10m",
        .words = "How long a call may take without progress",
        .in_server = IN_SERVER(entry.server.call_timeout)},
    Key{.name = "drain",
        .type = KeyType::time,
        .kinds = for_stdio | for_http,
        .fallback = "10s",
        .words = "How long calls in flight may take to finish on an old generation",
        .in_server = IN_SERVER(entry.server.drain)},
    Key{.name = "queue",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "30s; with `url` 60s",
        .words = "How long a request waits for a server that is down",
        .in_server = IN_SERVER(entry.server.queue_timeout)},
    Key{.name = "build",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "10m",
        .words = "How long a build may take",
        .in_server = IN_SERVER(entry.server.build_timeout)},
    Key{.name = "verify",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "2s",
        .words = "How long `verify` may take, for all calls together; those that are left are not checked",
        .in_server = IN_SERVER(entry.server.verify.budget)},
};

constexpr std::array<string_view, 1> client_id_aliases{"clientId"};
constexpr std::array<string_view, 1> client_secret_aliases{"clientSecret"};
constexpr std::array<string_view, 1> redirect_port_aliases{"callbackPort"};

constexpr std::array oauth_keys{
    Key{.name = "client_id",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "mcpivot registers itself",
        .words = "The id of a client that you registered with the authorization server",
        .in_server = IN_SERVER(entry.server.http.oauth.client_id),
        .aliases = client_id_aliases},
    Key{.name = "client_secret",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "",
        .words = "Its secret, if it has one; better as `${VAR}`",
        .in_server = IN_SERVER(entry.server.http.oauth.client_secret),
        .aliases = client_secret_aliases},
    Key{.name = "client_metadata_url",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "",
        .words = "The https:// address of a document that describes mcpivot, if the authorization server "
                 "accepts such addresses as client ids",
        .in_server = IN_SERVER(entry.server.http.oauth.client_metadata_url)},
    Key{.name = "scopes",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "those that the server asks for",
        .words = "The scopes to request, separated by spaces",
        .in_server = IN_SERVER(entry.server.http.oauth.scopes)},
    Key{.name = "redirect_port",
        .type = KeyType::count,
        .kinds = for_http,
        .fallback = "one that depends on `url`",
        .words = "The port on 127.0.0.1 that browsers come back to; its path is `/callback`",
        .in_server = IN_SERVER(entry.server.http.oauth.redirect_port),
        .aliases = redirect_port_aliases,
        .least = 1,
        .most = 65535},
};

constexpr std::array tool_keys{
    Key{.name = "allow",
        .type = KeyType::tool_globs,
        .kinds = for_all,
        .fallback = "all",
        .words = "Offer only tools whose own name matches one of these; `[]`: none",
        .in_server = IN_SERVER(entry.tools.allow)},
    Key{.name = "deny",
        .type = KeyType::tool_globs,
        .kinds = for_all,
        .fallback = "",
        .words = "Tools whose own name matches are not listed, found or callable; overrides `allow`",
        .in_server = IN_SERVER(entry.tools.deny)},
    Key{.name = "rename",
        .type = KeyType::tool_names,
        .kinds = for_all,
        .fallback = "",
        .words = "Other names for tools, by the tool's own name",
        .in_server = IN_SERVER(entry.tools.rename)},
    Key{.name = "describe",
        .type = KeyType::tool_texts,
        .kinds = for_all,
        .fallback = "",
        .words = "Other descriptions for tools, by the tool's own name",
        .in_server = IN_SERVER(entry.tools.describe)},
};

constexpr std::array all_server_keys{
    Key{.name = "command",
        .type = KeyType::program,
        .kinds = for_stdio,
        .fallback = "",
        .words = "The program of a server that speaks MCP over stdin and stdout",
        .in_server = IN_SERVER(command)},
    Key{.name = "args",
        .type = KeyType::texts,
        .kinds = for_stdio,
        .fallback = "",
        .words = "Its arguments",
        .in_server = IN_SERVER(args)},
    Key{.name = "url",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "",
        .words = "Instead of a command: the address of an HTTP daemon",
        .in_server = IN_SERVER(entry.server.http.url),
        .aliases = url_aliases},
    Key{.name = "cli",
        .type = KeyType::command,
        .kinds = for_cli,
        .fallback = "",
        .words = "Instead of a command: a program, with arguments, that describes its own tools and runs "
                 "once per call",
        .in_server = IN_SERVER(cli)},
    Key{.name = "type",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "",
        .words =
            "What clients call the kind of server; must agree with `command` or `url`, and is not needed",
        .in_server = IN_SERVER(type),
        .choices = types,
        .aliases = type_aliases},
    Key{.name = "env",
        .type = KeyType::variables,
        .kinds = for_all,
        .fallback = "",
        .words = "Environment variables, added to mcpivot's own",
        .in_server = IN_SERVER(entry.server.command.env)},
    Key{.name = "env_file",
        .type = KeyType::path,
        .kinds = for_all,
        .fallback = "",
        .words = "A file with more of them, a NAME=VALUE on each line; `env` overrides it",
        .in_server = IN_SERVER(env_file),
        .aliases = env_file_aliases},
    Key{.name = "cwd",
        .type = KeyType::path,
        .kinds = for_all,
        .fallback =
            "the file's folder if something is built, watched or started by a shell command, else where "
            "mcpivot was started",
        .words = "The folder to run in, also for shell commands, and the base of the globs of `watch`",
        .in_server = IN_SERVER(entry.server.command.cwd)},
    Key{.name = "build",
        .type = KeyType::text,
        .kinds = for_all,
        .fallback = "",
        .words = "A shell command that builds the server",
        .in_server = IN_SERVER(entry.server.build)},
    Key{.name = "watch",
        .type = KeyType::globs,
        .kinds = for_all,
        .fallback = "the server's own file",
        .words =
            "Rebuild and swap when a file that matches is saved; `false` or an empty list watches nothing",
        .in_server = [](Draft& draft) -> Target {
          return WatchTarget{&draft.entry.server.watch, &draft.entry.server.watching};
        }},
    Key{.name = "on_save",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "wait; under `mcpivot serve`: serve",
        .words = "A call that arrives while a saved change is built or started: `wait` for the new "
                 "generation (twice as long as that usually takes, at most 20 s), or `serve` it with the old "
                 "one. Whenever the old one answers, the answer says so",
        .in_server = IN_SERVER(entry.server.on_save),
        .choices = on_saves},
    Key{.name = "swap",
        .type = KeyType::choice,
        .kinds = for_stdio,
        .fallback = "overlap",
        .words = "`overlap`: a new generation starts while the old one runs; `stop-first`: for servers that "
                 "cannot "
                 "run twice",
        .in_server = IN_SERVER(entry.server.swap),
        .choices = swaps},
    Key{.name = "era",
        .type = KeyType::choice,
        .kinds = for_stdio | for_http,
        .fallback = "auto",
        .words = "The protocol era to speak with the server: `legacy` (up to 2025-11-25) or `modern` "
                 "(2026-07-28); `auto` detects it",
        .in_server = IN_SERVER(entry.server.era),
        .choices = eras},
    Key{.name = "sharing",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "per-client",
        .words = "`per-client`: each client gets its own instance; `shared`: all clients of this mcpivot use "
                 "the same one. A shared server can ask its clients something only if it is of the modern "
                 "era, and they don't see its log messages and stderr",
        .in_server = IN_SERVER(entry.sharing),
        .choices = sharings},
    Key{.name = "replay",
        .type = KeyType::replay,
        .kinds = for_stdio | for_http,
        .fallback = "",
        .words = "After each start, repeat the last successful call of these tools; with `TOOL:KEY=VALUE` "
                 "only calls with that argument count",
        .in_server = IN_SERVER(entry.server.replay)},
    Key{.name = "verify",
        .type = KeyType::calls,
        .kinds = for_all,
        .fallback = "",
        .words = "Before a new build serves, repeat recorded calls that are safe to repeat, and compare the "
                 "answers: `journal` for what the journal has, or a file that `mcpivot journal keep` wrote",
        .in_server = IN_SERVER(entry.server.verify.calls)},
    Key{.name = "gate",
        .type = KeyType::flag,
        .kinds = for_stdio,
        .fallback = "false",
        .words = "With `verify`: if an answer differs, the old generation keeps serving until somebody "
                 "accepts the new one (`mcpivot accept`, or `pivot_rebuild` with `accept`)",
        .in_server = IN_SERVER(entry.server.verify.gate)},
    Key{.name = "verify_ignore",
        .type = KeyType::answer_paths,
        .kinds = for_all,
        .fallback = "",
        .words = "What may differ in answers, for `verify` and `mcpivot replay`: paths such as "
                 "`structuredContent.time` or `content[*].text`",
        .in_server = IN_SERVER(entry.server.verify.ignore)},
    Key{.name = "replay_safe",
        .type = KeyType::tool_globs,
        .kinds = for_all,
        .fallback = "tools with `readOnlyHint: true` and `openWorldHint: false`",
        .words = "More tools, by their own names, that `verify` and `mcpivot replay` may call again",
        .in_server = IN_SERVER(entry.server.replay_safe)},
    Key{.name = "max_message",
        .type = KeyType::bytes,
        .kinds = for_all,
        .fallback = "10MB",
        .words = "Longest message to the client; a longer one becomes an error",
        .in_server = IN_SERVER(entry.server.max_message),
        .least = 1024,
        .most = std::uint64_t{1} << 30},
    Key{.name = "timeouts",
        .type = KeyType::group,
        .kinds = for_all,
        .fallback = "",
        .words = "How long things may take",
        .keys = timeout_keys},
    Key{.name = "headers",
        .type = KeyType::headers,
        .kinds = for_http,
        .fallback = "",
        .words = "Headers to send with each request",
        .in_server = IN_SERVER(headers)},
    Key{.name = "cacert",
        .type = KeyType::path,
        .kinds = for_http,
        .fallback = "",
        .words = "A file with certificates to trust, in addition to the system's",
        .in_server = IN_SERVER(entry.server.http.cacert)},
    Key{.name = "insecure",
        .type = KeyType::flag,
        .kinds = for_http,
        .fallback = "false",
        .words = "Trust any certificate",
        .in_server = IN_SERVER(entry.server.http.insecure)},
    Key{.name = "oauth",
        .type = KeyType::group,
        .kinds = for_http,
        .fallback = "",
        .words =
            "How to sign in, for servers that require it (authorization.md); most servers need nothing here",
        .keys = oauth_keys},
    Key{.name = "start_command",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "",
        .words =
            "A shell command that starts the daemon if nothing listens; it keeps running when mcpivot exits",
        .in_server = IN_SERVER(entry.server.http.start)},
    Key{.name = "stop_command",
        .type = KeyType::text,
        .kinds = for_http,
        .fallback = "",
        .words = "A shell command that stops it, for rebuilds and for `pivot_restart` with `stop`",
        .in_server = IN_SERVER(entry.server.http.stop)},
    Key{.name = "start_after",
        .type = KeyType::time,
        .kinds = for_http,
        .fallback = "5s",
        .words = "How long a daemon may be away before a waiting request runs `start_command`",
        .in_server = IN_SERVER(entry.server.http.start_after)},
    Key{.name = "schema_args",
        .type = KeyType::texts,
        .kinds = for_cli,
        .fallback = "[\"schema\", \"--json\"]",
        .words = "The arguments that make the CLI print its tools",
        .in_server = IN_SERVER(cli_config.schema_args)},
    Key{.name = "result_args",
        .type = KeyType::texts,
        .kinds = for_cli,
        .fallback = "[\"--json\"]",
        .words = "Arguments to append to each call",
        .in_server = IN_SERVER(cli_config.result_args)},
    Key{.name = "jobs",
        .type = KeyType::count,
        .kinds = for_cli,
        .fallback = "4 for each core",
        .words = "How many calls of the CLI may run at once; the rest wait",
        .in_server = IN_SERVER(cli_config.jobs),
        .least = 1,
        .most = 10'000},
    Key{.name = "max_output",
        .type = KeyType::bytes,
        .kinds = for_cli,
        .fallback = "1MiB",
        .words =
            "Longest output of a call; the middle of a longer one is cut, and the whole is kept in a file",
        .in_server = IN_SERVER(cli_config.max_output),
        .least = 1024,
        .most = std::uint64_t{1} << 28},
    Key{.name = "active",
        .type = KeyType::flag,
        .kinds = for_all,
        .fallback = "false; true if it is the only server",
        .words = "Whether the server's tools are in the model's context from the start",
        .in_server = IN_SERVER(entry.active)},
    Key{.name = "start",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "eager",
        .words = "`eager`: starts with mcpivot; `lazy`: starts when first used",
        .in_server = IN_SERVER(entry.start),
        .choices = starts},
    Key{.name = "idle_stop",
        .type = KeyType::time,
        .kinds = for_all,
        .fallback = "never",
        .words = "Stop the server when it has been inactive for this long",
        .in_server = IN_SERVER(entry.idle_stop)},
    Key{.name = "tools",
        .type = KeyType::group,
        .kinds = for_all,
        .fallback = "",
        .words = "Which tools are offered, and under which names",
        .keys = tool_keys,
        .guards = true},
    Key{.name = "pivot_call",
        .type = KeyType::flag,
        .kinds = for_all,
        .fallback = "the file's `pivot_call`",
        .words =
            "Whether `pivot_call` can call the server's tools, also while it is inactive; `false`: never",
        .in_server = IN_SERVER(entry.pivot_call),
        .guards = true},
    Key{.name = "disabled",
        .type = KeyType::flag,
        .kinds = for_all,
        .fallback = "false",
        .words = "Leave the server out; some clients use this key",
        .in_server = IN_SERVER(disabled)},
};

#undef IN_SERVER

#define IN_PROFILE(member) [](Profile& profile) -> Target { return &profile.member; }

constexpr std::array profile_tool_keys{
    Key{.name = "allow",
        .type = KeyType::tool_globs,
        .kinds = for_all,
        .fallback = "all",
        .words = "Only tools that match one of these: their own name, or SERVER__TOOL by a pattern with `__`",
        .in_profile = IN_PROFILE(tools.allow)},
    Key{.name = "deny",
        .type = KeyType::tool_globs,
        .kinds = for_all,
        .fallback = "",
        .words = "No tool whose own name, or SERVER__TOOL, matches; overrides `allow`",
        .in_profile = IN_PROFILE(tools.deny)},
};

constexpr std::array profile_keys{
    Key{.name = "servers",
        .type = KeyType::texts,
        .kinds = for_all,
        .fallback = "all",
        .words = "The servers that it includes",
        .in_profile = IN_PROFILE(servers)},
    Key{.name = "tools",
        .type = KeyType::group,
        .kinds = for_all,
        .fallback = "",
        .words = "Which of their tools it includes, of those that the servers' own entries allow",
        .keys = profile_tool_keys},
    Key{.name = "active",
        .type = KeyType::texts,
        .kinds = for_all,
        .fallback = "what the servers' own entries say",
        .words = "The servers whose tools are in the client's context from the start",
        .in_profile = IN_PROFILE(active)},
    Key{.name = "control",
        .type = KeyType::choices,
        .kinds = for_all,
        .fallback = "none",
        .words = "What clients may do beyond calling tools: `build` servers, `restart` and stop them, read "
                 "their `logs`",
        .in_profile = IN_PROFILE(control),
        .choices = control_grants},
    Key{.name = "scopes",
        .type = KeyType::texts,
        .kinds = for_all,
        .fallback = "closed to tokens of `--oauth-issuer`",
        .words =
            "The scopes that a token of `--oauth-issuer` needs, all of them; `[]`: any valid token will do",
        .in_profile = IN_PROFILE(scopes)},
};

#undef IN_PROFILE

constexpr std::array all_file_keys{
    Key{.name = "$schema",
        .type = KeyType::ignored,
        .kinds = for_all,
        .fallback = "",
        .words = "For editors"},
    Key{.name = "names",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "prefixed; bare if there is only one server",
        .words = "`prefixed`: tools and prompts are called SERVER__NAME; `bare`: they keep the servers' own "
                 "names, and where two clash, both get the prefix",
        .in_file = [](GatewayConfig& config) -> Target { return &config.names; },
        .choices = styles},
    Key{.name = "front",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "auto",
        .words = "Whether to offer the modern era (2026-07-28) to clients that support both: `modern` "
                 "(always), `legacy` (never), or `auto` (if a server supports it)",
        .in_file = [](GatewayConfig& config) -> Target { return &config.front; },
        .choices = eras},
    Key{.name = "pivot_call",
        .type = KeyType::choice,
        .kinds = for_all,
        .fallback = "all",
        .words = "Which servers' tools `pivot_call` can call: `all`, or those of `active` servers; `off`: "
                 "there is "
                 "no `pivot_call`",
        .in_file = [](GatewayConfig& config) -> Target { return &config.pivot_call; },
        .choices = reaches,
        .guards = true},
    Key{.name = "remember",
        .type = KeyType::flag,
        .kinds = for_all,
        .fallback = "false",
        .words = "Remember across runs which servers were activated and deactivated",
        .in_file = [](GatewayConfig& config) -> Target { return &config.remember; }},
    Key{.name = "journal",
        .type = KeyType::flag,
        .kinds = for_all,
        .fallback = "false",
        .words = "Write every message, without secrets, into a journal that `mcpivot journal` shows",
        .in_file = [](GatewayConfig& config) -> Target { return &config.journal.on; }},
    Key{.name = "journal_days",
        .type = KeyType::count,
        .kinds = for_all,
        .fallback = "14",
        .words = "After how many days a journal is deleted",
        .in_file = [](GatewayConfig& config) -> Target { return &config.journal.days; },
        .least = 1,
        .most = 3650},
    Key{.name = "journal_size",
        .type = KeyType::bytes,
        .kinds = for_all,
        .fallback = "500MB",
        .words = "How large all journals together may get; the oldest are deleted first",
        .in_file = [](GatewayConfig& config) -> Target { return &config.journal.bytes; },
        .least = 1'000'000,
        .most = std::uint64_t{1} << 40},
    Key{.name = "redact",
        .type = KeyType::patterns,
        .kinds = for_all,
        .fallback = "",
        .words = "Regular expressions; what they match in a string is replaced before it is written into the "
                 "journal",
        .in_file = [](GatewayConfig& config) -> Target { return &config.journal.redact; },
        .guards = true},
    Key{.name = "profiles",
        .type = KeyType::named,
        .kinds = for_all,
        .fallback = "",
        .words = "What clients of `mcpivot serve` that connect to `/mcp/NAME` see, by that name; `default` "
                 "is for `/mcp` itself",
        .in_file = [](GatewayConfig& config) -> Target { return &config.profiles; },
        .keys = profile_keys,
        .guards = true},
    Key{.name = "inputs",
        .type = KeyType::ignored,
        .kinds = for_all,
        .fallback = "",
        .words = "Values that VS Code asks for; mcpivot ignores them, see `${NAME}`"},
};

std::string one_of(std::span<const string_view> choices) {
  std::string text;
  for (const string_view choice : choices)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : choice == choices.back() ? " or " : ", ", choice);
  return text;
}

}  // namespace

std::span<const Key> server_keys() {
  return all_server_keys;
}
std::span<const Key> file_keys() {
  return all_file_keys;
}

const Key* find_key(std::span<const Key> keys, string_view name) {
  const auto found = std::ranges::find_if(
      keys, [&](const Key& key) { return key.name == name || contains(key.aliases, name); });
  return found == keys.end() ? nullptr : &*found;
}

std::string allowed_text(const Key& key) {
  switch (key.type) {
    case KeyType::ignored:
      return "anything";
    case KeyType::flag:
      return "true or false";
    case KeyType::text:
      return "a string";
    case KeyType::path:
      return "a string with a path";
    case KeyType::calls:
      return "\"journal\", or a string with the path of a file of kept calls";
    case KeyType::program:
      return "a string with a program; its arguments go in \"args\"";
    case KeyType::texts:
      return "a list of strings";
    case KeyType::command:
      return "a list of strings, the program first, like [\"python3\", \"tools.py\"]";
    case KeyType::tool_texts:
    case KeyType::headers:
      return "an object with strings as values";
    case KeyType::variables:
      return "an object with strings or numbers as values";
    case KeyType::globs:
      return "a list of globs like [\"src/**/*.py\"], or false to watch nothing";
    case KeyType::replay:
      return "a list of tools, each \"TOOL\" or \"TOOL:KEY=VALUE\"";
    case KeyType::tool_globs:
      return "a list of tool names or patterns like [\"read_*\"]";
    case KeyType::answer_paths:
      return "a list of paths like [\"content[*].text\"]";
    case KeyType::patterns:
      return "a list of regular expressions like [\"customer-[0-9]+\"]";
    case KeyType::tool_names:
      return "an object with names as values, each of at most 48 letters, digits, '_' and '-'";
    case KeyType::time:
      return "a time like \"500ms\", \"30s\" or \"10m\", or a number of seconds";
    case KeyType::bytes:
      return fmt::format("a size like \"8MB\", or a number of bytes, from {} to {}", key.least, key.most);
    case KeyType::count:
      return fmt::format("a whole number from {} to {}", key.least, key.most);
    case KeyType::choice:
      return one_of(key.choices);
    case KeyType::choices:
      return fmt::format("a list, of {}", one_of(key.choices));
    case KeyType::group:
      return "an object";
    case KeyType::named:
      return "an object with objects as values, by name";
  }
  return "something else";
}

}  // namespace mcpivot
