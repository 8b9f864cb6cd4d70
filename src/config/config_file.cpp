#include "config/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/contains.h"
#include "base/files.h"
#include "config/key_reader.h"
#include "config/nearest.h"
#include "config/profile.h"
#include "config/server_draft.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using Kind = JsoncValue::Kind;

constexpr std::size_t most_servers = 1000;
constexpr std::size_t longest_name = 128;
constexpr std::array<std::string_view, 2> containers{"mcpServers", "servers"};

// Clients' files are in a folder of the client's own, within the folder that it has open.
std::string workspace_of(const std::string& folder) {
  const fs::path path(folder);
  const std::string name = path.filename();
  return name == ".vscode" || name == ".cursor" || name == ".mcpivot" ? path.parent_path().string() : folder;
}

class FileReader {
 public:
  FileReader(const std::string& folder, const Variable& variable)
      : folder_(folder),
        surroundings_{.variable = variable, .workspace = workspace_of(folder)},
        keys_(problems_, surroundings_, folder_) {}

  LoadedConfig read(std::string_view text) {
    auto document = parse_jsonc(text);
    if (!document) {
      problems_.error(document.error().place, document.error().words);
    } else if (document->kind != Kind::object) {
      problems_.error(document->place, fmt::format("expected an object with \"mcpServers\", found {}",
                                                   kind_text(document->kind)));
    } else {
      read_document(*document);
    }
    config_.problems = problems_.take();
    return std::move(config_);
  }

 private:
  // The servers are in a member of their own or, in a bare map, are the members that are objects.
  void read_document(JsoncValue& document) {
    JsoncMember* container = nullptr;
    JsoncMember bare{.key = "", .place = document.place};
    bare.value.kind = Kind::object;
    JsoncValue settings;
    const bool is_bare = std::ranges::none_of(document.members, is_container);
    for (JsoncMember& member : document.members) {
      if (is_bare) {
        const bool server = member.value.kind == Kind::object && !is_profiles(member);
        (server ? bare.value : settings).members.push_back(std::move(member));
      } else if (!is_container(member)) {
        settings.members.push_back(std::move(member));
      } else if (container == nullptr) {
        container = &member;
      } else {
        const unsigned line = container->place.line;
        problems_.error(
            member.place,
            member.key == container->key
                ? fmt::format("\"{}\" appears twice in the file, first on line {}; keep all servers in one",
                              member.key, line)
                : fmt::format("both \"{}\" and \"{}\" (line {}) list servers; keep them all in one",
                              member.key, container->key, line));
      }
    }
    // Unless it is valid and given only once, we don't know how much to allow.
    const auto given = std::ranges::count(settings.members, "pivot_call", &JsoncMember::key);
    if (given > 0) config_.gateway.pivot_call = CallThrough::off;
    std::vector<const JsoncMember*> unknown;
    keys_.read(
        settings, file_keys(), "the file", [&](const Key& key) { return key.in_file(config_.gateway); },
        [&](const JsoncMember& member) { unknown.push_back(&member); });
    if (given > 1) config_.gateway.pivot_call = CallThrough::off;
    warn_unknown(unknown);
    if (container == nullptr) container = &bare;
    read_servers(*container);
    for (const JsoncMember& member : settings.members)
      if (is_profiles(member)) check_profiles(member.value);
    // We don't know which of several is meant.
    if (lock_profiles_ || std::ranges::count(settings.members, "profiles", &JsoncMember::key) > 1) {
      config_.gateway.profiles[std::string(default_profile)];
      for (auto& [name, profile] : config_.gateway.profiles) profile.broken = true;
    }
    if (config_.gateway.servers.empty() && config_.left_out.empty() && problems_.errors() == 0)
      problems_.warning(container->place,
                        "there is no server in this file; put one into \"mcpServers\", like "
                        "{\"mcpServers\": {\"dev\": {\"command\": \"./server\"}}}");
  }

  // In a bare map, a server may be called "servers".
  static bool is_container(const JsoncMember& member) {
    return contains(containers, member.key) &&
           !(member.value.kind == Kind::object && looks_like_a_server(member.value));
  }

  static bool is_profiles(const JsoncMember& member) {
    return member.key == "profiles" && !looks_like_a_server(member.value);
  }

  static bool looks_like_a_server(const JsoncValue& value) {
    return std::ranges::any_of(value.members, [](const JsoncMember& member) {
      return find_key(server_keys(), member.key) != nullptr && member.value.kind != Kind::object;
    });
  }

