// One check of one value against a compiled schema.
//
// A check first asks only whether the value fits, which is quick and nearly always the case; if it doesn't, a
// second pass collects the problems. Both have the same budget of steps.
//
// One thread for each Check; many may share a Program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "schema/program.h"
#include "schema/schema.h"

namespace mcpivot::schema {

// Where a value is: a chain from it up to the root, on the stack.
struct Place {
  enum class Kind { whole, member, item, name };

  const Place* up = nullptr;
  Kind kind = Kind::whole;
  std::string_view member{};
  std::size_t item = 0;

  int depth() const { return up == nullptr ? 0 : up->depth() + 1; }
  // "filters.0.name"
  std::string text(std::string_view whole) const;
};

// The problems of one pass.
struct Report {
  static constexpr std::size_t most = 10;

  struct Problem {
    std::string text;
    int depth;  // of the value that has it
  };
  std::vector<Problem> problems;
  std::size_t more = 0;

  void add(std::string text, int depth);
};

class Check {
 public:
  Check(const Program& program, const Naming& naming) : program_(program), naming_(naming) {}
  Verdict run(const boost::json::value& value);

 private:
  // Which members or items of a value a schema has evaluated. Null: not wanted.
  using Marks = std::vector<bool>;

  // A value, and where to report about it. Without a report, the first problem ends the pass.
  struct Task {
    const boost::json::value& value;
    const Place& place;
    Marks* marks;
    Report* report;
  };

  bool fits(Index node, const Task& task);
  bool fits_node(const Node& node, const Task& task);
  bool fits_itself(const Node& node, const boost::json::value& value);
  bool has_type(Types types, const boost::json::value& value) const;
  bool fits_number(const NumberRules& rules, const boost::json::value& value) const;
  bool is_unique(const boost::json::value& array);
  bool matches(Index pattern, std::string_view text);

  bool fits_array(const ArrayRules& rules, const Task& task);
  bool contains_enough(const ArrayRules& rules, const Task& task);
  bool fits_object(const ObjectRules& rules, const Task& task);
  bool fits_member(const ObjectRules& rules, std::size_t position, const Task& task);
  bool has_what_it_needs(const ObjectRules& rules, const Task& task);
  bool fits_unevaluated(const Node& node, const Task& task);

  bool fits_logic(const LogicRules& rules, const Task& task);
  bool fits_one_of(const std::vector<Index>& nodes, bool exactly_one, const Task& task);
  bool fits_aside(Index node, const Task& task);
  void report_choice(const std::vector<Index>& nodes, const Task& task);

  static constexpr std::uint64_t steps_to_tell = 200;  // reporting a problem costs more than finding it

  // False: the budget is used up.
  bool spend(std::uint64_t steps);
  void give_up(std::string_view why);
  void add(const Task& task, std::string_view what);
  void add_unknown(const ObjectRules& rules, std::string_view name, const Task& task);
  void add_missing(const ObjectRules& rules, std::string_view name, std::string_view because,
                   const Task& task);

  const Program& program_;
  const Naming& naming_;
  std::uint64_t steps_ = 0;
  std::uint64_t most_steps_ = 0;
  int depth_ = 0;
  int choices_ = 0;  // whose closest alternative is being looked for
  std::string_view given_up_{};
};

}  // namespace mcpivot::schema
