#include "install/installer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "config/config_file.h"
#include "install/config_text.h"
#include "install/import_rules.h"
#include "install/install_record.h"
#include "install/made_folders.h"
#include "install/project_start.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using Kind = JsoncValue::Kind;
using std::string;
using std::string_view;

// Larger files are restored entry by entry, since two copies of them would have to be kept.
constexpr std::size_t most_remembered = 2UL * 1024 * 1024;

template <class... Args>
void tell(Plan& plan, std::string_view verb, fmt::format_string<Args...> format, Args&&... args) {
  plan.lines.push_back(fmt::format("  {:<10}{}", verb, fmt::format(format, std::forward<Args>(args)...)));
}

mode_t mode_of(Scope scope) {
  return scope == Scope::user ? 0600 : 0644;
}

std::expected<string, string> config_file(Scope scope, const Places& places) {
  if (scope == Scope::project && places.folder.empty()) return std::unexpected(string(no_folder));
  string file = scope == Scope::user ? user_config(places.variable) : places.folder + "/mcpivot.json";
  if (file.empty()) return std::unexpected("HOME is not set, so your configuration can't be found; set it");
  return file;
}

bool is_ours(const JsoncValue& entry, const string& program) {
  const JsoncValue* command = entry.find("command");
  const JsoncValue* args = entry.find("args");
  const bool mcpivot = runs_mcpivot(entry) || (command != nullptr && command->text == program);
  return mcpivot && args != nullptr && std::ranges::any_of(args->elements, [](const JsoncValue& argument) {
           return argument.text == "--config";
         });
}

const ClientServer* find_server(const std::vector<ClientServer>& servers, const string& name) {
  const auto found = std::ranges::find(servers, name, &ClientServer::name);
  return found == servers.end() ? nullptr : &*found;
}

JsoncValue our_entry(const Client& client, const string& program, const string& config,
                     const std::vector<string>& variables) {
  JsoncValue entry;
  entry.kind = Kind::object;
  if (client.says_type) entry.members.push_back({.key = "type", .value = json_string("stdio")});
  entry.members.push_back({.key = "command", .value = json_string(program)});
  entry.members.push_back({.key = "args", .value = json_strings({"--config", config})});
  // Codex passes on only the variables that an entry names.
  if (!variables.empty()) entry.members.push_back({.key = "env_vars", .value = json_strings(variables)});
  return entry;
}

// What is recorded about a file, and the record's own file.
struct Tracked {
  SeenFile seen;
  std::optional<FileRecord> record;

  // The file is as we left it, and can be restored.
  bool leads_back(const std::optional<string>& text) const {
    return record && record->exact && text == record->after;
  }
};

std::expected<Tracked, string> track(const string& file) {
  auto seen = look_at_file(file_record_path(file), 0600);
  if (!seen) return std::unexpected(seen.error());
  Tracked tracked{std::move(*seen), std::nullopt};
  if (tracked.seen.text) tracked.record = parse_file_record(*tracked.seen.text);
  return tracked;
}

// If we changed it before and nobody else has since, the earlier "before" still holds.
FileRecord remember(const SeenFile& seen, const string& after, const Tracked& tracked) {
  FileRecord record{.path = seen.path, .before = seen.text, .made_folder = outermost_missing(seen.path)};
  if (tracked.record) {
    record = *tracked.record;
    record.exact = tracked.leads_back(seen.text) || (record.exact && seen.text == record.before);
  }
  record.after = after;
  if (record.exact && after.size() + record.before.value_or("").size() <= most_remembered) return record;
  record.before.reset();
  record.after.clear();
  record.exact = false;
  return record;
}

// The first backup is the file as it was before us; later ones would only contain what we wrote ourselves.
Backup backup_for(const SeenFile& seen, const Tracked& tracked) {
  return tracked.leads_back(seen.text) ? Backup::none : Backup::keep;
}

// Restores the file as it was before mcpivot changed it.
void restore(Plan& plan, const SeenFile& seen, const FileRecord& record) {
  plan.changes.push_back({seen, record.before, Backup::none});
  if (!record.before) plan.unmakes.push_back({seen.path, record.made_folder});
  if (auto kept = look_at_file(backup_name(seen.path), 0600);
      kept && kept->text && kept->text == record.before)
    plan.changes.push_back({std::move(*kept), std::nullopt, Backup::none});
}