  // A client's file may be full of keys of its own: likely typos are reported one by one, the rest together.
  void warn_unknown(const std::vector<const JsoncMember*>& members) {
    std::vector<std::string_view> known(containers.begin(), containers.end());
    for (const Key& key : file_keys()) known.push_back(key.name);
    std::vector<const JsoncMember*> rest;
    for (const JsoncMember* member : members) {
      if (KeyReader::is_note(member->key)) continue;
      const auto meant = nearest(member->key, known);
      const Key* const key = find_key(file_keys(), meant);
      if (key != nullptr && key->guards && may_mean(*member, meant)) {
        refuse_misspelt(*member, meant);
      } else if (!meant.empty()) {
        problems_.warning(member->place, fmt::format("unknown key \"{}\" is ignored; did you mean \"{}\"?",
                                                     member->key, meant));
      } else {
        rest.push_back(member);
      }
    }
    if (rest.size() == 1) keys_.warn_unknown(*rest.front(), file_keys(), "the file");
    if (rest.size() < 2) return;
    problems_.warning(
        rest.front()->place,
        fmt::format("{} keys next to the servers are unknown and ignored, the first of them \"{}\"",
                    rest.size(), rest.front()->key));
  }

  // A client's own "profile": "work" isn't a table of profiles.
  static bool may_mean(const JsoncMember& member, std::string_view meant) {
    return meant != "profiles" || member.value.kind != Kind::string;
  }

  // What restricts something isn't ignored: we don't know how much is to be allowed.
  void refuse_misspelt(const JsoncMember& member, std::string_view meant) {
    problems_.error(member.place, fmt::format("unknown key \"{}\"; did you mean \"{}\"?", member.key, meant));
    if (meant == "pivot_call") config_.gateway.pivot_call = CallThrough::off;
    if (meant == "profiles") lock_profiles_ = true;
  }

  void read_servers(JsoncMember& container) {
    if (container.value.kind != Kind::object)
      return problems_.error(container.value.place,
                             fmt::format("\"{}\" must be an object with the servers by name, "
                                         "not {}",
                                         container.key, kind_text(container.value.kind)));
    keys_.refuse_duplicates(container.value,
                            container.key.empty() ? "the file" : fmt::format("\"{}\"", container.key));
    for (JsoncMember& member : container.value.members)
      if (!is_misplaced(container, member)) read_server(member);
  }

  // What looks like a server called "mcpServer" or "profile" in a bare map, or "profiles" among the servers.
  bool is_misplaced(const JsoncMember& container, const JsoncMember& member) {
    constexpr std::array<std::string_view, 3> keys{"profiles", containers[0], containers[1]};
    const bool bare = container.key.empty();
    const auto meant = nearest(member.key, std::span(keys).first(bare ? keys.size() : 1));
    if (meant.empty() || KeyReader::is_note(member.key) || looks_like_a_server(member.value)) return false;
    if (bare) {
      refuse_misspelt(member, meant);
    } else {
      problems_.error(member.place,
                      member.key == meant
                          ? fmt::format("\"{}\" belongs next to \"{}\", not in it", meant, container.key)
                          : fmt::format("\"{}\" isn't a server; \"{}\" belongs next to \"{}\"", member.key,
                                        meant, container.key));
      lock_profiles_ = true;
    }
    return true;
  }

