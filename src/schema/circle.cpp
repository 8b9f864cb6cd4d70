#include "schema/program.h"

namespace mcpivot::schema {

bool has_circle(const Program& program) {
  // Removes nodes that lead nowhere, until none is left or the remaining ones lead to each other.
  const auto each_same = [&](const Node& node, const auto& visit) {
    if (node.object != none)
      for (const auto& dependent : program.objects[node.object].dependent) visit(dependent.second);
    if (node.logic == none) return;
    const LogicRules& rules = program.logic[node.logic];
    for (const auto* list : {&rules.all, &rules.any, &rules.one})
      for (const Index one : *list) visit(one);
    for (const Index one :
         {rules.reference, rules.negated, rules.condition, rules.consequence, rules.alternative})
      if (one != none) visit(one);
  };
  std::vector<std::size_t> led_to_by(program.nodes.size());
  for (const Node& node : program.nodes) each_same(node, [&](Index to) { ++led_to_by[to]; });
  std::vector<Index> free;
  for (Index i = 0; i < led_to_by.size(); ++i)
    if (led_to_by[i] == 0) free.push_back(i);
  std::size_t gone = 0;
  for (; !free.empty(); ++gone) {
    const Node& node = program.nodes[free.back()];
    free.pop_back();
    each_same(node, [&](Index to) {
      if (--led_to_by[to] == 0) free.push_back(to);
    });
  }
  return gone < program.nodes.size();
}

}  // namespace mcpivot::schema
