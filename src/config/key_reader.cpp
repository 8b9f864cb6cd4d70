#include "config/key_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "config/nearest.h"
#include "config/profile.h"
#include "config/tool_pattern.h"
#include "config/units.h"
#include "glob/glob.h"
#include "mcp/answer_diff.h"
#include "schema/pattern.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

constexpr std::size_t longest_tool_name = 48;
constexpr std::size_t longest_shown = 40;

// What a person wrote, for messages. Strings are shown only where a few fixed words are allowed; elsewhere
// they may be secrets.
std::string shown(const Key& key, const JsoncValue& value) {
  const bool harmless = key.type == KeyType::choice || key.type == KeyType::time ||
                        key.type == KeyType::bytes || key.type == KeyType::count || key.type == KeyType::flag;
  if (value.kind == Kind::boolean) return value.boolean ? "true" : "false";
  if (value.text.size() <= longest_shown) {
    if (value.kind == Kind::number) return value.text;
    if (value.kind == Kind::string && harmless) return fmt::format("\"{}\"", value.text);
  }
  return std::string(kind_text(value.kind));
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_tool_name && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

template <class T>
T& into(const Target& target) {
  return *std::get<T*>(target);
}

void choose(std::size_t which, const Target& target) {
  if (auto* const* index = std::get_if<std::size_t*>(&target)) **index = which;
  if (auto* const* swap = std::get_if<SwapMode*>(&target)) **swap = static_cast<SwapMode>(which);
  if (auto* const* on_save = std::get_if<std::optional<OnSave>*>(&target))
    **on_save = static_cast<OnSave>(which);
  if (auto* const* sharing = std::get_if<std::optional<Sharing>*>(&target))
    **sharing = static_cast<Sharing>(which);
  if (auto* const* start = std::get_if<StartMode*>(&target)) **start = static_cast<StartMode>(which);
  if (auto* const* front = std::get_if<Front*>(&target)) **front = static_cast<Front>(which);
  if (auto* const* era = std::get_if<std::optional<Era>*>(&target))
    **era = which == 0 ? std::nullopt : std::optional(static_cast<Era>(which - 1));
  if (auto* const* through = std::get_if<CallThrough*>(&target)) **through = static_cast<CallThrough>(which);
  if (auto* const* names = std::get_if<Naming*>(&target)) **names = static_cast<Naming>(which);
}

}  // namespace

bool KeyReader::is_note(std::string_view key) {
  return key.starts_with("//") || key.starts_with('_') || key.starts_with('#');
}

std::vector<KeyReader::Given> KeyReader::read(const JsoncValue& object, std::span<const Key> keys,
                                              const std::string& whose, const TargetOf& target_of,
                                              const OnUnknown& on_unknown) {
  refuse_duplicates(object, whose);
  std::vector<Given> given;
  for (const JsoncMember& member : object.members) {
    const Key* key = find_key(keys, member.key);
    if (key == nullptr) {
      if (on_unknown) {
        on_unknown(member);
      } else {
        warn_unknown(member, keys, whose);
      }
      continue;
    }
    if (key->type == KeyType::ignored) continue;
    if (member.value.kind == Kind::null && !strict_ && !key->guards) continue;
    const auto earlier = std::ranges::find(given, key, &Given::key);
    if (earlier != given.end()) {
      if (earlier->name != member.key)
        problems_.error(member.place, fmt::format("\"{}\" means the same as \"{}\" on line {} of {}; "
                                                  "keep one of them",
                                                  member.key, earlier->name, earlier->place.line, whose));
      continue;
    }
    given.push_back({key, member.key, member.place});
    const std::string where = fmt::format("\"{}\" of {}", member.key, whose);
    if (key->type != KeyType::group) {
      read_value(*key, member.value, where, target_of(*key));
    } else if (member.value.kind != Kind::object) {
      refuse(*key, member.value, where);
    } else {
      const bool was_strict = std::exchange(strict_, strict_ || key->guards);
      const auto inner = read(member.value, key->keys, where, target_of);
      strict_ = was_strict;
      given.insert(given.end(), inner.begin(), inner.end());
    }
  }
  return given;
}

void KeyReader::refuse_duplicates(const JsoncValue& object, const std::string& whose) {
  std::map<std::string_view, unsigned> lines;
  for (const JsoncMember& member : object.members) {
    const auto [first, fresh] = lines.emplace(member.key, member.place.line);
    if (!fresh && !is_note(member.key))
      problems_.error(member.place,
                      fmt::format("\"{}\" appears twice in {}, first on line {}; keep one of them",
                                  member.key, whose, first->second));
  }
}

