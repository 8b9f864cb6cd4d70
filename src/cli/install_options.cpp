#include "cli/install_options.h"

#include <CLI/CLI.hpp>

#include "cli/install.h"

namespace mcpivot {
namespace {

// The usage is that of the subcommand alone.
class SubcommandHelp final : public CLI::Formatter {
 public:
  explicit SubcommandHelp(std::string usage) : usage_(std::move(usage)) { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n\n"; }

 private:
  std::string usage_;
};

CLI::App* add(CLI::App& app, const char* name, const char* description, const char* usage) {
  auto* command = app.add_subcommand(name, description);
  command->footer("");
  command->formatter(std::make_shared<SubcommandHelp>(usage));
  return command;
}

void add_common(CLI::App& app, InstallCommand& command) {
  app.add_option("CLIENT", command.what, install_targets())->option_text(" ");
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

  auto* in = add(app, "install", "Put mcpivot into a client's list of servers; alone: list the clients found",
                 "mcpivot install [CLIENT] [OPTIONS]");
  add_common(*in, *install);
  in->add_flag("--import", install->import,
               "Move the servers that the client has into mcpivot's configuration");
  auto* out = add(app, "uninstall", "Take it out again, and give imported servers back",
                  "mcpivot uninstall CLIENT [OPTIONS]");
  add_common(*out, *uninstall);
  auto* init = add(app, "init", "Write a first mcpivot.json for the project in the current folder",
                   "mcpivot init [--dry-run]");
  init->add_flag("--dry-run", *dry_init, "Only print it");

  return [=]() -> std::function<int()> {
    if (*in) return [=] { return install_command(*install); };
    if (*out) return [=] { return uninstall_command(*uninstall); };
    if (*init) return [=] { return init_command(*dry_init); };
    return {};
  };
}

}  // namespace mcpivot