// Whether the entry that a record is about is still in its client's file.
bool still_there(const InstallRecord& record) {
  const Client* client = find_client(record.client);
  const auto seen = look_at_file(record.file, 0600);
  if (client == nullptr || !seen || !seen->text) return false;
  const auto servers = servers_in(*client, *seen->text);
  return !servers || find_server(*servers, record.name) != nullptr;
}

// The other entries of ours, in this or another client.
std::vector<InstallRecord> others_than(const string& client, const string& file, const string& name) {
  std::vector<InstallRecord> others = all_records();
  std::erase_if(others, [&](const InstallRecord& other) {
    return other.client == client && other.file == file && other.name == name;
  });
  return others;
}

// Records are removed last, so one of the other entries takes over the folder that was created for them.
std::optional<PlannedChange> hand_over(const InstallRecord& from, InstallRecord to) {
  if (from.made_state_folder.empty() || !to.made_state_folder.empty()) return std::nullopt;
  auto seen = look_at_file(record_path(to.client, to.file, to.name), 0600);
  if (!seen || !seen->text) return std::nullopt;
  to.made_state_folder = from.made_state_folder;
  return PlannedChange{std::move(*seen), record_text(to), Backup::none};
}

// An entry no longer uses its configuration: the last one to go removes what all of them put there.
std::expected<void, string> let_go_of_config(Plan& plan, const InstallRecord& record,
                                             const std::vector<InstallRecord>& others) {
  const auto seen = look_at_file(record.config, 0600);
  if (!seen) return std::unexpected(seen.error());
  const auto sharing = std::ranges::find_if(others, [&](const InstallRecord& other) {
    return other.config == record.config && still_there(other);
  });
  if (sharing != others.end()) {
    tell(plan, "leaves", "{} unchanged: {} still uses it", seen->path, sharing->client);
    return {};
  }
  auto tracked = track(record.config);
  if (!tracked) return std::unexpected(tracked.error());
  if (tracked->leads_back(seen->text)) {
    if (tracked->record->before != seen->text)
      tracked->record->before ? tell(plan, "restores", "{}", seen->path)
                              : tell(plan, "deletes", "{}: it didn't exist before", seen->path);
    restore(plan, *seen, *tracked->record);
  } else if (seen->text) {
    auto config = ConfigText::open(seen->path, *seen->text);
    if (!config) return std::unexpected(config.error());
    for (const MovedServer& server : tracked->record ? tracked->record->put : record.moved) {
      const auto there = server.value.empty() ? std::nullopt : config->find(server.name);
      if (!there) continue;
      const auto put = parse_jsonc(server.value);
      if (!put || !same_value(*there, *put)) {
        tell(plan, "keeps", "{} in {} as well, because you changed it there", server.name, seen->path);
      } else if (const auto gone = config->remove(server.name); !gone) {
        return broken(seen->path, gone.error());
      }
    }
    plan.changes.push_back({*seen, config->text(), Backup::keep});
  }
  plan.changes.push_back({std::move(tracked->seen), std::nullopt, Backup::none});
  return {};
}

struct Opened {
  SeenFile seen;
  std::vector<ClientServer> servers;
  SeenFile record_seen;
  std::optional<InstallRecord> record;
  Tracked tracked;                    // the client's file
  std::vector<InstallRecord> others;  // our other entries, in any client

  bool shares_file() const {
    return std::ranges::any_of(
        others, [&](const InstallRecord& other) { return other.file == seen.path && still_there(other); });
  }
  string text() const { return seen.text.value_or(""); }
};

std::expected<Opened, string> open_client(const InstallRequest& request, const Places& places) {
  const auto file = client_file(*request.client, request.scope, places);
  if (!file) return std::unexpected(file.error());
  auto seen = look_at_file(*file, mode_of(request.scope));
  if (!seen) return std::unexpected(seen.error());
  auto servers = servers_in(*request.client, seen->text.value_or(""));
  if (!servers) return broken(seen->path, servers.error());
  if (records_folder().empty())
    return std::unexpected("HOME is not set, so the changes couldn't be recorded for uninstall; set it");
  auto record_seen = look_at_file(record_path(string(request.client->name), seen->path, request.name), 0600);
  if (!record_seen) return std::unexpected(record_seen.error());
  auto tracked = track(seen->path);
  if (!tracked) return std::unexpected(tracked.error());
  auto others = others_than(string(request.client->name), seen->path, request.name);
  Opened opened{std::move(*seen),    std::move(*servers), std::move(*record_seen), {},
                std::move(*tracked), std::move(others)};
  if (opened.record_seen.text) opened.record = parse_record(*opened.record_seen.text);
  return opened;
}

