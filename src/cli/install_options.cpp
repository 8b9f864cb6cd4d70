#include "cli/install_options.h"

#include "cli/command_help.h"
#include "cli/install.h"

namespace mcpivot {
namespace {

void add_common(CLI::App& app, InstallCommand& command) {
  const std::vector<std::string> targets = install_targets();
  auto* client = app.add_option("CLIENT", command.what, CLI::detail::join(targets, ", "));
  client->option_text(" ");
  suggest(*client, targets);
  app.add_option_function<std::string>(
         "--scope",
         [&command](const std::string& scope) {
           command.scope = scope == "project" ? Scope::project : Scope::user;
         },
         "user: for every project (the default); project: for the current folder")
      ->check(CLI::IsMember({"user", "project"}))
      ->option_text("SCOPE");
  app.add_option("--name", command.name, "What to call the entry (default: mcpivot)")
      ->check(
          [](const std::string& name) { return std::string(name.empty() ? "a name must not be empty" : ""); })
      ->option_text("NAME");
  app.add_flag("--dry-run", command.dry_run, "Only say what would happen");
}

}  // namespace

std::function<std::function<int()>()> add_install_commands(CLI::App& app) {
  const auto install = std::make_shared<InstallCommand>();
  const auto uninstall = std::make_shared<InstallCommand>();
  const auto dry_init = std::make_shared<bool>(false);

  auto* in = add_command(app, "install", "[CLIENT] [OPTIONS]",
                         "Put mcpivot into a client's list of servers; alone: list the clients found");
  add_common(*in, *install);
  in->add_flag("--import", install->import,
               "Move the servers that the client has into mcpivot's configuration");
  auto* out =
      add_command(app, "uninstall", "CLIENT [OPTIONS]", "Take it out again, and give imported servers back");
  add_common(*out, *uninstall);
  auto* init = add_command(app, "init", "[--dry-run]",
                           "Write a first mcpivot.json for the project in the current folder");
  init->add_flag("--dry-run", *dry_init, "Only print it");

  return [=]() -> std::function<int()> {
    if (*in) return [=] { return install_command(*install); };
    if (*out) return [=] { return uninstall_command(*uninstall); };
    if (*init) return [=] { return init_command(*dry_init); };
    return {};
  };
}

}  // namespace mcpivot
