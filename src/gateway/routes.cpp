#include "gateway/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

#include "base/hash.h"
#include "mcp/initialize.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Clients add a prefix of their own to a name, and some allow no more than 64 characters in total.
constexpr std::size_t longest_name = 48;

std::string in_plain_letters(std::string_view text) {
  std::string plain;
  for (const char c : text)
    plain += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ? c : '_';
  return plain;
}

std::string short_hash(std::string_view text) {
  return fmt::format("{:06x}", content_hash(text) & 0xFFFFFFU);
}

// For a name that is too long, or taken. Always the same for the same server and tool.
std::string hashed_name(std::string_view server, std::string_view tool) {
  const std::string name = in_plain_letters(fmt::format("{}__{}", server, tool));
  const std::string hash = short_hash(fmt::format("{}\n{}", server, tool));
  return fmt::format("{}_{}", name.substr(0, longest_name - hash.size() - 1), hash);
}

// The same object with another value for this member.
std::string with_member(const std::string& object, std::string_view key, std::string_view value) {
  const std::string_view old = find_member(object, key);
  if (old.empty()) return fmt::format(R"({{"{}":{},{})", key, value, object.substr(object.find('{') + 1));
  const auto at = static_cast<std::size_t>(old.data() - object.data());
  return fmt::format("{}{}{}", object.substr(0, at), value, object.substr(at + old.size()));
}

const std::string* value_in(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

std::string base_name(const Member& member, ListKind kind, const std::string& own) {
  const std::string* renamed = kind == ListKind::tools ? value_in(member.entry().tools.rename, own) : nullptr;
  return renamed != nullptr ? *renamed : own;
}

}  // namespace

std::string prefixed_name(std::string_view server, std::string_view tool) {
  const std::string name = in_plain_letters(fmt::format("{}__{}", server, tool));
  return name.size() <= longest_name ? name : hashed_name(server, tool);
}

bool fits_template(std::string_view uri, std::string_view pattern) {
  // The literal parts must appear in this order, the first at the beginning, the last at the end.
  bool at_start = true;
  while (true) {
    const auto brace = pattern.find('{');
    const std::string_view literal = pattern.substr(0, brace);
    const auto found = brace == std::string_view::npos && !at_start && uri.size() >= literal.size()
                           ? uri.size() - literal.size()
                           : uri.find(literal);
    if (found == std::string_view::npos || (at_start && found != 0) ||
        !uri.substr(found).starts_with(literal))
      return false;
    uri.remove_prefix(found + literal.size());
    if (brace == std::string_view::npos) return uri.empty();
    const auto end = pattern.find('}', brace);
    if (end == std::string_view::npos) return false;
    pattern.remove_prefix(end + 1);
    if (pattern.empty()) return true;
    at_start = false;
  }
}

void Routes::build(const Members& members, const IsReserved& is_reserved) {
  forget();
  ++edition_;
  add_named(ListKind::tools, tools_, members, is_reserved);
  add_named(ListKind::prompts, prompts_, members, {});
  for (const Named& tool : tools_.all) {
    Cost& cost = costs_[tool.member];
    ++cost.tools;
    cost.bytes += tool.json.size();
  }
  list_active(members);
}

void Routes::forget() {
  const std::uint64_t edition = edition_;
  *this = Routes();
  edition_ = edition;
}

void Routes::list_active(const Members& members) {
  active_ = {};  // lists that are still being written live on in their buffers
  list_named(ListKind::tools, tools_.all);
  list_named(ListKind::prompts, prompts_.all);
  for (const auto& member : members)
    if (member->active()) add_resources(*member);
}

void Routes::list_named(ListKind kind, const std::vector<Named>& all) {
  std::size_t bytes = 0;
  for (const Named& named : all)
    if (named.member->active()) bytes += named.json.size() + 1;
  if (bytes == 0) return;
  active_.lists[static_cast<std::size_t>(kind)].buffer = new Buffer(bytes);
  for (const Named& named : all)
    if (named.member->active()) append(kind, named.json);
}

