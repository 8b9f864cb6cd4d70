#include "cli/check_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/counted.h"
#include "base/duration_text.h"
#include "base/shell_word.h"
#include "cli/colours.h"
#include "cli/say.h"
#include "config/config_file.h"
#include "config/keys.h"
#include "config/profile.h"
#include "journal/kept_calls.h"
#include "server/executable.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

struct Paint {
  static std::string bold(std::string_view text) { return coloured("1", text); }
  static std::string dim(std::string_view text) { return coloured("2", text); }
  static std::string red(std::string_view text) { return coloured("1;31", text); }
  static std::string yellow(std::string_view text) { return coloured("1;33", text); }
};

// A file may contain control sequences for the terminal.
std::string on_one_line(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  return result;
}

std::string list_text(const std::vector<std::string>& items) {
  return fmt::format("{}", fmt::join(items, ", "));
}

// Variables like ${NAME} are replaced by mcpivot, not by a shell.
std::string word_text(const std::string& word) {
  return shell_word(word, "${}");
}

// What the file spells for a key, words in lists separated by spaces.
std::string spelled(const JsoncMember& source, std::string_view name) {
  const JsoncValue* value = nullptr;
  const Key* wanted = find_key(server_keys(), name);
  for (const JsoncMember& member : source.value.members)
    if (find_key(server_keys(), member.key) == wanted) value = &member.value;
  if (value == nullptr) return {};
  if (value->kind == JsoncValue::Kind::string) return value->text;
  std::string text;
  for (const JsoncValue& element : value->elements)
    text += (text.empty() ? "" : " ") + word_text(element.text);
  return text;
}

std::string with_arguments(const std::string& program, const std::string& arguments) {
  return arguments.empty() ? program : program + " " + arguments;
}

std::vector<std::string> keys_of(const JsoncMember& source, std::string_view name) {
  std::vector<std::string> names;
  if (const JsoncValue* value = source.value.find(name))
    for (const JsoncMember& member : value->members) names.push_back(member.key);
  return names;
}

