#include "plan.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

namespace chaos {
namespace {

// The standard library's distributions differ between libraries; a seed's must not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t number() { return static_cast<std::uint32_t>(engine_() >> 32U); }
  long below(long end) { return static_cast<long>(engine_() % static_cast<std::uint64_t>(end)); }

  Action draw(long at, bool is_fault, const std::vector<Kind>& kinds) {
    const long sum = std::accumulate(kinds.begin(), kinds.end(), 0L,
                                     [](long total, const Kind& kind) { return total + kind.weight; });
    long left = below(sum);
    const Kind* chosen = &kinds.back();
    for (const Kind& kind : kinds) {
      if (left < kind.weight) {
        chosen = &kind;
        break;
      }
      left -= kind.weight;
    }
    const auto target = static_cast<std::size_t>(below(static_cast<long>(chosen->targets.size())));
    return {at, is_fault, chosen->what, chosen->targets[target], number()};
  }

 private:
  std::mt19937_64 engine_;
};

constexpr long between_faults = 220;  // on average
// Without some calm, the servers would never be up.
constexpr long storm = 6'000;
constexpr long calm = 2'500;

}  // namespace

std::vector<Action> draw_plan(std::uint64_t seed, long milliseconds, long between_requests,
                              const std::vector<Kind>& requests, const std::vector<Kind>& faults) {
  std::vector<Action> plan;
  Dice dice(seed);
  for (long at = 0; at < milliseconds; at += dice.below(2 * between_requests + 1))
    plan.push_back(dice.draw(at, false, requests));
  for (long at = 500; at < milliseconds && !faults.empty(); at += 1 + dice.below(2 * between_faults))
    if (at % (storm + calm) < storm) plan.push_back(dice.draw(at, true, faults));
  std::ranges::stable_sort(plan, {}, &Action::at);
  return plan;
}

std::string to_text(const std::vector<Action>& plan) {
  std::ostringstream text;
  for (const Action& action : plan)
    text << action.at << (action.is_fault ? " fault " : " request ") << action.what << ' ' << action.target
         << ' ' << action.number << '\n';
  return text.str();
}

std::vector<Action> from_text(std::string_view text) {
  std::vector<Action> plan;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (const auto note = line.find('#'); note != std::string::npos) line.resize(note);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    Action action{};
    std::string kind;
    if (!(words >> action.at >> kind >> action.what >> action.target >> action.number) ||
        (kind != "fault" && kind != "request"))
      throw std::runtime_error("line " + std::to_string(number) + " is no action: " + line);
    action.is_fault = kind == "fault";
    plan.push_back(action);
  }
  std::ranges::stable_sort(plan, {}, &Action::at);
  return plan;
}

}  // namespace chaos