// What a client's entry runs.
struct Entry {
  string program;
  string config;
};

// A project's file is committed and read on other machines, so it contains no path of this one.
Entry entry_for(const InstallRequest& request, const string& config, const string& program) {
  if (request.scope == Scope::user) return {program, config};
  return {"mcpivot", string(request.client->project_config)};
}

// An entry that runs mcpivot by name gets whatever is first in PATH.
void note_path(Plan& plan, const Places& places, const string& program) {
  const string first = mcpivot_in_path(places);
  std::error_code error;
  if (first.empty())
    tell(plan, "note", "mcpivot isn't in PATH, and this entry runs it by name; add {} to PATH",
         fs::path(program).parent_path().string());
  else if (!fs::equivalent(first, program, error))
    tell(plan, "note", "this entry runs mcpivot by name, and PATH has another one first: {}", first);
}

// The file's value for pivot_call; empty: the default, all.
string reach_of(const ConfigText& config) {
  const auto file = parse_jsonc(config.text());
  const JsoncValue* const says = file ? file->find("pivot_call") : nullptr;
  return says != nullptr && says->kind == Kind::string ? says->text : string();
}

// "a", "a and b", "a, b and c"
string and_list(const std::vector<string>& names) {
  string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

// What an import changes for the model and for other clients.
void note_import(Plan& plan, const ConfigText& config, const SeenFile& seen, const Client& client,
                 const std::vector<InstallRecord>& others) {
  std::vector<string> inactive;
  const std::vector<string> names = config.names();
  for (const string& name : names) {
    const auto server = config.find(name);
    const JsoncValue* active = server ? server->find("active") : nullptr;
    if (active == nullptr || active->kind != Kind::boolean || !active->boolean) inactive.push_back(name);
  }
  if (names.size() > 1 && !inactive.empty())
    tell(plan, "note",
         "{} inactive: {} tools aren't in the model's list until it activates the server\n"
         "            (pivot_activate), but it can find {}. To list a\n"
         "            server's tools from the start, add \"active\": true to it in {}",
         and_list(inactive) + (inactive.size() == 1 ? " is" : " are"), inactive.size() == 1 ? "its" : "their",
         reach_of(config).empty() || reach_of(config) == "all" ? "and call them (pivot_search, pivot_call)"
                                                               : "them (pivot_search)",
         seen.path);
  std::vector<string_view> titles{client.title};
  for (const InstallRecord& other : others)
    if (const Client* one = find_client(other.client); one != nullptr && other.config == seen.path &&
                                                       still_there(other) &&
                                                       std::ranges::find(titles, one->title) == titles.end())
      titles.push_back(one->title);
  tell(plan, "note", "all clients share {} (now: {}), so each of them can use every server in it", seen.path,
       fmt::join(titles, ", "));
}

// Clients ask their users about each tool by name, and behind pivot_call there are many.
void note_pivot_call(Plan& plan, const ConfigText& config, const SeenFile& seen, const Client& client) {
  if (config.names().size() < 2 || reach_of(config) == "off") return;
  const bool active = reach_of(config) == "active";
  tell(plan, "note",
       "if you allow pivot_call in {} permanently, the model may call every tool of every {}server in\n"
       "            {} without asking you again. To prevent that, put\n"
       "            {}\"pivot_call\": \"off\" into that file, or \"pivot_call\": false into a server",
       client.title, active ? "active " : "", seen.path, active ? "" : "\"pivot_call\": \"active\" or ");
}

// The client's file no longer has anything of ours, and nothing must be returned to it.
bool record_is_spent(const Opened& opened) {
  auto gave = [](const MovedServer& server) { return !server.spelling.empty(); };
  return !opened.shares_file() && !(opened.record && std::ranges::any_of(opened.record->moved, gave));
}

string heading(const InstallRequest& request, const SeenFile& seen) {
  return fmt::format("{}, {}: {}", request.client->title,
                     request.scope == Scope::user ? "for every project" : "for this project", seen.path);
}

// Undoes the changes of a plan that were made, certainly all but the last one, and says what couldn't be
// undone. `backups` are the backup files as they were before.
string undo(const Plan& plan, const std::vector<std::optional<SeenFile>>& backups) {
  string left;
  auto restore = [&](const SeenFile& as_it_was, const std::optional<string>& now) {
    SeenFile written = as_it_was;
    written.text = now;
    if (const auto undone = change_file(written, as_it_was.text, Backup::none); !undone)
      left += fmt::format("\n  {}", undone.error());
  };
  for (std::size_t i = backups.size(); i-- > 0;) {
    if (i + 1 < backups.size()) restore(plan.changes[i].seen, plan.changes[i].text);
    if (!backups[i]) continue;
    if (const auto now = look_at_file(backups[i]->path, backups[i]->mode)) restore(*backups[i], now->text);
  }
  for (const MadeFolders& made : plan.makes) remove_made_folders(made.file, made.outermost);
  return left.empty() ? "Nothing was changed."
                      : "These changes were made first, and could not be undone:" + left;
}

}  // namespace

