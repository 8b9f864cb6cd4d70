// Which server has what, under which name: the one place where the names that clients use and the names that
// servers use meet. Built anew from the servers' catalogs whenever one of them changes.
//
// One thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gateway/member.h"
#include "mcp/catalog.h"
#include "rpc/message.h"

namespace mcpivot {

using Members = std::vector<std::unique_ptr<Member>>;

// About how many tokens so many bytes are: a rough rule for English text and JSON.
constexpr std::size_t tokens_in(std::size_t bytes) {
  return bytes / 4;
}

class Routes {
 public:
  struct Target {
    Member* member;
    std::string own;  // what the server calls it
  };
  using IsReserved = std::function<bool(std::string_view name)>;

  // Names that are reserved are never given to a server's tool.
  void build(const Members& members, Naming naming, const IsReserved& is_reserved);

  // By the name that the client uses; of any server, active or not. Null: there is none.
  const Target* tool(std::string_view name) const { return find(tools_, name); }
  const Target* prompt(std::string_view name) const { return find(prompts_, name); }
  // The active server that has this resource, or a template that fits, or is the only one with resources.
  Member* resource(std::string_view uri) const;

  // What clients call an item of a server's.
  std::string shown(const Member& member, ListKind kind, const std::string& own) const;
  // All tools in order, active or not, each as clients see it.
  struct ListedTool {
    Member* member;
    std::string name;
    std::string json;
  };
  const std::vector<ListedTool>& all_tools() const { return all_tools_; }
  // What a server's tools take in a context, if it is active.
  struct Cost {
    std::size_t tools = 0;
    std::size_t bytes = 0;
    std::size_t tokens() const { return tokens_in(bytes); }
  };
  Cost cost(const Member& member) const;
  // The items of the active servers, in the order of the file, separated by commas: the inside of an answer,
  // in memory that whoever writes it can share.
  Message list(ListKind kind) const;
  // Another number each time that it was built anew.
  std::uint64_t edition() const { return edition_; }
  // What had to be settled, for people to read.
  const std::vector<std::string>& clashes() const { return clashes_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Table = std::unordered_map<std::string, Target, Hash, std::equal_to<>>;

  static const Target* find(const Table& table, std::string_view name) {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  void add_named(ListKind kind, Table& table, const Members& members, const IsReserved& is_reserved);
  void add_resources(const Members& members);
  void append(ListKind kind, const std::string& json);

  std::uint64_t edition_ = 0;
  Naming naming_ = Naming::prefixed;
  Table tools_;
  Table prompts_;
  // A server's own names, and how clients see them.
  using Names = std::unordered_map<const Member*, std::unordered_map<std::string, std::string>>;
  Names shown_tools_;
  Names shown_prompts_;
  std::unordered_map<std::string, Member*, Hash, std::equal_to<>> resources_;
  std::vector<std::pair<std::string, Member*>> templates_;
  std::vector<Member*> with_resources_;
  std::vector<ListedTool> all_tools_;
  struct List {
    BufferRef buffer;
    std::size_t size = 0;
  };
  std::array<List, all_lists.size()> lists_;
  std::vector<std::string> clashes_;
};

// "server__tool", in the letters and the length that every client takes.
std::string prefixed_name(std::string_view server, std::string_view tool);

// Whether a URI is one that a URI template (RFC 6570) can stand for, as far as its literal parts tell.
bool fits_template(std::string_view uri, std::string_view pattern);

}  // namespace mcpivot
