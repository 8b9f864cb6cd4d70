#include "cli/commands.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/command_help.h"
#include "cli/control_command.h"
#include "cli/doctor.h"
#include "cli/install.h"
#include "cli/journal_command.h"
#include "cli/login.h"
#include "cli/replay.h"

namespace mcpivot {
namespace {

void add_common(CLI::App& app, InstallCommand& command, const std::string& about_projects) {
  const std::vector<std::string> targets = install_targets();
  auto* client = app.add_option("CLIENT", command.what, CLI::detail::join(targets, ", "));
  client->option_text(" ");
  suggest(*client, targets);
  app.add_option_function<std::string>(
         "--scope",
         [&command](const std::string& scope) {
           command.scope = scope == "project" ? Scope::project : Scope::user;
         },
         "user: all projects (the default); project: this folder only" + about_projects)
      ->check(CLI::IsMember({"user", "project"}))
      ->option_text("SCOPE");
  app.add_option("--name", command.name, "The entry's name (default: mcpivot)")
      ->check(
          [](const std::string& name) { return std::string(name.empty() ? "a name must not be empty" : ""); })
      ->option_text("NAME");
  app.add_flag("--dry-run", command.dry_run, "Show what would be done, and change nothing");
}

}  // namespace

std::function<std::function<int()>()> add_install_commands(CLI::App& app) {
  const auto install = std::make_shared<InstallCommand>();
  const auto uninstall = std::make_shared<InstallCommand>();
  const auto dry_init = std::make_shared<bool>(false);

  auto* in = add_command(app, "install", "[CLIENT] [OPTIONS]",
                         "Add mcpivot to a client's list of servers; without CLIENT, list the clients found");
  add_common(*in, *install, ", without machine-specific paths, so that it can be committed");
  in->add_flag("--import", install->import,
               "Move the client's servers into mcpivot's configuration, which all clients share; with more "
               "than one server there, they are inactive until needed");
  auto* out = add_command(app, "uninstall", "CLIENT [OPTIONS]",
                          "Remove mcpivot from a client, and move imported servers back");
  add_common(*out, *uninstall, "");
  auto* init = add_command(app, "init", "[--dry-run]",
                           "Write a starter mcpivot.json for the project in the current folder");
  init->add_flag("--dry-run", *dry_init, "Only print it");

  return [=]() -> std::function<int()> {
    if (*in) return [=] { return install_command(*install); };
    if (*out) return [=] { return uninstall_command(*uninstall); };
    if (*init) return [=] { return init_command(*dry_init); };
    return {};
  };
}

std::function<std::function<int()>()> add_doctor_command(CLI::App& app) {
  auto* command = add_command(app, "doctor", "[FILE]", "Check for common problems, and say how to fix them");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "The config file (default: the one that mcpivot would use)")
      ->option_text(" ");
  return [command, file]() -> std::function<int()> {
    if (!*command) return {};
    return [file] { return doctor(*file); };
  };
}

std::function<std::function<int()>()> add_replay_command(CLI::App& app,
                                                         const std::vector<std::string>& command) {
  const auto wish = std::make_shared<ReplayCommand>();
  auto* replay = add_command(app, "replay", "CALLS [OPTIONS] [-- COMMAND [ARGUMENT...]]",
                             "Repeat recorded calls against a server, and show which answers differ");
  auto* calls = replay->add_option(
      "CALLS", wish->which,
      "What was recorded: last (the newest session in the journal, of this folder if there "
      "is one), a session, or a file that \"mcpivot journal keep\" wrote");
  calls->required()->option_text(" ");
  suggest(*calls, {"last"});
  replay
      ->add_option("--server", wish->server,
                   "The server of the config file to ask, and whose calls to repeat. Default: all that were "
                   "recorded")
      ->option_text("NAME");
  replay->add_option("--config", wish->config, "The config file (default: the one that mcpivot would use)")
      ->option_text("FILE");
  replay
      ->add_option("--ignore", wish->ignore,
                   "What may differ in an answer (repeatable): a path such as structuredContent.time or "
                   "content[*].text")
      ->option_text("PATH")
      ->allow_extra_args(false);
  replay
      ->add_option("--safe", wish->safe,
                   "A tool that is safe to call again, though it isn't marked so (repeatable)")
      ->option_text("TOOL")
      ->allow_extra_args(false);
  replay->add_flag("--unsafe", wish->unsafe, "Repeat every call, also those that may change something");
  replay->add_option("--timeout", wish->timeout, "How long a call may take (default: 30s)")
      ->option_text("TIME");
  replay->add_flag("--json", wish->as_json, "Print JSON, for scripts");
  replay->footer(
      "The exit code is 0 if all answers are the same, 1 if some differ, 2 if nothing could be "
      "compared.");
  return [replay, wish, &command]() -> std::function<int()> {
    if (!*replay) return {};
    wish->command = command;
    return [wish] { return replay_command(*wish); };
  };
}