bool Plan::changes_something() const {
  return std::ranges::any_of(changes,
                             [](const PlannedChange& change) { return change.text != change.seen.text; });
}

std::expected<Plan, string> plan_install(const InstallRequest& request, const Places& places,
                                         const string& program) {
  const Client& client = *request.client;
  const auto opened = open_client(request, places);
  if (!opened) return std::unexpected(opened.error());
  const ClientServer* own = find_server(opened->servers, request.name);
  if (own != nullptr && !is_ours(own->value, program))
    return std::unexpected(fmt::format(
        "{}: a server called \"{}\" already exists, and isn't mcpivot's; choose another name with --name",
        opened->seen.path, request.name));
  const auto config_path = config_file(request.scope, places);
  if (!config_path) return std::unexpected(config_path.error());
  const auto config_seen = look_at_file(*config_path, mode_of(request.scope));
  if (!config_seen) return std::unexpected(config_seen.error());

  Plan plan;
  plan.lines.push_back(heading(request, opened->seen));
  plan.there_already = own != nullptr;
  InstallRecord record{.client = string(client.name),
                       .scope = string(scope_text(request.scope)),
                       .name = request.name,
                       .file = opened->seen.path,
                       .config = config_seen->path,
                       .made_state_folder = request.made_state_folder};
  if (opened->record) {
    record.moved = opened->record->moved;
    record.made_state_folder = opened->record->made_state_folder;
  }
  const auto config_tracked = track(config_seen->path);
  if (!config_tracked) return std::unexpected(config_tracked.error());
  std::vector<MovedServer> put;

  string text = opened->text();
  std::vector<string> variables;
  const string folder = fs::path(config_seen->path).parent_path();
  auto start = config_seen->text;
  // The imported servers are a better start than a guess.
  if (!start)
    start =
        request.scope == Scope::user || request.import ? empty_config() : starting_config(places.folder).text;
  auto config = ConfigText::open(config_seen->path, *start);
  if (!config) return std::unexpected(config.error());
  for (const ClientServer& server : opened->servers) {
    if (server.name == request.name) continue;
    const auto imported = import_server(client, request.scope, server, folder);
    if (!imported) {
      if (request.import) tell(plan, "stays", "{}: {}", server.name, imported.error());
      continue;
    }
    const auto there = config->find(server.name);
    if (there && !same_server(*there, *parse_jsonc(imported->text))) {
      if (request.import)
        tell(plan, "stays", "{}: another server in {} has that name", server.name, config_seen->path);
      continue;
    }
    plan.can_move.push_back(server.name);
    if (!request.import) continue;
    if (!there)
      if (const auto added = config->add(server.name, *imported); !added)
        return broken(config_seen->path, added.error());
    auto without = without_server(client, text, server.name);
    if (!without) return broken(opened->seen.path, without.error());
    text = std::move(*without);
    std::erase_if(record.moved, [&](const MovedServer& moved) { return moved.name == server.name; });
    record.moved.push_back({server.name, server.text, there ? "" : imported->text});
    if (!there) put.push_back({server.name, "", imported->text});
    variables.insert(variables.end(), imported->variables.begin(), imported->variables.end());
    string note;
    for (const string& key : imported->left_out) note += (note.empty() ? ", without " : ", ") + key;
    tell(plan, "moves", "{} to {}{}", server.name, config_seen->path, note);
  }
  if (own != nullptr)
    if (const JsoncValue* passed = own->value.find("env_vars"))
      for (const JsoncValue& variable : passed->elements) variables.push_back(variable.text);
  std::ranges::sort(variables);
  variables.erase(std::ranges::unique(variables).begin(), variables.end());

  const Entry wanted = entry_for(request, *config_path, program);
  const JsoncValue entry = our_entry(client, wanted.program, wanted.config, variables);
  if (own == nullptr || !same_value(own->value, entry)) {
    auto with = with_server(client, text, request.name, entry);
    if (!with) return broken(opened->seen.path, with.error());
    text = std::move(*with);
    tell(plan, own == nullptr ? "adds" : "renews", "{}: {} --config {}", request.name, wanted.program,
         wanted.config);
    if (request.scope == Scope::project) note_path(plan, places, program);
  } else {
    tell(plan, "keeps", "{}: it is there already", request.name);
  }
  std::vector<string> names = config->names();
  names.insert(names.end(), plan.can_move.begin(), plan.can_move.end());
  std::ranges::sort(names);
  plan.inactive_with_import = std::ranges::unique(names).begin() - names.begin() > 1;
  // What we write must be readable by everybody.
  if (const auto check = servers_in(client, text); !check || find_server(*check, request.name) == nullptr)
    return std::unexpected(
        fmt::format("{}: can't be edited safely, and was left alone; add this yourself: {}",
                    opened->seen.path, json_text(entry)));
  if (!config_seen->text) tell(plan, "writes", "{}: your servers, for mcpivot", config_seen->path);
  // Somebody removed everything of ours: start afresh.
  Tracked tracked = opened->tracked;
  if (own == nullptr && record_is_spent(*opened)) tracked.record.reset();
  const Backup backup = backup_for(opened->seen, tracked);
  if (backup == Backup::keep && opened->seen.text && *opened->seen.text != text)
    tell(plan, "keeps", "{}: the file as it was", backup_name(opened->seen.path));
  if (request.import && !plan.can_move.empty())
    note_import(plan, *config, *config_seen, client, opened->others);
  if (!plan.there_already || (request.import && !plan.can_move.empty()))
    note_pivot_call(plan, *config, *config_seen, client);
  FileRecord file = remember(opened->seen, text, tracked);
  // An entry that came with the file, as from a colleague's commit, is also removed on uninstall.
  if (own != nullptr && !tracked.record) file.exact = false;
  if (!tracked.record) file.made_list = !has_list(client, opened->text());
  FileRecord config_file = remember(*config_seen, config->text(), *config_tracked);
  config_file.put.insert(config_file.put.end(), put.begin(), put.end());
  plan.changes.push_back({*config_seen, config->text(), backup_for(*config_seen, *config_tracked)});
  const bool moves_away = opened->record && opened->record->config != config_seen->path;
  if (text != opened->seen.text || config->text() != config_seen->text || moves_away) {
    plan.changes.push_back({config_tracked->seen, record_text(config_file), Backup::none});
    plan.changes.push_back({tracked.seen, record_text(file), Backup::none});
    plan.changes.push_back({opened->record_seen, record_text(record), Backup::none});
  }
  plan.changes.push_back({opened->seen, text, backup});
  if (moves_away)
    if (const auto gone = let_go_of_config(plan, *opened->record, opened->others); !gone)
      return std::unexpected(gone.error());
  for (const SeenFile* seen : {&*config_seen, &opened->seen})
    plan.makes.push_back({seen->path, outermost_missing(seen->path)});
  return plan;
}

