#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

namespace simulation {
namespace {

constexpr auto names = std::to_array<std::string_view>(
    {"fleet",   "trouble", "hup",    "quit",  "disk",    "hello",  "ready",  "call",
     "through", "control", "batch",  "crowd", "ask",     "cancel", "notify", "noise",
     "deaf",    "vanish",  "guest",  "part",  "type",    "leave",  "kill",   "blurt",
     "daemon",  "births",  "builds", "save",  "replace", "slow",   "tongue", "listen"});
static_assert(names.size() == static_cast<std::size_t>(Deed::count));

}  // namespace

Deed deed_called(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::runtime_error(fmt::format("no deed is called \"{}\"", name));
  return static_cast<Deed>(found - names.begin());
}

std::string_view name_of(Deed deed) {
  return names.at(static_cast<std::size_t>(deed));
}

Plan without_guests(const Plan& plan) {
  Plan alone = plan;
  std::erase_if(alone.actions, [](const Action& action) {
    return action.deed == Deed::guest || action.deed == Deed::part ||
           action.server.find('~') != std::string::npos;
  });
  return alone;
}

std::string to_text(const Plan& plan) {
  std::string text = fmt::format("chance {}\n", plan.chance);
  for (const Action& action : plan.actions)
    text += fmt::format("{} {} {} {} {}\n", action.at, name_of(action.deed), action.server, action.number,
                        action.text);
  return text;
}

Plan from_text(std::string_view text) {
  Plan plan;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    if (line.starts_with("chance ")) {
      std::string word;
      words >> word >> plan.chance;
      continue;
    }
    Action action;
    std::string deed;
    if (!(words >> action.at >> deed >> action.server >> action.number))
      throw std::runtime_error(fmt::format("line {}: not AT DEED SERVER NUMBER TEXT: {}", number, line));
    action.deed = deed_called(deed);
    std::getline(words >> std::ws, action.text);
    while (action.text.ends_with(' ')) action.text.pop_back();
    plan.actions.push_back(std::move(action));
  }
  return plan;
}

}  // namespace simulation
