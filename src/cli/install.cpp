#include "cli/install.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/say.h"
#include "config/nearest.h"
#include "install/careful_file.h"
#include "install/install_lock.h"
#include "install/installer.h"
#include "install/project_start.h"
#include "install/skill.h"

namespace mcpivot {
namespace {

void say_all(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) say(line);
}
int fail(const std::string& words, int code = 1) {
  std::fprintf(stderr, "mcpivot: %s\n", words.c_str());
  return code;
}

int unknown(const std::string& what) {
  std::vector<std::string_view> names{"skill"};
  for (const Client& client : clients()) names.push_back(client.name);
  const auto meant = nearest(what, names);
  return fail(fmt::format("there is no client \"{}\".{} The clients are: {}", what,
                          meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant),
                          fmt::join(install_targets(), ", ")),
              usage_error);
}

// What `install CLIENT` would do, in two or three lines.
void describe(const Client& client, const InstallCommand& command, const Places& places) {
  const auto file = client_file(client, command.scope, places);
  if (!file) return say(fmt::format("  {:<16}{}", client.name, file.error()));
  const auto plan = plan_install({.client = &client, .scope = command.scope, .name = command.name}, places,
                                 own_program(places));
  say(fmt::format("  {:<16}{}", client.name, *file));
  if (!plan) return say(fmt::format("  {:<16}can't be done: {}", "", plan.error()));
  say(fmt::format("  {:<16}{}", "",
                  plan->there_already ? "mcpivot is already installed" : "would get an entry for mcpivot"));
  if (!plan->can_move.empty())
    say(fmt::format("  {:<16}--import would move {} behind it{}", "", fmt::join(plan->can_move, ", "),
                    plan->inactive_with_import ? ", inactive until needed" : ""));
}

int list_clients(const InstallCommand& command) {
  const Places places = places_here();
  std::vector<std::string> missing;
  say(fmt::format("Clients found here ({}):", command.scope == Scope::user
                                                  ? "for every project; add --scope project for this one"
                                                  : "for this project"));
  bool some = false;
  for (const Client& client : clients()) {
    if (is_there(client, places)) {
      describe(client, command, places);
      some = true;
    } else {
      missing.emplace_back(client.name);
    }
  }
  if (!some) say("  none");
  if (!missing.empty()) say(fmt::format("Not found: {}", fmt::join(missing, ", ")));
  say("\nNothing was changed. Next: mcpivot install CLIENT [--import] [--dry-run]");
  return 0;
}

// What is left to the user after an install.
void say_next(const Plan& plan, const InstallCommand& command, const Client& client) {
  if (!command.import && !plan.can_move.empty())
    say(
        fmt::format("The client's own servers are unchanged. To move {} behind mcpivot as well{}:\n"
                    "  mcpivot install {} --import{}",
                    fmt::join(plan.can_move, ", "),
                    plan.inactive_with_import ? " (inactive until needed; --dry-run explains)" : "",
                    client.name, command.scope == Scope::project ? " --scope project" : ""));
  if (plan.changes_something()) say(std::string(client.next));
}

enum class Task { install, uninstall };

int change_skill(Task task, const Places& places, bool dry_run) {
  const auto lines = task == Task::install ? install_skill(places, own_program(places), dry_run)
                                           : uninstall_skill(places, dry_run);
  if (!lines) return fail(lines.error());
  say_all(*lines);
  if (dry_run) say("Dry run: nothing was changed.");
  return 0;
}

int change_client(Task task, const InstallCommand& command) {
  const Places places = places_here();
  if (command.what == "skill") return change_skill(task, places, command.dry_run);
  const Client* client = find_client(command.what);
  if (client == nullptr) return unknown(command.what);
  std::optional<InstallLock> lock;
  if (!command.dry_run) lock.emplace();
  const InstallRequest request{.client = client,
                               .scope = command.scope,
                               .name = command.name,
                               .import = command.import,
                               .made_state_folder = lock ? lock->made_folder() : ""};
  const auto plan = task == Task::install ? plan_install(request, places, own_program(places))
                                          : plan_uninstall(request, places);
  if (!plan) return fail(plan.error() + "\nNothing was changed.");
  if (command.dry_run) {
    say_all(plan->lines);
    say("Dry run: nothing was changed.");
    return 0;
  }
  if (const auto done = carry_out(*plan); !done) return fail(done.error());
  lock->made(plan->unmakes_state_folder);
  say_all(plan->lines);
  if (task == Task::install) say_next(*plan, command, *client);
  return 0;
}

}  // namespace

std::vector<std::string> install_targets() {
  std::vector<std::string> names;
  for (const Client& client : clients()) names.emplace_back(client.name);
  names.emplace_back("skill");
  return names;
}

int install_command(const InstallCommand& command) {
  return command.what.empty() ? list_clients(command) : change_client(Task::install, command);
}

int uninstall_command(const InstallCommand& command) {
  if (!command.what.empty()) return change_client(Task::uninstall, command);
  return fail(fmt::format("name a client: {}", fmt::join(install_targets(), ", ")), usage_error);
}

int init_command(bool dry_run) {
  const Places places = places_here();
  if (places.folder.empty()) return fail(std::string(no_folder));
  const std::string file = places.folder + "/mcpivot.json";
  const auto seen = look_at_file(file, 0644);
  if (!seen) return fail(seen.error());
  if (seen->text)
    return fail(
        fmt::format("{}: already exists, and was left unchanged; \"mcpivot check\" explains it", seen->path));
  const StartingConfig config = starting_config(places.folder);
  if (dry_run) {
    std::fputs(config.text.c_str(), stdout);
    return 0;
  }
  if (const auto written = change_file(*seen, config.text, Backup::none); !written)
    return fail(written.error());
  say(fmt::format("Wrote {}, {}.", file,
                  config.found.empty() ? "with examples, because no project was recognized in this folder"
                                       : "based on " + config.found));
  say("Next: review it, then\n"
      "  mcpivot check                            explains it, and lists any problems\n"
      "  mcpivot install claude --scope project   adds it to a client (or cursor, vscode, codex, gemini)");
  return 0;
}

}  // namespace mcpivot
