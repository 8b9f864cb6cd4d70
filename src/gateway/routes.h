// Which server has what, under which name: the one place where clients' names and servers' names
// meet. Rebuilt from the servers' catalogs whenever one of them changes; the lists for clients are
// reassembled whenever a server is activated or deactivated, which costs no more than copying
// them.
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

// About how many tokens this many bytes are: a rule of thumb for English text and JSON.
constexpr std::size_t tokens_in(std::size_t bytes) {
  return bytes / 4;
}

class Routes {
 public:
  struct Target {
    Member* member;
    std::string own;      // what the server calls it
    std::string spelled;  // the same as JSON
  };
  using IsReserved = std::function<bool(std::string_view name)>;

  // Renames everything, each server's items in its own way, and lists it. Reserved names are never given to a
  // server's tool.
  void build(const Members& members, const IsReserved& is_reserved);
  // Frees everything until it is built again.
  void forget();
  // The same names, but other servers are active.
  void list_active(const Members& members);

  // By the client's name for it; of any server, active or not. Null: there is none.
  const Target* tool(std::string_view name) const { return find(tools_.targets, name); }
  const Target* prompt(std::string_view name) const { return find(prompts_.targets, name); }
  // The active server that has this resource, or a matching template, or is the only one with resources.
  Member* resource(std::string_view uri) const;

  // The clients' name for an item of a server's.
  std::string shown(const Member& member, ListKind kind, const std::string& own) const;
  // A tool or a prompt as clients see it.
  struct Named {
    Member* member;
    std::string name;
    std::string json;
  };
  // All tools in order, active or not.
  const std::vector<Named>& all_tools() const { return tools_.all; }
  // How much of the context a server's tools take up, if it is active.
  struct Cost {
    std::size_t tools = 0;
    std::size_t bytes = 0;
    std::size_t tokens() const { return tokens_in(bytes); }
  };
  Cost cost(const Member& member) const;
  // The items of the active servers, in the order of the file, separated by commas: the content of an answer,
  // in memory that can be shared with the writer.
  Message list(ListKind kind) const;
  // A new number each time everything is renamed.
  std::uint64_t edition() const { return edition_; }
  // The name clashes that had to be resolved, for people to read.
  std::vector<std::string> clashes() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Table = std::unordered_map<std::string, Target, Hash, std::equal_to<>>;
  using MembersByText = std::unordered_map<std::string, Member*, Hash, std::equal_to<>>;

  static const Target* find(const Table& table, std::string_view name) {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : &found->second;
  }
  // The items of one kind that have names, under all their names.
  struct Names {
    Table targets;
    std::vector<Named> all;
    std::unordered_map<const Member*, std::unordered_map<std::string, std::string>>
        shown;  // by their own names
  };

  void add_named(ListKind kind, Names& names, const Members& members, const IsReserved& is_reserved);
  void list_named(ListKind kind, const std::vector<Named>& all);
  void add_resources(Member& member);
  void append(ListKind kind, const std::string& json);

  // What is named; set only by build().
  std::uint64_t edition_ = 0;
  Names tools_;
  Names prompts_;
  std::unordered_map<const Member*, Cost> costs_;
  std::vector<std::string> name_clashes_;

  // What is listed: of the active servers.
  struct List {
    BufferRef buffer;
    std::size_t size = 0;
  };
  struct Active {
    std::array<List, all_lists.size()> lists;
    MembersByText resources;
    MembersByText template_owners;
    std::vector<std::pair<std::string, Member*>> templates;  // in the order they are tried
    std::vector<Member*> with_resources;
    std::vector<std::string> clashes;
  };
  Active active_;
};

// "server__tool", with only the characters and the length that every client accepts.
std::string prefixed_name(std::string_view server, std::string_view tool);

// Whether a URI can match a URI template (RFC 6570), as far as its literal parts tell.
bool fits_template(std::string_view uri, std::string_view pattern);

}  // namespace mcpivot