std::expected<Plan, string> plan_uninstall(const InstallRequest& request, const Places& places) {
  const Client& client = *request.client;
  const auto opened = open_client(request, places);
  if (!opened) return std::unexpected(opened.error());
  const auto& record = opened->record;
  const ClientServer* own = find_server(opened->servers, request.name);
  const bool ours = own != nullptr && (is_ours(own->value, own_program(places)));
  Plan plan;
  plan.lines.push_back(heading(request, opened->seen));
  if (own != nullptr && !ours)
    return std::unexpected(
        fmt::format("{}: \"{}\" isn't mcpivot's, and was left alone; name another with --name",
                    opened->seen.path, request.name));
  if (own == nullptr && !record) {
    tell(plan, "nothing", "there is no entry \"{}\"", request.name);
    return plan;
  }

  const bool leads_back = record && opened->tracked.leads_back(opened->seen.text);
  const bool last_in_file = !opened->shares_file();
  if (leads_back && last_in_file) {
    opened->tracked.record->before ? tell(plan, "restores", "the original file, byte for byte")
                                   : tell(plan, "deletes", "the file: it didn't exist before");
    for (const MovedServer& server : record->moved)
      if (!server.spelling.empty()) tell(plan, "returns", "{}", server.name);
    restore(plan, opened->seen, *opened->tracked.record);
  } else {
    string text = opened->text();
    auto take = [&](EditedText edited) {
      if (edited) text = std::move(*edited);
      return edited;
    };
    if (ours) {
      if (auto edited = take(without_server(client, text, request.name)); !edited)
        return broken(opened->seen.path, edited.error());
      tell(plan, "removes", "{}", request.name);
    }
    for (const MovedServer& server : record ? record->moved : std::vector<MovedServer>()) {
      if (server.spelling.empty()) continue;
      if (find_server(opened->servers, server.name) != nullptr) {
        tell(plan, "keeps", "{}: another server has that name now, and was left unchanged", server.name);
        continue;
      }
      if (auto edited = take(with_server_as_spelled(client, text, server.name, server.spelling)); !edited)
        return broken(opened->seen.path, edited.error());
      tell(plan, "returns", "{}", server.name);
    }
    if (opened->tracked.record && opened->tracked.record->made_list && last_in_file)
      if (auto edited = take(without_empty_list(client, text)); !edited)
        return broken(opened->seen.path, edited.error());
    plan.changes.push_back({opened->seen,
                            opened->seen.text || !text.empty() ? std::optional(text) : std::nullopt,
                            leads_back ? Backup::none : Backup::keep});
    // Our entries that stay in the file can still be undone completely.
    if (!last_in_file && opened->tracked.record)
      plan.changes.push_back(
          {opened->tracked.seen, record_text(remember(opened->seen, text, opened->tracked)), Backup::none});
  }
  if (last_in_file) plan.changes.push_back({opened->tracked.seen, std::nullopt, Backup::none});
  if (!record) return plan;

  if (const auto gone = let_go_of_config(plan, *record, opened->others); !gone)
    return std::unexpected(gone.error());
  if (opened->others.empty()) plan.unmakes_state_folder = record->made_state_folder;
  if (!opened->others.empty())
    if (auto change = hand_over(*record, opened->others.front())) plan.changes.push_back(std::move(*change));
  plan.changes.push_back({opened->record_seen, std::nullopt, Backup::none});
  return plan;
}

std::expected<void, string> carry_out(const Plan& plan) {
  std::vector<std::optional<SeenFile>> backups;
  for (const PlannedChange& change : plan.changes) {
    auto backup = look_at_file(backup_name(change.seen.path), change.seen.mode);
    backups.push_back(backup ? std::optional(std::move(*backup)) : std::nullopt);
    const auto done = change_file(change.seen, change.text, change.backup);
    if (!done) return std::unexpected(fmt::format("{}\n{}", done.error(), undo(plan, backups)));
  }
  for (const MadeFolders& made : plan.unmakes) remove_made_folders(made.file, made.outermost);
  return {};
}

string mcpivot_in_path(const Places& places) {
  const char* path = places.variable("PATH");
  string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, colon)) / "mcpivot";
    if (file.is_absolute() && ::access(file.c_str(), X_OK) == 0) return file.lexically_normal();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

string own_program(const Places& places) {
  std::error_code error;
  const fs::path itself = fs::read_symlink("/proc/self/exe", error);
  const char* path = places.variable("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const fs::path file = fs::path(rest.substr(0, colon)) / "mcpivot";
    if (file.is_absolute() && fs::equivalent(file, itself, error)) return file.lexically_normal();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return itself;
}

}  // namespace mcpivot
