#include "server/crash_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace mcpivot {
namespace {

constexpr std::size_t last_lines = 20;
constexpr std::size_t after_trouble = 12;
// Up to 32 lines are told, to each of many callers; a line of minified code tells a model little.
constexpr std::size_t longest_line = 500;

// How programs in various languages announce that they are about to die.
constexpr std::array trouble_words{"panic",
                                   "Traceback (most recent",
                                   "terminate called",
                                   "Exception",
                                   "exception",
                                   "Uncaught",
                                   "uncaught",
                                   "Assertion",
                                   "assertion",
                                   "AddressSanitizer",
                                   "runtime error:",
                                   "UndefinedBehavior",
                                   "ThreadSanit",
                                   "LeakSanitizer",
                                   "fatal error",
                                   "FATAL",
                                   "Fatal",
                                   "Segmentation fault",
                                   "stack overflow",
                                   "Error: "};

bool is_trouble(const std::string& line) {
  return std::ranges::any_of(trouble_words,
                             [&](const char* word) { return line.find(word) != std::string::npos; });
}

std::string beginning(const std::string& line) {
  if (line.size() <= longest_line) return line;
  std::size_t end = longest_line;
  while (end > 0 && continues_character(line[end])) --end;
  return line.substr(0, end) + "…";
}

std::string block(std::string_view title, const std::vector<std::string>& lines, std::size_t from,
                  std::size_t to) {
  std::string text = fmt::format("{}:\n", title);
  for (std::size_t i = from; i < to; ++i) text += fmt::format("  {}\n", beginning(lines[i]));
  return text;
}

std::string times_text(int times) {
  return times == 1 ? "once" : times == 2 ? "twice" : fmt::format("{} times", times);
}

std::string fate_text(const Fate& fate, const KindTraits& traits) {
  if (fate.again == 1) return "The call is safe to repeat, so mcpivot retried it.";
  if (fate.again > 1)
    return fmt::format("{} requests in flight were safe to repeat, so mcpivot retried them.", fate.again);
  if (!fate.reached) return "The call never reached the server and had no effect.";
  return fate.retries == 0 ? fmt::format("{}; mcpivot did not retry it.", traits.unsure)
                           : fmt::format("{}; mcpivot retried it {} and will not retry it again.",
                                         traits.unsure, times_text(fate.retries));
}

std::string logs_text(const ControlNames& tools) {
  return tools.logs.empty() ? std::string() : fmt::format(" {} shows all of its stderr.", tools.logs);
}

}  // namespace

std::string next_line(const NextStep& next) {
  using Saving = NextStep::Saving;
  const ControlNames& tools = next.control;
  std::string text =
      next.on_save == Saving::rebuilds   ? "Next: fix the cause; saving rebuilds it."
      : next.on_save == Saving::restarts ? "Next: fix the cause; saving restarts it."
      : !tools.rebuild.empty()           ? fmt::format("Next: fix the cause, then call {}.", tools.rebuild)
      : next.on_save == Saving::restarts_with_binary
          ? "Next: fix the cause; mcpivot restarts it when its binary changes."
      : !tools.restart.empty() ? fmt::format("Next: fix the cause, then call {}.", tools.restart)
                               : "Next: fix the cause.";
  return text + logs_text(tools);
}

std::string ending_text(const Death& death) {
  return fmt::format("{} after {}", death.how, duration_text(death.after));
}

std::string headline(const Death& death) {
  return fmt::format("\"{}\" ({} {}) {}{}{}", death.server, death.traits->life, death.generation,
                     ending_text(death), death.because.empty() ? "" : ", because ", death.because);
}

std::string telling_lines(const std::vector<std::string>& lines) {
  const std::size_t tail = lines.size() - std::min(lines.size(), last_lines);
  const auto trouble = static_cast<std::size_t>(std::ranges::find_if(lines, is_trouble) - lines.begin());
  std::string text;
  if (trouble < tail)
    text += block("stderr, first sign of trouble", lines, trouble, std::min(trouble + after_trouble, tail));
  if (tail < lines.size()) text += block("stderr, last lines", lines, tail, lines.size());
  return text;
}

std::string crash_report(const Death& death, std::string_view doing, std::optional<Fate> fate) {
  std::string text = fmt::format("[mcpivot] {}", headline(death));
  if (!doing.empty()) text += fmt::format(", while {}", doing);
  text += ".\n";
  if (fate) text += fate_text(*fate, *death.traits) + "\n";
  if (!death.because.empty()) return text;
  if (death.traits->comes_and_goes)
    return text +
           (fate && fate->reached
                ? "Next: check whether the call took effect before you repeat it. mcpivot reconnects by "
                  "itself."
                : "Next: repeat the call. mcpivot reconnects by itself.");
  const std::string lines = telling_lines(death.stderr_lines);
  if (death.tells_stderr) text += lines.empty() ? "It wrote nothing to stderr.\n" : lines;
  text += death.successor != 0 ? fmt::format("Generation {} is serving now.", death.successor)
                               : "It is restarting.";
  if (!death.from_outside) return text + "\n" + next_line(death.next);
  return text + " The signal came from outside the server, so there is nothing to fix in it." +
         logs_text(death.next.control);
}

}  // namespace mcpivot
