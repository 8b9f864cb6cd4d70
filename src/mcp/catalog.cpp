#include "mcp/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "mcp/item_changes.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A diff may be long (a server that lost all its tools); a model needs the gist.
constexpr std::size_t most_names = 30;

constexpr std::array<ListWords, all_lists.size()> list_words{{
    {"tools/list", "tools", "name", "tools", "notifications/tools/list_changed"},
    {"prompts/list", "prompts", "name", "prompts", "notifications/prompts/list_changed"},
    {"resources/list", "resources", "uri", "resources", "notifications/resources/list_changed"},
    {"resources/templates/list", "resourceTemplates", "uriTemplate", "resources",
     "notifications/resources/list_changed"},
}};

ListDiff compare(const std::vector<Item>& before, const std::vector<Item>& after) {
  std::unordered_map<std::string_view, const Item*> old;
  for (const Item& item : before) old.emplace(item.key, &item);
  ListDiff diff;
  for (const Item& item : after) {
    auto found = old.find(item.key);
    if (found == old.end()) {
      diff.added.push_back(item.key);
    } else {
      if (found->second->json != item.json) {
        diff.changed.push_back(item.key);
        if (diff.how.size() < most_names) diff.how.push_back(item_changes(found->second->json, item.json));
      }
      old.erase(found);
    }
  }
  for (const Item& item : before)
    if (old.contains(item.key)) diff.removed.push_back(item.key);
  return diff;
}

bool is_true(std::string_view object, std::string_view key) {
  return find_member(object, key) == "true";
}

}  // namespace

const ListWords& words(ListKind kind) {
  return list_words[static_cast<std::size_t>(kind)];
}

const Item* Catalog::find(ListKind kind, std::string_view key) const {
  const auto& items = list(kind);
  auto found = std::ranges::find(items, key, &Item::key);
  return found == items.end() ? nullptr : &*found;
}

std::string Catalog::add_page(ListKind kind, std::string_view result) {
  const std::string_view items = find_member(result, words(kind).member);
  JsonCursor cursor(items);
  cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    const std::string_view item = where.of(items);
    const std::string_view key = find_member(item, words(kind).key);
    if (key.starts_with('"')) list(kind).push_back({string_value(key), std::string(item)});
    return true;
  });
  return std::string(find_member(result, "nextCursor"));
}

bool Diff::empty() const {
  return std::ranges::all_of(lists, &ListDiff::empty);
}

std::string Diff::text(const Shown& shown) const {
  std::string text;
  for (const ListKind kind : all_lists) {
    const ListDiff& diff = of(kind);
    if (diff.empty()) continue;
    std::string names;
    std::size_t count = 0;
    auto add = [&](char sign, const std::vector<std::string>& keys, const std::vector<std::string>& how) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (++count > most_names) continue;
        names +=
            fmt::format("{}{}{}", names.empty() ? "" : ", ", sign, shown ? shown(kind, keys[i]) : keys[i]);
        if (i < how.size() && !how[i].empty()) names += fmt::format(" ({})", how[i]);
      }
    };
    add('+', diff.added, {});
    add('~', diff.changed, diff.how);
    add('-', diff.removed, {});
    if (count > most_names) names += fmt::format(" and {} more", count - most_names);
    const std::string_view label = kind == ListKind::templates ? "resource templates" : words(kind).member;
    text += fmt::format("{}{}: {}.", text.empty() ? "" : " ", label, names);
  }
  return text;
}

Diff compare(const Catalog& before, const Catalog& after) {
  Diff diff;
  for (const ListKind kind : all_lists)
    diff.lists[static_cast<std::size_t>(kind)] = compare(before.list(kind), after.list(kind));
  return diff;
}

bool is_safe_to_repeat(const Item& tool) {
  const std::string_view annotations = find_member(tool.json, "annotations");
  return is_true(annotations, "readOnlyHint") || is_true(annotations, "idempotentHint");
}

bool is_harmless(const Item& tool) {
  const std::string_view annotations = find_member(tool.json, "annotations");
  return is_true(annotations, "readOnlyHint") && find_member(annotations, "openWorldHint") == "false";
}

}  // namespace mcpivot