void KeyReader::warn_unknown(const JsoncMember& member, std::span<const Key> keys, const std::string& whose) {
  if (is_note(member.key)) return;
  std::string hint;
  std::vector<std::string_view> names;
  const Key* near = nullptr;
  for (const Key& key : keys) {
    if (problems_.full() && !key.guards) continue;  // the words don't matter any more
    names.push_back(key.name);
    if (find_key(key.keys, member.key) == nullptr) continue;
    hint = fmt::format("; it belongs in \"{}\"", key.name);
    near = &key;
  }
  if (const auto meant = nearest(member.key, names); hint.empty() && !meant.empty()) {
    hint = fmt::format("; did you mean \"{}\"?", meant);
    near = find_key(keys, meant);
  }
  const bool wrong = strict_ || (near != nullptr && near->guards);
  const std::string words =
      fmt::format("unknown key \"{}\" in {}{}{}", member.key, whose, wrong ? "" : " is ignored", hint);
  wrong ? problems_.error(member.place, words) : problems_.warning(member.place, words);
}

void KeyReader::read_value(const Key& key, const JsoncValue& value, const std::string& where,
                           const Target& target) {
  switch (key.type) {
    case KeyType::ignored:
    case KeyType::group:
      return;
    case KeyType::flag:
      if (value.kind != Kind::boolean) return refuse(key, value, where);
      if (auto* const* flag = std::get_if<bool*>(&target)) {
        **flag = value.boolean;
      } else {
        into<std::optional<bool>>(target) = value.boolean;
      }
      return;
    case KeyType::text:
    case KeyType::path:
    case KeyType::calls:
    case KeyType::program: {
      if (value.kind != Kind::string) return refuse(key, value, where);
      auto filled = text(value, where);
      if (!filled) return;
      if (filled->empty() && key.type != KeyType::text)
        return problems_.error(value.place,
                               fmt::format("{} is empty; it must be {}", where, allowed_text(key)));
      const bool path = key.type == KeyType::path ||
                        (key.type == KeyType::calls && *filled != VerifyConfig::journal) ||
                        (key.type == KeyType::program && filled->find('/') != std::string::npos);
      into<std::string>(target) = path ? absolute(std::move(*filled)) : std::move(*filled);
      return;
    }
    case KeyType::tool_globs:
    case KeyType::answer_paths:
    case KeyType::patterns:
    case KeyType::texts:
    case KeyType::choices:
    case KeyType::command:
    case KeyType::replay: {
      if (auto* const* list = std::get_if<std::optional<Texts>*>(&target))
        return read_texts(key, value, where, (*list)->emplace());
      if (key.type != KeyType::replay) return read_texts(key, value, where, into<Texts>(target));
      Texts rules;
      read_texts(key, value, where, rules);
      for (const std::string& rule : rules)
        into<std::vector<ReplayRule>>(target).push_back(parse_replay_rule(rule).value_or(ReplayRule{}));
      return;
    }
    case KeyType::variables:
    case KeyType::headers:
      return read_pairs(key, value, where, into<Pairs>(target));
    case KeyType::tool_names:
    case KeyType::tool_texts: {
      Pairs pairs;
      read_pairs(key, value, where, pairs);
      if (key.type == KeyType::tool_names) check_new_names(value, where, pairs);
      into<Names>(target).insert(pairs.begin(), pairs.end());
      return;
    }
    case KeyType::globs:
      return read_globs(key, value, where, std::get<WatchTarget>(target));
    case KeyType::time:
      if (const auto duration = time(key, value, where)) {
        if (auto* const* limit = std::get_if<std::chrono::milliseconds*>(&target)) {
          **limit = *duration;
        } else {
          into<std::optional<std::chrono::milliseconds>>(target) = *duration;
        }
      }
      return;
    case KeyType::bytes:
    case KeyType::count:
      return read_number(key, value, where, into<std::size_t>(target));
    case KeyType::named:
      return read_profiles(key, value, where, into<std::map<std::string, Profile>>(target));
    case KeyType::choice: {
      if (value.kind != Kind::string) return refuse(key, value, where);
      const auto filled = text(value, where);
      if (!filled) return;
      const auto found = std::ranges::find(key.choices, *filled);
      if (found == key.choices.end()) return refuse(key, value, where);
      return choose(static_cast<std::size_t>(found - key.choices.begin()), target);
    }
  }
}

