#include "install/installer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "config/config_file.h"
#include "install/import_rules.h"
#include "install/install_record.h"
#include "install/made_folders.h"
#include "install/project_start.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using Kind = JsoncValue::Kind;
using std::string;

// Larger files are given back entry by entry: two copies of them would be kept.
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
  if (file.empty()) return std::unexpected("HOME is not set, so your configuration cannot be found; set it");
  return file;
}

std::unexpected<string> broken(const string& file, const string& words) {
  return std::unexpected(
      fmt::format("{}: {}\nThe file is left as it is. Mend that, and try again.", file, words));
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

// Where in mcpivot's configuration the servers stand: in a member of their own, or, in a bare map, at the
// outermost level. Nothing: there is no such place yet.
std::optional<JsonPath> list_in_config(const JsoncValue& root) {
  auto is_map = [](const JsoncValue& value) {
    return value.kind == Kind::object && std::ranges::all_of(value.members, [](const JsoncMember& member) {
             return member.value.kind == Kind::object;
           });
  };
  for (const char* key : {"mcpServers", "servers"})
    if (const JsoncValue* list = root.find(key); list != nullptr && is_map(*list)) return JsonPath{key};
  const bool bare = std::ranges::any_of(
      root.members, [](const JsoncMember& member) { return member.value.kind == Kind::object; });
  if (bare) return JsonPath{};
  return std::nullopt;
}

// mcpivot's configuration while servers are put into it or taken out.
class ConfigText {
 public:
  static std::expected<ConfigText, string> open(const string& file, string text) {
    const auto root = parse_jsonc(text);
    if (!root)
      return broken(file, fmt::format("line {}, column {}: {}", root.error().place.line,
                                      root.error().place.column, root.error().words));
    if (root->kind != Kind::object) return broken(file, "it is no object with \"mcpServers\" in it");
    if (!list_in_config(*root)) {
      auto with_list = insert_member(text, {}, "mcpServers", "{}", JsonLayout::as_is);
      if (!with_list) return broken(file, with_list.error());
      text = std::move(*with_list);
    }
    return ConfigText(std::move(text));
  }

  const string& text() const { return text_; }
  std::optional<JsoncValue> find(const string& name) const {
    const auto root = parse_jsonc(text_);
    JsonPath path = list_in_config(*root).value_or(JsonPath());
    path.push_back(name);
    const JsoncValue* value = find_value(*root, path);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  std::expected<void, string> add(const string& name, const Imported& server) {
    return take(insert_member(text_, path(), name, server.text,
                              server.as_spelled ? JsonLayout::as_is : JsonLayout::fitting));
  }
  std::expected<void, string> remove(const string& name) { return take(remove_member(text_, path(), name)); }

 private:
  explicit ConfigText(string text) : text_(std::move(text)) {}
  JsonPath path() const { return list_in_config(*parse_jsonc(text_)).value_or(JsonPath()); }
  std::expected<void, string> take(EditedText edited) {
    if (!edited) return std::unexpected(edited.error());
    text_ = std::move(*edited);
    return {};
  }

  string text_;
};

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

std::optional<InstallRecord> record_of(const SeenFile& seen) {
  return seen.text ? parse_record(*seen.text) : std::nullopt;
}

// If we were here before and nobody since, the way back is the one of then.
WrittenFile remember(const SeenFile& seen, const string& after, const WrittenFile* earlier) {
  WrittenFile written{.path = seen.path, .before = seen.text, .after = after};
  if (earlier != nullptr) {
    const bool untouched = earlier->exact && seen.text == earlier->after;
    written.before = untouched ? earlier->before : std::nullopt;
    written.exact = untouched;
  }
  if (after.size() + written.before.value_or("").size() > most_remembered) {
    written.before.reset();
    written.after.clear();
    written.exact = false;
  }
  return written;
}

// Whether the entry that a record is about is still in its client's file.
bool still_there(const InstallRecord& record) {
  const Client* client = find_client(record.client);
  const auto seen = look_at_file(record.file.path, 0600);
  if (client == nullptr || !seen || !seen->text) return false;
  const auto servers = servers_in(*client, *seen->text);
  return !servers || find_server(*servers, record.name) != nullptr;
}

// The other entries of ours, in this or another client.
std::vector<InstallRecord> others_than(const InstallRecord& record) {
  std::vector<InstallRecord> others = all_records();
  std::erase_if(others, [&](const InstallRecord& other) {
    const bool itself =
        other.client == record.client && other.file.path == record.file.path && other.name == record.name;
    return itself || !still_there(other);
  });
  return others;
}

// What we put into the configuration stays there for another entry of ours; when that one goes, so does this.
void hand_over_config(const InstallRecord& from, InstallRecord& to) {
  if (to.made_config_folder.empty()) to.made_config_folder = from.made_config_folder;
  if (from.config.exact && to.config.exact && to.config.before == from.config.after)
    to.config.before = from.config.before;
  for (const MovedServer& server : from.moved)
    if (!server.value.empty()) to.moved.push_back({server.name, "", server.value});
}

// One of the others, which takes over what is theirs, too. `shares`: it reads the same configuration.
std::optional<PlannedChange> hand_over(const InstallRecord& from, InstallRecord to, bool shares) {
  auto seen = look_at_file(record_path(to.client, to.file.path, to.name), 0600);
  if (!seen || !seen->text) return std::nullopt;
  if (to.made_state_folder.empty()) to.made_state_folder = from.made_state_folder;
  if (shares) hand_over_config(from, to);
  return PlannedChange{std::move(*seen), record_text(to), Backup::none};
}

struct Opened {
  SeenFile seen;
  std::vector<ClientServer> servers;
  SeenFile record_seen;
  std::optional<InstallRecord> record;

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
    return std::unexpected("HOME is not set, so what is done could not be remembered and undone; set it");
  auto record_seen = look_at_file(record_path(string(request.client->name), seen->path, request.name), 0600);
  if (!record_seen) return std::unexpected(record_seen.error());
  Opened opened{std::move(*seen), std::move(*servers), std::move(*record_seen), {}};
  opened.record = record_of(opened.record_seen);
  return opened;
}

string heading(const InstallRequest& request, const SeenFile& seen) {
  return fmt::format("{}, {}: {}", request.client->title,
                     request.scope == Scope::user ? "for every project" : "for this project", seen.path);
}

// Takes back those changes of a plan that were made, all but the last one for certain, and says what is left
// of them. `backups` is what stood there before.
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
                      : "This was changed before, and could not be changed back:" + left;
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
    return std::unexpected(
        fmt::format("{}: there is a server called \"{}\" already, and it is not ours; choose another name "
                    "with --name",
                    opened->seen.path, request.name));
  const auto config_path = config_file(request.scope, places);
  if (!config_path) return std::unexpected(config_path.error());
  const auto config_seen = look_at_file(*config_path, mode_of(request.scope));
  if (!config_seen) return std::unexpected(config_seen.error());

  Plan plan;
  plan.lines.push_back(heading(request, opened->seen));
  plan.there_already = own != nullptr;
  InstallRecord record{
      .client = string(client.name), .scope = string(scope_text(request.scope)), .name = request.name};
  if (opened->record) record.moved = opened->record->moved;

  string text = opened->text();
  record.made_folder = opened->record ? opened->record->made_folder : outermost_missing(opened->seen.path);
  record.made_config_folder =
      opened->record ? opened->record->made_config_folder : outermost_missing(config_seen->path);
  record.made_state_folder = opened->record ? opened->record->made_state_folder : request.made_state_folder;
  record.made_list = opened->record ? opened->record->made_list : !has_list(client, text);
  std::vector<string> variables;
  const string folder = fs::path(config_seen->path).parent_path();
  auto start = config_seen->text;
  // The servers that come in are a better beginning than a guess.
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
        tell(plan, "stays", "{}: there is another server of that name in {}", server.name, config_seen->path);
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
    record.moved.push_back({server.name, server.text, there ? "" : imported->text});
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

  const JsoncValue entry = our_entry(client, program, *config_path, variables);
  if (own == nullptr || !same_value(own->value, entry)) {
    auto with = with_server(client, text, request.name, entry);
    if (!with) return broken(opened->seen.path, with.error());
    text = std::move(*with);
    tell(plan, own == nullptr ? "adds" : "renews", "{}: {} --config {}", request.name, program, *config_path);
  } else {
    tell(plan, "keeps", "{}: it is there already", request.name);
  }
  // What we wrote must be what everybody can read.
  if (const auto check = servers_in(client, text); !check || find_server(*check, request.name) == nullptr)
    return std::unexpected(fmt::format("{}: cannot be edited safely, and is left alone; add this by hand: {}",
                                       opened->seen.path, json_text(entry)));
  if (!config_seen->text) tell(plan, "writes", "{}: your servers, for mcpivot", config_seen->path);
  if (opened->seen.text && *opened->seen.text != text)
    tell(plan, "keeps", "{}: the file as it was", backup_name(opened->seen.path));

  const InstallRecord* earlier = opened->record ? &*opened->record : nullptr;
  record.file = remember(opened->seen, text, earlier != nullptr ? &earlier->file : nullptr);
  record.config =
      remember(*config_seen, config->text(),
               earlier != nullptr && earlier->config.path == config_seen->path ? &earlier->config : nullptr);
  plan.changes.push_back({*config_seen, config->text(), Backup::keep});
  if (text != opened->seen.text || config->text() != config_seen->text)
    plan.changes.push_back({opened->record_seen, record_text(record), Backup::none});
  plan.changes.push_back({opened->seen, text, Backup::keep});
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
    return std::unexpected(fmt::format("{}: \"{}\" is not ours, and is left alone; name another with --name",
                                       opened->seen.path, request.name));
  if (own == nullptr && !record) {
    tell(plan, "nothing", "there is no \"{}\"", request.name);
    return plan;
  }

  if (record && record->file.exact && opened->seen.text == record->file.after) {
    plan.changes.push_back({opened->seen, record->file.before, Backup::none});
    tell(plan, "restores", "{}",
         record->file.before ? "the file as it was, to the byte" : "what was: no such file");
    for (const MovedServer& server : record->moved)
      if (!server.spelling.empty()) tell(plan, "returns", "{}", server.name);
    if (!record->file.before) plan.unmakes.push_back({opened->seen.path, record->made_folder});
    if (auto kept = look_at_file(backup_name(opened->seen.path), 0600);
        kept && kept->text && kept->text == record->file.before)
      plan.changes.push_back({std::move(*kept), std::nullopt, Backup::none});
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
        tell(plan, "keeps", "{}: there is one of that name again, which stays as it is", server.name);
        continue;
      }
      if (auto edited = take(with_server_as_spelled(client, text, server.name, server.spelling)); !edited)
        return broken(opened->seen.path, edited.error());
      tell(plan, "returns", "{}", server.name);
    }
    if (record && record->made_list)
      if (auto edited = take(without_empty_list(client, text)); !edited)
        return broken(opened->seen.path, edited.error());
    plan.changes.push_back({opened->seen,
                            opened->seen.text || !text.empty() ? std::optional(text) : std::nullopt,
                            Backup::keep});
  }
  if (!record) return plan;

  auto config_seen = look_at_file(record->config.path, 0600);
  if (!config_seen) return std::unexpected(config_seen.error());
  const auto others = others_than(*record);
  const auto sharing = std::ranges::find_if(
      others, [&](const InstallRecord& other) { return other.config.path == record->config.path; });
  const bool shared = sharing != others.end();
  if (!others.empty())
    if (auto change = hand_over(*record, shared ? *sharing : others.front(), shared))
      plan.changes.push_back(std::move(*change));
  if (others.empty()) plan.unmakes_state_folder = record->made_state_folder;
  if (shared) {
    tell(plan, "leaves", "{} as it is: {} has it, too", config_seen->path, sharing->client);
  } else if (record->config.exact && config_seen->text == record->config.after) {
    if (record->config.before != config_seen->text)
      tell(plan, "restores", "{}{}", config_seen->path, record->config.before ? "" : ": there was none");
    plan.changes.push_back({*config_seen, record->config.before, Backup::none});
    if (!record->config.before) plan.unmakes.push_back({config_seen->path, record->made_config_folder});
    if (auto kept = look_at_file(backup_name(config_seen->path), 0600);
        kept && kept->text && kept->text == record->config.before)
      plan.changes.push_back({std::move(*kept), std::nullopt, Backup::none});
  } else if (config_seen->text) {
    auto config = ConfigText::open(config_seen->path, *config_seen->text);
    if (!config) return std::unexpected(config.error());
    for (const MovedServer& server : record->moved) {
      const auto there = server.value.empty() ? std::nullopt : config->find(server.name);
      if (!there) continue;
      const auto put = parse_jsonc(server.value);
      if (!put || !same_value(*there, *put)) {
        tell(plan, "keeps", "{} in {}, too: you changed it there", server.name, config_seen->path);
      } else if (const auto gone = config->remove(server.name); !gone) {
        return broken(config_seen->path, gone.error());
      }
    }
    plan.changes.push_back({*config_seen, config->text(), Backup::keep});
  }
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