std::function<std::function<int()>()> add_journal_command(CLI::App& app) {
  auto* command = add_command(app, "journal", "[WHAT...] [OPTIONS]",
                              "Show what clients and servers said to each other, from the journals");
  const auto wish = std::make_shared<JournalWish>();
  auto* what =
      command->add_option("WHAT", wish->words,
                          "Default: list the calls, the newest last. show ID: all messages of a call; "
                          "stats: by tool; export: every message, as JSON lines; keep ID...: calls for "
                          "\"mcpivot replay\"; on, off: switch the journal of a running mcpivot; anything "
                          "else: calls with this text in them");
  what->option_text(" ");
  suggest(*what, {"show", "stats", "export", "keep", "on", "off"});
  command->add_flag("-f,--follow", wish->follow, "Print new calls as they end, until Ctrl-C");
  command->add_option("-n,--lines", wish->lines, "How many calls to show (default: 50)")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  command->add_option("--tool", wish->tool, "Only this tool; part of its name is enough")
      ->option_text("TOOL");
  command->add_option("--server", wish->server, "Only this server; part of its name is enough")
      ->option_text("SERVER");
  command->add_flag("--errors", wish->errors, "Only calls that failed");
  command->add_option("--slow", wish->slow, "Only calls that took at least this long, such as 1s")
      ->option_text("TIME");
  command
      ->add_option("--since", wish->since, "Only calls since then: 10m (ago), 14:05, or \"2026-11-18 14:05\"")
      ->option_text("WHEN");
  command->add_flag("--all", wish->all,
                    "Also requests other than tools/call: initialize, resources/read, ...");
  command
      ->add_option("--session", wish->session,
                   "Only this run of mcpivot: the part of an ID before the colon, \"last\", or a file")
      ->option_text("SESSION");
  command->add_option("--instance", wish->instance, "For on and off: which mcpivot, by pid or name")
      ->option_text("PID");
  command->add_flag("--json", wish->as_json, "Print JSON, for scripts");
  return [command, wish]() -> std::function<int()> {
    if (!*command) return {};
    return [wish] { return journal_command(*wish); };
  };
}

std::function<std::function<int()>()> add_login_commands(CLI::App& app) {
  const auto wish = std::make_shared<LoginCommand>();
  auto command = [&](const char* name, const char* usage, const char* what) {
    CLI::App* made = add_command(app, name, usage, what);
    made->add_option("SERVER", wish->server, "Its name in the config file, or its URL")
        ->required()
        ->option_text(" ");
    made->add_option("--config", wish->file, "The config file (default: the one that mcpivot would use)")
        ->option_text("FILE");
    made->add_option("--client-id", wish->oauth.client_id, "With a URL: the OAuth client that you registered")
        ->option_text("ID");
    made->add_option("--client-metadata-url", wish->oauth.client_metadata_url,
                     "With a URL: the https:// document that describes the OAuth client")
        ->option_text("URL");
    return made;
  };
  auto* in =
      command("login", "SERVER [OPTIONS]", "Sign in to a remote server, with a browser here or elsewhere");
  in->add_option("--redirect-port", wish->oauth.redirect_port,
                 "With a URL: the port on 127.0.0.1 that the browser comes back to")
      ->option_text("PORT")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65535}));
  in->add_flag("--no-browser", wish->no_browser, "Print the address instead of opening a browser");
  in->add_option("--cacert", wish->cacert,
                 "With a URL: trust the certificates in this file, in addition to the system's")
      ->option_text("FILE");
  in->add_flag("--insecure", wish->insecure, "With a URL: trust any certificate");
  auto* out = command("logout", "SERVER [OPTIONS]", "Remove the tokens of a remote server from this machine");
  return [=]() -> std::function<int()> {
    if (*in) return [=] { return login_command(*wish); };
    if (*out) return [=] { return logout_command(*wish); };
    return {};
  };
}