void KeyReader::read_texts(const Key& key, const JsoncValue& value, const std::string& where, Texts& into) {
  if (value.kind != Kind::array) return refuse(key, value, where);
  into.clear();
  for (const JsoncValue& element : value.elements) {
    if (element.kind != Kind::string) {
      problems_.error(element.place, fmt::format("an element of {} must be a string, not {}", where,
                                                 kind_text(element.kind)));
      continue;
    }
    // A regular expression has dollars of its own.
    auto filled = key.type == KeyType::patterns ? std::optional(element.text) : text(element, where);
    if (!filled) continue;
    if (key.type == KeyType::command && into.empty() && filled->find('/') != std::string::npos)
      filled = absolute(std::move(*filled));
    if (key.type == KeyType::tool_globs) {
      if (const auto pattern = ToolPattern::compile(*filled); !pattern)
        problems_.error(element.place, fmt::format("{}: {}", where, pattern.error()));
    }
    if (key.type == KeyType::answer_paths) {
      if (const auto path = IgnoredPaths::parse({*filled}); !path)
        problems_.error(element.place, fmt::format("{}: {}", where, path.error()));
    }
    if (key.type == KeyType::patterns) {
      if (filled->empty() || !schema::Pattern(*filled).understood())
        problems_.error(element.place, fmt::format("{}: \"{}\" isn't a regular expression that mcpivot "
                                                   "understands (ECMAScript, without \\p{{...}})",
                                                   where, *filled));
    }
    if (key.type == KeyType::choices && std::ranges::find(key.choices, *filled) == key.choices.end())
      problems_.error(element.place, fmt::format("\"{}\" in {} is unknown; it must be {}", *filled, where,
                                                 allowed_text(key)));
    if (key.type == KeyType::replay && !parse_replay_rule(*filled))
      problems_.error(element.place,
                      fmt::format("an element of {} is wrong; it must be {}", where, allowed_text(key)));
    into.push_back(std::move(*filled));
  }
  if (key.type == KeyType::command && (value.elements.empty() || (!into.empty() && into[0].empty())))
    problems_.error(value.place, fmt::format("{} names no program; it must be {}", where, allowed_text(key)));
}

void KeyReader::read_pairs(const Key& key, const JsoncValue& value, const std::string& where, Pairs& into) {
  if (value.kind != Kind::object) return refuse(key, value, where);
  refuse_duplicates(value, where);
  for (const JsoncMember& member : value.members) {
    const std::string inner = fmt::format("\"{}\" in {}", member.key, where);
    const bool variables = key.type == KeyType::variables;
    if (variables &&
        (member.key.empty() || member.key.find_first_of(std::string_view("=\0", 2)) != std::string::npos)) {
      problems_.error(member.place,
                      fmt::format("{}: a variable's name must not be empty or contain '='", inner));
    } else if (variables && member.value.kind == Kind::null) {
      problems_.warning(member.value.place,
                        fmt::format("{}: mcpivot can't unset a variable; it stays as it is", inner));
    } else if (variables && member.value.kind == Kind::boolean) {
      into.emplace_back(member.key, member.value.boolean ? "true" : "false");
    } else if (variables && member.value.kind == Kind::number) {
      into.emplace_back(member.key, member.value.text);
    } else if (member.value.kind != Kind::string) {
      problems_.error(member.value.place,
                      fmt::format("{} must be a string, not {}", inner, shown(key, member.value)));
    } else if (auto filled = text(member.value, inner)) {
      into.emplace_back(member.key, key.type == KeyType::headers ? member.value.text : *filled);
    }
  }
}

void KeyReader::read_globs(const Key& key, const JsoncValue& value, const std::string& where,
                           const WatchTarget& into) {
  if (value.kind == Kind::boolean) {
    *into.watching = value.boolean;
    return;
  }
  auto add = [&](const JsoncValue& element) {
    if (element.kind != Kind::string) return refuse(key, element, where);
    const auto filled = text(element, where);
    if (!filled) return;
    if (const auto glob = Glob::compile(*filled); !glob)
      return problems_.error(element.place, fmt::format("{}: {}", where, glob.error()));
    into.globs->push_back(*filled);
  };
  if (value.kind != Kind::array) return add(value);
  for (const JsoncValue& element : value.elements) add(element);
  *into.watching = !value.elements.empty();
}

