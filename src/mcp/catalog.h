// What a generation offers: its tools, prompts, resources and resource templates, each item as the
// bytes that the server sent. Comparing two catalogs is how clients and models learn what a restart
// changed.
//
// Plain data. Any thread.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/message.h"

namespace mcpivot {

enum class ListKind : std::uint8_t { tools, prompts, resources, templates };
constexpr std::array all_lists{ListKind::tools, ListKind::prompts, ListKind::resources, ListKind::templates};

// How a kind of list is spelled in MCP.
struct ListWords {
  std::string_view method;        // tools/list
  std::string_view member;        // tools: where the items are in the result
  std::string_view key;           // name: what tells items apart
  std::string_view capability;    // tools: what a server with such a list announces
  std::string_view notification;  // notifications/tools/list_changed
};
const ListWords& words(ListKind kind);

struct Item {
  std::string key;   // its name, URI or URI template, decoded
  std::string json;  // as the server wrote it
  bool operator==(const Item&) const = default;
};

class Catalog {
 public:
  const std::vector<Item>& list(ListKind kind) const { return lists_[static_cast<std::size_t>(kind)]; }
  std::vector<Item>& list(ListKind kind) { return lists_[static_cast<std::size_t>(kind)]; }
  const Item* find(ListKind kind, std::string_view key) const;

  // Adds the items of one page, the result of a list request. Returns the cursor of the next page as JSON
  // text, or nothing at the end.
  std::string add_page(ListKind kind, std::string_view result);

 private:
  std::array<std::vector<Item>, all_lists.size()> lists_;
};

struct ListDiff {
  std::vector<std::string> added, removed, changed;
  std::vector<std::string> how;  // of the first changed items, see item_changes(); the others are only named
  bool empty() const { return added.empty() && removed.empty() && changed.empty(); }
};

struct Diff {
  std::array<ListDiff, all_lists.size()> lists;
  const ListDiff& of(ListKind kind) const { return lists[static_cast<std::size_t>(kind)]; }
  bool empty() const;
  // "tools: +a, ~b (description), -c. prompts: +d."; empty if nothing changed. `shown` gives the name by
  // which a client knows an item.
  using Shown = std::function<std::string(ListKind kind, const std::string& key)>;
  std::string text(const Shown& shown = {}) const;
};

Diff compare(const Catalog& before, const Catalog& after);

// Whether a tool declares that calling it again does no harm.
bool is_safe_to_repeat(const Item& tool);
// Whether it says that it changes nothing and talks to nobody else, so that it may be called without anybody
// asking for it.
bool is_harmless(const Item& tool);

}  // namespace mcpivot