std::function<std::function<int()>()> add_control_commands(CLI::App& app) {
  const auto wish = std::make_shared<ControlWish>();
  std::vector<CLI::App*> commands;
  enum class Instance { none, optional, required };
  auto command = [&](const char* name, const std::string& usage, const char* what,
                     Instance server = Instance::optional) {
    CLI::App* made = add_command(app, name, usage, what);
    made->group("Commands for a running mcpivot");
    made->add_option("--instance", wish->instance, "Which mcpivot, by pid or name, if several are running")
        ->option_text("PID");
    if (server != Instance::none)
      made->add_option("SERVER", wish->server, "Which server; part of its name is enough")
          ->required(server == Instance::required)
          ->option_text(" ");
    commands.push_back(made);
    return made;
  };
  auto* show = command("status", "[SERVER] [OPTIONS]", "Show the state of the servers");
  show->add_flag("--json", wish->as_json, "Print JSON, for scripts");
  show->add_flag("--watch", wish->watch, "Refresh every second until Ctrl-C");
  show->add_flag("--all", wish->all, "Include the mcpivots of other folders");
  auto* reload = command("reload", "[SERVER] [OPTIONS]",
                         "Start a new generation of a server; the old one serves until it works");
  reload->add_flag("--build", wish->build, "Build it first");
  command("restart", "[SERVER] [OPTIONS]", "Start a new generation of a server, without a build");
  command("accept", "[SERVER] [OPTIONS]",
          "Swap in the new build of a server that was held back because its answers differ (\"gate\")");
  command("stop", "[SERVER] [OPTIONS]",
          "Stop a server and release its program file; the next call starts it");
  auto* log = command("logs", "[SERVER] [OPTIONS]", "Show what servers wrote to stderr");
  log->add_flag("-f,--follow", wish->follow, "Print new lines as they arrive, until Ctrl-C");
  log->add_option("-n,--lines", wish->lines, "How many lines to start with (default: 50)")->option_text("N");
  command("activate", "SERVER [OPTIONS]", "Add a server's tools to the client's list", Instance::required);
  command("deactivate", "SERVER [OPTIONS]", "Remove a server's tools from the client's list",
          Instance::required);
  auto* tools =
      command("tools", "[SERVER | TOOL] [OPTIONS]",
              "List the tools of all servers or of one, or show the arguments of a tool", Instance::none);
  tools->add_option("SERVER|TOOL", wish->tool, "A server, or a tool; part of a server's name is enough")
      ->option_text(" ");
  tools->add_flag("--json", wish->as_json, "Print JSON, for scripts");
  auto* search = command("search", "WORDS... [OPTIONS]", "Find tools in all servers by what you want to do",
                         Instance::none);
  search->add_option("WORDS", wish->words, "What the tool should do, such as: read a file")
      ->required()
      ->option_text(" ");
  search->add_option("-n,--limit", wish->hits, "How many to show at most (default: 5)")->option_text("N");
  search->add_flag("--json", wish->as_json, "Print JSON, for scripts");
  auto* call = command("call", "TOOL [KEY=VALUE... | JSON] [OPTIONS]", "Call a tool by hand", Instance::none);
  call->add_option("TOOL", wish->tool, "Its name, as clients see it")->required()->option_text(" ");
  call->add_option("ARGUMENT", wish->words,
                   "KEY=VALUE, in the type that the tool's schema requires; KEY=@FILE: the content of a "
                   "file; KEY:=JSON; or all of them as a JSON object")
      ->option_text(" ");
  call->add_option(
          "--save-to", wish->folder,
          "Save images, audio and other files from the result in this folder (default: the current one)")
      ->option_text("FOLDER");
  call->add_flag("--json", wish->as_json, "Print the whole result as JSON");

  auto* sessions = command("sessions", "[--end ID] [OPTIONS]", "List the sessions of an \"mcpivot serve\"",
                           Instance::none);
  sessions->add_option("--end", wish->end, "End this session; the beginning of its id is enough")
      ->option_text("ID");
  sessions->add_flag("--json", wish->as_json, "Print JSON, for scripts");

  return [wish, commands]() -> std::function<int()> {
    for (const CLI::App* given : commands)
      if (given->parsed()) return [wish, name = given->get_name()] { return control_command(name, *wish); };
    return {};
  };
}

}  // namespace mcpivot