InstallLock::InstallLock() {
  const string folder = records_folder();
  if (folder.empty()) return;
  file_ = folder + "/lock";
  while (!take()) {
  }
}

// False: whoever had it took the file away when they were done.
bool InstallLock::take() {
  const fs::path folder = fs::path(file_).parent_path();
  if (const string made = outermost_missing(file_); !made.empty()) made_folder_ = made;
  std::error_code error;
  std::error_code ignored;
  fs::create_directories(folder, error);
  if (error) return true;  // without a lock, if there can be none
  fs::permissions(folder, fs::perms::owner_all, ignored);
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return errno != ENOENT;
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat ours{};
  struct stat there{};
  const bool still_there = ::fstat(descriptor_, &ours) == 0 && ::stat(file_.c_str(), &there) == 0 &&
                           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  if (!still_there) ::close(std::exchange(descriptor_, -1));
  return still_there;
}

void InstallLock::made(const string& folder) {
  if (!folder.empty()) made_folder_ = folder;
}

InstallLock::~InstallLock() {
  if (descriptor_ < 0) return;
  std::error_code error;
  const fs::directory_iterator entries(fs::path(file_).parent_path(), error);
  const bool alone = !error && std::distance(begin(entries), end(entries)) == 1;
  if (alone && !made_folder_.empty()) {
    ::unlink(file_.c_str());
    remove_made_folders(file_, made_folder_);
  }
  ::close(descriptor_);
}

}  // namespace mcpivot