// The path of the program; empty: not found.
std::string program_of(const Command& command) {
  const auto found = find_program(command);
  if (!found) return {};
  const std::string path = in_folder(command, *found).lexically_normal().string();
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

class Report {
 public:
  explicit Report(LoadedConfig config) : config_(std::move(config)) {}

  void print(const std::string& file) {
    const auto& servers = config_.gateway.servers;
    if (!servers.empty() || !config_.left_out.empty()) {
      const std::size_t count = servers.size() + config_.left_out.size();
      say(paint_.bold(fmt::format("{}: {}", file, counted(count, "server"))));
      if (servers.size() > 1)
        say(fmt::format("tools are called {}{}{}",
                        config_.gateway.names == Naming::bare ? "as the servers call them" : "SERVER__TOOL",
                        config_.gateway.remember ? "; activations are remembered" : "",
                        reach(config_.gateway.pivot_call)));
    }
    for (std::size_t i = 0; i < servers.size(); ++i) print(servers[i], config_.sources[i]);
    for (const LeftOut& server : config_.left_out)
      say(fmt::format("\n{}  {}", paint_.bold(on_one_line(server.name)),
                      server.disabled ? "disabled" : paint_.red("skipped: it has errors, see below")));
    for (const auto& [name, profile] : config_.gateway.profiles) print(name, profile);
    if (const auto& profiles = config_.gateway.profiles;
        !all_scopes(config_.gateway).empty() && !profiles.contains(std::string(default_profile)))
      say(fmt::format("\n{}  without a profile: closed to tokens of --oauth-issuer", paint_.bold("/mcp")));
    print_problems(file);
  }

  bool has_errors() const { return config_.has_errors(); }

 private:
  static std::string_view reach(CallThrough through) {
    switch (through) {
      case CallThrough::active:
        return "; pivot_call calls those of active servers";
      case CallThrough::off:
        return "; there is no pivot_call";
      case CallThrough::all:
        break;
    }
    return "";
  }

  void line(std::string_view label, const std::string& text) {
    if (!text.empty())
      say(fmt::format("  {} {}", paint_.dim(fmt::format("{:<9}", label)), on_one_line(text)));
  }

  void print(const ServerEntry& entry, const JsoncMember& source) {
    const ServerConfig& server = entry.server;
    const bool active = config_.gateway.servers.size() == 1 || entry.active.value_or(false);
    const ServerKind kind = kind_of(server);
    say(fmt::format("\n{}  {}, {}{}", paint_.bold(server.name), kind_word(kind),
                    active ? "active" : "inactive",
                    entry.start == StartMode::lazy ? ", starts when first used" : ""));
    if (kind == ServerKind::http) {
      print_daemon(server, source);
    } else {
      const std::string_view key = kind == ServerKind::cli ? "cli" : "command";
      line("runs", kind == ServerKind::cli
                       ? spelled(source, key)
                       : with_arguments(word_text(spelled(source, key)), spelled(source, "args")));
      print_program(server, source, key);
    }
    if (kind != ServerKind::http || !server.command.cwd.empty())
      line("in", server.command.cwd.empty() ? "the folder mcpivot is started in" : server.command.cwd);
    print_folder(server, source);
    line("env", list_text(keys_of(source, "env")));
    line("builds", spelled(source, "build"));
    line("watches", watched(server));
    if (server.sharing == Sharing::shared) line("sharing", "one instance for all clients");
    if (server.on_save)
      line("on save", server.waits_for_saves() ? "calls wait for the new one" : "the old one serves calls");
    if (server.swap == SwapMode::stop_first) line("swap", "the old one stops before a new one starts");
    line("replays", spelled(source, "replay"));
    print_verify(server, source);
    line("limits", limits(source));
    line("tools", tools(entry.tools));
    if (entry.pivot_call)
      line("through", *entry.pivot_call ? "pivot_call calls its tools, also while it is inactive"
                                        : "pivot_call never calls its tools");
    if (entry.idle_stop) line("ends", "when inactive for " + duration_text(*entry.idle_stop));
  }

  void print(const std::string& name, const Profile& profile) {
    say(fmt::format("\n{}  profile \"{}\"{}",
                    paint_.bold(name == default_profile ? "/mcp" : "/mcp/" + on_one_line(name)),
                    on_one_line(name),
                    profile.broken ? ", " + paint_.red("closed: it has errors, see below") : std::string()));
    if (profile.broken) return;
    line("servers", profile.servers ? list_text(*profile.servers) : "all");
    line("tools", tools(profile.tools));
    if (profile.active) line("active", list_text(*profile.active));
    line("control", list_text(profile.control));
    if (profile.scopes)
      line("scopes", profile.scopes->empty() ? "none needed: every token of --oauth-issuer"
                                             : list_text(*profile.scopes));
    else if (!all_scopes(config_.gateway).empty())
      line("scopes", "not given: closed to tokens of --oauth-issuer");
  }

  void print_verify(const ServerConfig& server, const JsoncMember& source) {
    if (!server.verify.wanted()) return;
    line("verifies",
         fmt::format(
             "each new build with {}{}",
             server.verify.from_journal() ? "the calls in the journal" : spelled(source, "verify"),
             server.verify.gate && server.can_gate() ? "; one that answers differently is held back" : ""));
    if (server.verify.from_journal()) return;
    if (const auto kept = read_kept_calls(server.verify.calls); !kept)
      warn(source, "verify", fmt::format("server \"{}\": {}", server.name, kept.error()));
  }

  static std::string_view kind_word(ServerKind kind) {
    switch (kind) {
      case ServerKind::stdio:
        return "stdio";
      case ServerKind::http:
        return "HTTP daemon";
      case ServerKind::cli:
        return "CLI tools";
    }
    return "";
  }

  void print_daemon(const ServerConfig& server, const JsoncMember& source) {
    line("at", spelled(source, "url"));
    line("headers", list_text(keys_of(source, "headers")));
    line("trusts", server.http.insecure ? "any certificate" : server.http.cacert);
    std::error_code error;
    if (!server.http.cacert.empty() && !fs::is_regular_file(server.http.cacert, error))
      warn(source, "cacert",
           fmt::format("server \"{}\": there is no file {}; correct \"cacert\"", server.name,
                       server.http.cacert));
    line("starts by", spelled(source, "start_command"));
    line("stops by", spelled(source, "stop_command"));
  }

  void print_program(const ServerConfig& server, const JsoncMember& source, std::string_view key) {
    const std::string program = program_of(server.command);
    const std::string& name = server.command.argv[0];
    const bool path = name.find('/') != std::string::npos;
    if (!program.empty()) {
      if (program != name || name != spelled(source, key)) line("program", program);
    } else if (!server.build.empty()) {
      line("program", path ? name + ", not built yet" : name);
    } else {
      warn(source, key,
           fmt::format("server \"{}\": {}; install it, or correct \"{}\"", server.name,
                       path ? "there is no program at " + name
                            : fmt::format("there is no program \"{}\" in PATH", name),
                       key));
    }
  }

  void print_folder(const ServerConfig& server, const JsoncMember& source) {
    std::error_code error;
    if (!server.command.cwd.empty() && !fs::is_directory(server.command.cwd, error))
      warn(source, "cwd",
           fmt::format("server \"{}\": there is no folder {}; create it, or correct \"cwd\"", server.name,
                       server.command.cwd));
  }

  static std::string watched(const ServerConfig& server) {
    if (!server.watching) return "nothing";
    if (!server.watch.empty()) return list_text(server.watch);
    if (kind_of(server) == ServerKind::http) return {};
    const std::string own = own_file(server.command);
    return own.empty() ? "nothing: its own file is unknown" : own;
  }

  static std::string limits(const JsoncMember& source) {
    std::vector<std::string> parts;
    if (const JsoncValue* timeouts = source.value.find("timeouts"))
      for (const JsoncMember& member : timeouts->members)
        parts.push_back(fmt::format("{} {}{}", member.key, member.value.text,
                                    member.value.kind == JsoncValue::Kind::number ? "s" : ""));
    for (const char* key : {"max_message", "max_output", "jobs"})
      if (const JsoncValue* value = source.value.find(key))
        parts.push_back(fmt::format("{} {}", key, value->text));
    return list_text(parts);
  }

  static std::string tools(const ToolRules& rules) {
    std::vector<std::string> parts;
    if (rules.allow) parts.push_back(rules.allow->empty() ? "none" : "only " + list_text(*rules.allow));
    if (!rules.deny.empty()) parts.push_back("never " + list_text(rules.deny));
    for (const auto& [own, name] : rules.rename) parts.push_back(own + " is called " + name);
    for (const auto& [own, words] : rules.describe)
      parts.push_back(own + " has its description from this file");
    return list_text(parts);
  }

  // Problems that depend on this machine, not on the file.
  void warn(const JsoncMember& source, std::string_view key, std::string words) {
    const JsoncValue* value = source.value.find(key);
    const JsoncPlace& place = value != nullptr ? value->place : source.place;
    config_.problems.push_back({Problem::Severity::warning, place.line, place.column, std::move(words)});
  }

  void print_problems(const std::string& file) {
    std::ranges::stable_sort(config_.problems, {},
                             [](const Problem& one) { return std::pair{one.line, one.column}; });
    const auto errors = static_cast<std::size_t>(
        std::ranges::count(config_.problems, Problem::Severity::error, &Problem::severity));
    const std::size_t warnings = config_.problems.size() - errors;
    if (config_.problems.empty()) return say("\nno problems");
    say("");
    for (const Problem& problem : config_.problems) {
      const bool error = problem.severity == Problem::Severity::error;
      std::string text = on_one_line(problem_text(file, problem));
      const std::string_view word = error ? ": error: " : ": warning: ";
      const auto at = text.find(word, file.size());
      if (at != std::string::npos)
        text.replace(at, word.size(),
                     fmt::format(": {} ", error ? paint_.red("error:") : paint_.yellow("warning:")));
      say(text);
    }
    auto count = [](std::size_t number, std::string_view what) {
      return number == 0 ? std::string() : counted(number, what);
    };
    say(fmt::format("\n{}{}{}", count(errors, "error"), errors > 0 && warnings > 0 ? ", " : "",
                    count(warnings, "warning")));
  }

  LoadedConfig config_;
  Paint paint_;
};

}  // namespace

int check_config(const std::string& file) {
  const auto found = find_config(file);
  if (!found) {
    std::fprintf(stderr, "mcpivot: %s\n", found.error().c_str());
    return 1;
  }
  Report report(load_config(*found));
  report.print(*found);
  return report.has_errors() ? 1 : 0;
}

}  // namespace mcpivot