  // A profile that names a server that doesn't exist isn't what its author meant, and lets nobody in.
  void check_profiles(const JsoncValue& profiles) {
    std::vector<std::string_view> names;
    for (const ServerEntry& entry : config_.gateway.servers) names.push_back(entry.server.name);
    for (const LeftOut& left_out : config_.left_out) names.push_back(left_out.name);
    for (const JsoncMember& profile : profiles.members)
      for (const char* key : {"servers", "active"}) {
        const JsoncValue* const list = profile.value.find(key);
        if (list == nullptr) continue;
        for (const JsoncValue& name : list->elements) {
          if (name.kind != Kind::string || contains(names, std::string_view(name.text))) continue;
          const auto meant = nearest(name.text, names);
          problems_.error(name.place,
                          fmt::format("\"{}\" of profile \"{}\" names \"{}\", which isn't a server here{}",
                                      key, profile.key, name.text,
                                      meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
          config_.gateway.profiles[profile.key].broken = true;
        }
      }
    for (const JsoncMember& profile : profiles.members)
      if (const JsoncValue* const scopes = profile.value.find("scopes")) check_scopes(profile.key, *scopes);
  }

  // They are sent in headers, separated by spaces.
  void check_scopes(const std::string& name, const JsoncValue& list) {
    Profile& profile = config_.gateway.profiles[name];
    for (const std::string& scope : profile.scopes.value_or(std::vector<std::string>())) {
      if (!scope.empty() &&
          std::ranges::all_of(scope, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; }))
        continue;
      problems_.error(list.place,
                      fmt::format("\"scopes\" of profile \"{}\" has an element that isn't a scope: one word "
                                  "of ASCII characters, without quotes and backslashes",
                                  name));
      profile.broken = true;
    }
  }

  void read_server(JsoncMember& member) {
    const std::size_t errors_before = problems_.errors();
    if (config_.gateway.servers.size() + config_.left_out.size() == most_servers) {
      if (!overfull_)
        problems_.error(member.place,
                        fmt::format("there are more than {} servers; the rest is ignored", most_servers));
      overfull_ = true;
      return;
    }
    if (!is_good_name(member)) return;
    if (member.value.kind != Kind::object)
      return problems_.error(member.value.place, fmt::format("server \"{}\" must be an object like "
                                                             "{{\"command\": \"./server\"}}, not {}",
                                                             member.key, kind_text(member.value.kind)));
    if (is_disabled(member.value)) {
      config_.left_out.push_back({member.key, true, member.place});
      return;
    }
    Draft draft;
    draft.entry.server.name = member.key;
    const auto given = keys_.read(member.value, server_keys(), fmt::format("server \"{}\"", member.key),
                                  [&](const Key& key) { return key.in_server(draft); });
    ServerEntry entry =
        finish_draft(std::move(draft), member.place, given, folder_, surroundings_, problems_);
    const bool twice = is_known(member.key);
    if (problems_.errors() > errors_before || twice) {
      if (!twice) config_.left_out.push_back({member.key, false, member.place});
      return;
    }
    config_.gateway.servers.push_back(std::move(entry));
    config_.sources.push_back(std::move(member));
  }

  // Errors in a disabled server don't matter.
  static bool is_disabled(const JsoncValue& server) {
    const JsoncValue* disabled = server.find("disabled");
    return disabled != nullptr && disabled->kind == Kind::boolean && disabled->boolean;
  }

  bool is_good_name(const JsoncMember& member) {
    const std::string& name = member.key;
    if (name.empty()) {
      problems_.error(member.place, "a server's name is empty; give it one");
    } else if (name.size() > longest_name) {
      problems_.error(member.place, fmt::format("a server's name has {} bytes; at most {} are allowed",
                                                name.size(), longest_name));
    } else if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) {
      problems_.error(member.place, "a server's name has a control character; remove it");
    } else {
      return true;
    }
    return false;
  }

  bool is_known(const std::string& name) const {
    return std::ranges::any_of(config_.gateway.servers,
                               [&](const ServerEntry& one) { return one.server.name == name; }) ||
           std::ranges::find(config_.left_out, name, &LeftOut::name) != config_.left_out.end();
  }

  std::string folder_;
  Surroundings surroundings_;
  ProblemList problems_;
  KeyReader keys_;
  LoadedConfig config_;
  bool overfull_ = false;
  bool lock_profiles_ = false;  // no client is let in: what a misspelt key restricts isn't known
};

}  // namespace

ServerKind kind_of(const ServerConfig& server) {
  if (server.is_daemon()) return ServerKind::http;
  return server.cli ? ServerKind::cli : ServerKind::stdio;
}

bool LoadedConfig::has_errors() const {
  return std::ranges::find(problems, Problem::Severity::error, &Problem::severity) != problems.end();
}

LoadedConfig read_config(std::string_view text, const std::string& folder, const Variable& variable) {
  return FileReader(folder, variable).read(text);
}

LoadedConfig load_config(const std::string& file) {
  const auto text = read_small_file(file, JsoncLimits().bytes);
  if (!text) {
    LoadedConfig config;
    config.problems.push_back({Problem::Severity::error, 0, 0, "the configuration " + text.error()});
    return config;
  }
  const fs::path path = absolute_path(file).lexically_normal();
  LoadedConfig config = read_config(*text, path.parent_path().string(), own_variable);
  config.gateway.file = path.string();
  return config;
}

std::string user_config(const Variable& variable) {
  const char* folder = variable("XDG_CONFIG_HOME");
  const char* home = variable("HOME");
  if (folder != nullptr && *folder == '/') return std::string(folder) + "/mcpivot/mcpivot.json";
  if (home != nullptr && *home != '\0') return std::string(home) + "/.config/mcpivot/mcpivot.json";
  return {};
}

std::expected<std::string, std::string> find_config(const std::string& asked_for) {
  if (!asked_for.empty()) return asked_for;
  std::string here = "mcpivot.json";
  std::error_code error;
  if (fs::exists(here, error)) return here;
  std::string own = user_config(own_variable);
  if (!own.empty() && fs::exists(own, error)) return own;
  return std::unexpected(
      fmt::format("there is no configuration: neither ./mcpivot.json{}{}; name one with --config",
                  own.empty() ? "" : " nor ", own));
}

}  // namespace mcpivot