// A profile with errors lets nobody in, and neither does /mcp if its profile can't be read.
void KeyReader::read_profiles(const Key& key, const JsoncValue& value, const std::string& where,
                              std::map<std::string, Profile>& into) {
  if (value.kind != Kind::object) {
    into[std::string(default_profile)].broken = true;
    return refuse(key, value, where);
  }
  refuse_duplicates(value, where);
  for (const JsoncMember& member : value.members) {
    const std::size_t errors_before = problems_.errors();
    const std::string whose = fmt::format("profile \"{}\"", member.key);
    Profile profile;
    if (!is_tool_name(member.key))
      problems_.error(member.place,
                      fmt::format("the name of a profile is part of an address: \"{}\" must be 1 to {} "
                                  "letters, digits, '_' and '-'",
                                  member.key, longest_tool_name));
    if (member.value.kind != Kind::object) {
      problems_.error(member.value.place, fmt::format("{} must be an object like {{\"servers\": [\"dev\"]}}, "
                                                      "not {}",
                                                      whose, kind_text(member.value.kind)));
    } else {
      strict_ = true;
      read(member.value, key.keys, whose, [&](const Key& inner) { return inner.in_profile(profile); });
      strict_ = false;
    }
    profile.broken = problems_.errors() != errors_before || into.contains(member.key);
    into.insert_or_assign(member.key, std::move(profile));
  }
}

void KeyReader::read_number(const Key& key, const JsoncValue& value, const std::string& where,
                            std::size_t& into) {
  std::optional<std::uint64_t> number;
  if (key.type == KeyType::bytes && value.kind == Kind::string) {
    const auto filled = text(value, where);
    if (!filled) return;
    number = parse_bytes(*filled);
  } else if (value.kind == Kind::number) {
    std::uint64_t whole = 0;
    const char* end = value.text.data() + value.text.size();
    if (const auto [at, error] = std::from_chars(value.text.data(), end, whole);
        error == std::errc() && at == end)
      number = whole;
  }
  if (!number || *number < key.least || *number > key.most) return refuse(key, value, where);
  into = *number;
}

std::optional<std::chrono::milliseconds> KeyReader::time(const Key& key, const JsoncValue& value,
                                                         const std::string& where) {
  std::optional<std::chrono::milliseconds> result;
  if (value.kind == Kind::string) {
    const auto filled = text(value, where);
    if (!filled) return {};
    result = parse_duration(*filled);
  } else if (value.kind == Kind::number) {
    result = parse_duration(value.text);
  }
  if (!result) refuse(key, value, where);
  return result;
}

// New names must be acceptable to every client, and each must mean one tool.
void KeyReader::check_new_names(const JsoncValue& value, const std::string& where, const Pairs& names) {
  std::map<std::string_view, std::string_view> taken;
  for (const auto& [tool, name] : names) {
    const JsoncValue* at = value.find(tool);
    if (at == nullptr) continue;
    if (!is_tool_name(name)) {
      problems_.error(at->place,
                      fmt::format("\"{}\" in {} must become a name of 1 to {} letters, digits, '_' and '-'",
                                  tool, where, longest_tool_name));
    } else if (const auto [other, fresh] = taken.emplace(name, tool); !fresh) {
      problems_.error(at->place,
                      fmt::format("\"{}\" and \"{}\" in {} become the same name, \"{}\"; change one",
                                  other->second, tool, where, name));
    }
  }
}

std::optional<std::string> KeyReader::text(const JsoncValue& value, const std::string& where) {
  auto filled = fill_in(value.text, surroundings_);
  if (!filled) {
    problems_.error(value.place, fmt::format("{}: {}", where, filled.error()));
    return {};
  }
  if (filled->find('\0') != std::string::npos) {
    problems_.error(value.place, fmt::format("{}: \\u0000 isn't allowed there", where));
    return {};
  }
  return std::move(*filled);
}

std::string KeyReader::absolute(std::string path) const {
  if (path == "~" || path.starts_with("~/"))
    if (const char* home = surroundings_.variable("HOME"); home != nullptr) path.replace(0, 1, home);
  std::string result = (std::filesystem::path(folder_) / path).lexically_normal().string();
  if (result.size() > 1 && result.ends_with('/')) result.pop_back();
  return result;
}

void KeyReader::refuse(const Key& key, const JsoncValue& value, const std::string& where) {
  problems_.error(value.place,
                  fmt::format("{} must be {}, not {}", where, allowed_text(key), shown(key, value)));
}

}  // namespace mcpivot