void Routes::add_named(ListKind kind, Names& names, const Members& members, const IsReserved& is_reserved) {
  // How many have the same bare name; those with a name of ours count as two.
  std::unordered_map<std::string, int> same;
  auto each = [&](auto&& take) {
    for (const auto& member : members)
      for (const Item& item : member->instance().catalog().list(kind))
        if (kind != ListKind::tools || member->tools().allows(item.key)) take(*member, item);
  };
  const auto is_bare = [](const auto& member) { return member->naming() == Naming::bare; };
  if (std::ranges::any_of(members, is_bare)) {
    each([&](const Member& member, const Item& item) {
      if (member.naming() != Naming::bare) return;
      const std::string name = base_name(member, kind, item.key);
      same[name] += is_reserved && is_reserved(name) ? 2 : 1;
    });
  }
  std::size_t count = 0;
  for (const auto& member : members) count += member->instance().catalog().list(kind).size();
  names.targets.reserve(count);
  names.all.reserve(count);
  each([&](Member& member, const Item& item) {
    const std::string base = base_name(member, kind, item.key);
    const bool bare = member.naming() == Naming::bare;
    const bool clashes = bare && same[base] > 1;
    std::string name = bare && !clashes ? base : prefixed_name(member.name(), base);
    if (clashes)
      name_clashes_.push_back(fmt::format("{} of \"{}\" is called {} here: another one has that name too",
                                          base, member.name(), name));
    if (names.targets.contains(name)) {
      const std::string other = hashed_name(member.name(), base);
      name_clashes_.push_back(
          fmt::format("{} of \"{}\" is called {} here: {} is taken", base, member.name(), other, name));
      name = other;
    }
    names.targets.emplace(name, Target{&member, item.key, quote(item.key)});
    names.shown[&member].emplace(item.key, name);
    std::string json = name == item.key ? item.json : with_member(item.json, "name", quote(name));
    if (kind == ListKind::tools)
      if (const std::string* words = value_in(member.entry().tools.describe, item.key))
        json = with_member(json, "description", quote(*words));
    names.all.push_back({&member, std::move(name), std::move(json)});
  });
}

void Routes::add_resources(Member& member) {
  // Adds it, unless a server has it already.
  auto add = [&](ListKind kind, MembersByText& owners, const Item& item) {
    const auto [owner, is_new] = owners.emplace(item.key, &member);
    if (is_new)
      append(kind, item.json);
    else if (owner->second != &member)
      active_.clashes.push_back(fmt::format("{} is read from \"{}\", though \"{}\" has it too", item.key,
                                            owner->second->name(), member.name()));
    return is_new;
  };
  if (has_capability(member.instance().initialize_result(), "resources"))
    active_.with_resources.push_back(&member);
  const Catalog& catalog = member.instance().catalog();
  for (const Item& item : catalog.list(ListKind::resources))
    add(ListKind::resources, active_.resources, item);
  for (const Item& item : catalog.list(ListKind::templates))
    if (add(ListKind::templates, active_.template_owners, item))
      active_.templates.emplace_back(item.key, &member);
}

void Routes::append(ListKind kind, const std::string& json) {
  List& list = active_.lists[static_cast<std::size_t>(kind)];
  const std::size_t needed = list.size + 1 + json.size();
  if (!list.buffer)
    list.buffer = new Buffer(needed);
  else if (list.buffer->capacity() < needed)
    list.buffer->grow(2 * needed);
  if (list.size > 0) list.buffer->data()[list.size++] = ',';
  std::memcpy(list.buffer->data() + list.size, json.data(), json.size());
  list.size += json.size();
}

Message Routes::list(ListKind kind) const {
  const List& list = active_.lists[static_cast<std::size_t>(kind)];
  Message message;
  if (list.buffer) message.raw = {list.buffer->data(), list.size};
  message.kind = Kind::result;
  message.buffer = list.buffer;
  return message;
}

Member* Routes::resource(std::string_view uri) const {
  if (const auto found = active_.resources.find(uri); found != active_.resources.end()) return found->second;
  for (const auto& [pattern, member] : active_.templates)
    if (pattern == uri || fits_template(uri, pattern)) return member;
  return active_.with_resources.size() == 1 ? active_.with_resources.front() : nullptr;
}

Routes::Cost Routes::cost(const Member& member) const {
  const auto found = costs_.find(&member);
  return found == costs_.end() ? Cost() : found->second;
}

std::vector<std::string> Routes::clashes() const {
  std::vector<std::string> all = name_clashes_;
  all.insert(all.end(), active_.clashes.begin(), active_.clashes.end());
  return all;
}

std::string Routes::shown(const Member& member, ListKind kind, const std::string& own) const {
  if (kind != ListKind::tools && kind != ListKind::prompts) return own;
  const auto& names = (kind == ListKind::tools ? tools_ : prompts_).shown;
  if (const auto of_member = names.find(&member); of_member != names.end())
    if (const auto found = of_member->second.find(own); found != of_member->second.end())
      return found->second;
  // If it is gone, or doesn't exist yet: the name that it would have.
  const std::string base = base_name(member, kind, own);
  return member.naming() == Naming::bare ? base : prefixed_name(member.name(), base);
}

}  // namespace mcpivot
