// Adds mcpivot to a client's list of servers, and removes it again. First there is a plan: what would be
// written where, with a line for each step; then it is carried out, or only shown.
//
// Errors name the file and say what to do. One thread.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "install/careful_file.h"
#include "install/client_files.h"

namespace mcpivot {

struct InstallRequest {
  const Client* client = nullptr;
  Scope scope = Scope::user;
  std::string name = "mcpivot";     // of our entry
  bool import = false;              // the client's own servers move behind us
  std::string made_state_folder{};  // InstallLock::made_folder()
};

struct PlannedChange {
  SeenFile seen{};
  std::optional<std::string> text{};  // nothing: the file is deleted
  Backup backup = Backup::none;
};

// The folders that are, or were, created for a file.
struct MadeFolders {
  std::string file{};
  std::string outermost{};
};

struct Plan {
  std::vector<std::string> lines{};      // for people
  std::vector<PlannedChange> changes{};  // in this order
  std::vector<std::string> can_move{};   // servers that move, or would with `import`
  bool inactive_with_import = false;     // they would be, by default: there would be more than one
  std::vector<MadeFolders> makes{};      // removed again if the plan fails
  std::vector<MadeFolders> unmakes{};    // removed at the end, if empty
  std::string unmakes_state_folder{};    // for InstallLock::made()
  bool there_already = false;            // our entry exists

  bool changes_something() const;
};

// `program` is this mcpivot. An entry for every project runs it by that path; one for a project, by name.
std::expected<Plan, std::string> plan_install(const InstallRequest& request, const Places& places,
                                              const std::string& program);
std::expected<Plan, std::string> plan_uninstall(const InstallRequest& request, const Places& places);

// If one change fails, those before it are undone; the error says what failed and what remains changed.
std::expected<void, std::string> carry_out(const Plan& plan);

// The path under which people would run this program: the one in PATH if it is the same file, so that an
// update behind that name is picked up.
std::string own_program(const Places& places);

// The mcpivot that a client finds if it runs it by name; empty: none.
std::string mcpivot_in_path(const Places& places);

}  // namespace mcpivot
