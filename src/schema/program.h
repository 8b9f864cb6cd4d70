// What a schema is compiled to: plain data, nodes that refer to each other by index.
//
// compile() creates it, check() reads it; nothing changes it in between.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "schema/pattern.h"

namespace mcpivot::schema {

// Deeper schemas can't be compiled, and deeper values aren't checked.
inline constexpr int deepest_value = 256;

using Index = std::uint32_t;
inline constexpr Index none = std::numeric_limits<Index>::max();

// Bits, so that a node may allow several.
using Types = unsigned;
inline constexpr Types null_type = 1, boolean_type = 2, object_type = 4, array_type = 8, number_type = 16,
                       integer_type = 32, string_type = 64;

struct Limits {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool hold(std::uint64_t count) const { return count >= least && count <= most; }
  bool limit() const { return least > 0 || most != std::numeric_limits<std::uint64_t>::max(); }
};

struct NumberRules {
  boost::json::value at_least, at_most, above, below, multiple_of;  // null: no such rule
};

struct StringRules {
  Limits length;  // in code points
  Index pattern = none;
};

struct ArrayRules {
  Limits size;
  bool unique = false;
  std::vector<Index> first;  // nodes of the first items
  Index rest = none;
  Index contains = none;
  Limits containing{.least = 1};
  Index unevaluated = none;
};

struct ObjectRules {
  using Named = std::pair<std::string, Index>;

  Limits size;
  std::vector<Named> properties;               // as declared
  std::vector<Index> by_name;                  // places in `properties`, sorted by name
  std::vector<std::pair<Index, Index>> match;  // pattern and node
  Index additional = none;
  Index names = none;
  Index unevaluated = none;
  std::vector<std::string> required;
  std::vector<std::pair<std::string, std::vector<std::string>>> needs;  // "dependentRequired"
  std::vector<Named> dependent;                                         // "dependentSchemas"
};

// Nodes that apply to the same value.
struct LogicRules {
  Index reference = none;
  Index negated = none;
  Index condition = none, consequence = none, alternative = none;
  std::vector<Index> all, any, one;
};

struct Node {
  bool never = false;  // the schema `false`
  Types types = 0;     // 0: any
  std::optional<std::vector<boost::json::value>> choices;
  std::optional<boost::json::value> constant;
  Index number = none, string = none, array = none, object = none, logic = none;  // places in Program's lists
};

struct Program {
  Index root = none;
  std::vector<Node> nodes;
  std::vector<NumberRules> numbers;
  std::vector<StringRules> strings;
  std::vector<ArrayRules> arrays;
  std::vector<ObjectRules> objects;
  std::vector<LogicRules> logic;
  std::vector<Pattern> patterns;
  std::vector<std::string> notes;
};

std::expected<Program, std::string> compile(const boost::json::value& schema);

// Whether a node leads back to itself without going deeper into the value: a check would never end.
bool has_circle(const Program& program);

// "an integer from 1 to 100": what a node accepts, as far as a few words can say.
std::string words_for(const Program& program, Index node);

}  // namespace mcpivot::schema
