#include "mcp/item_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/utf8.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_changes = 4;   // that are listed
constexpr std::size_t longest_name = 40;  // of a member, since servers choose them

using Members = std::map<std::string, std::string_view, std::less<>>;

Members members_of(std::string_view json) {
  Members members;
  JsonCursor cursor(json);
  if (json.starts_with('{'))
    cursor.object([&](const JsonCursor::Key& key) {
      Span value;
      if (!cursor.value(value)) return false;
      members.insert_or_assign(key.escaped ? unescape(key.text) : std::string(key.text), value.of(json));
      return true;
    });
  return members;
}

struct Change {
  char sign;  // '+', '-', or '~' for another value
  std::string name;
  std::string_view before, after;
};

std::vector<Change> compare(std::string_view before, std::string_view after) {
  const Members old = members_of(before), now = members_of(after);
  std::vector<Change> changes;
  for (const auto& [name, value] : now)
    if (!old.contains(name)) changes.push_back({'+', name, {}, value});
  for (const auto& [name, value] : now)
    if (const auto was = old.find(name); was != old.end() && was->second != value)
      changes.push_back({'~', name, was->second, value});
  for (const auto& [name, value] : old)
    if (!now.contains(name)) changes.push_back({'-', name, value, {}});
  return changes;
}

bool is_schema(const Change& change) {
  return change.sign == '~' && (change.name == "inputSchema" || change.name == "outputSchema");
}

// Collects the changes of a whole definition, while there is room.
class Words {
 public:
  void add(std::string_view group, std::string words) {
    if (++count_ > most_changes) return;
    const bool same = !group.empty() && group == group_;
    if (count_ > 1) text_ += same ? ", " : "; ";
    if (!group.empty() && !same) text_ += fmt::format("{}: ", group);
    text_ += words;
    group_ = group;
  }
  std::string take() && { return count_ > most_changes ? text_ + ", …" : std::move(text_); }

 private:
  std::string text_;
  std::string group_;
  std::size_t count_ = 0;
};

std::string signed_name(const Change& change) {
  return change.sign + shown_text(change.name, longest_name);
}

// For members that aren't properties, only the fact that they differ is listed.
std::string plain_name(const Change& change) {
  return change.sign == '~' ? shown_text(change.name, longest_name) : signed_name(change);
}

void tell_schema(const Change& schema, Words& words) {
  for (const Change& change : compare(schema.before, schema.after)) {
    if (change.name == "properties" && change.sign == '~')
      for (const Change& property : compare(change.before, change.after))
        words.add(schema.name, signed_name(property));
  }
  for (const Change& change : compare(schema.before, schema.after))
    if (change.name != "properties" || change.sign != '~') words.add(schema.name, plain_name(change));
}

}  // namespace

std::string item_changes(std::string_view before, std::string_view after) {
  std::vector<Change> changes = compare(before, after);
  // What a caller must know goes first.
  std::ranges::stable_partition(changes, is_schema);
  Words words;
  for (const Change& change : changes) {
    if (is_schema(change)) {
      tell_schema(change, words);
    } else {
      words.add({}, plain_name(change));
    }
  }
  return std::move(words).take();
}

}  // namespace mcpivot
