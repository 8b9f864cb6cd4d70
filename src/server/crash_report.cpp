#include "server/crash_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mcpivot {
namespace {

constexpr std::size_t last_lines = 20;
constexpr std::size_t after_trouble = 12;

// How programs in various languages begin to say that they are about to die.
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

std::string block(std::string_view title, const std::vector<std::string>& lines, std::size_t from,
                  std::size_t to) {
  std::string text = fmt::format("{}:\n", title);
  for (std::size_t i = from; i < to; ++i) text += fmt::format("  {}\n", lines[i]);
  return text;
}

}  // namespace

std::string ending_text(const Death& death) {
  return fmt::format("{} after {}", death.how, duration_text(death.after));
}

std::string headline(const Death& death) {
  return fmt::format("server \"{}\" ({} {}) {}{}{}", death.server, death.manner->life, death.generation,
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

std::string crash_report(const Death& death, std::string_view doing, std::string_view fate) {
  std::string text = fmt::format("[mcpivot] {}", headline(death));
  if (!doing.empty()) text += fmt::format(", while it worked on {}", doing);
  text += ".\n";
  if (!fate.empty()) text += fmt::format("{}\n", fate);
  if (!death.because.empty()) return text;
  if (death.manner->comes_and_goes)
    return text + "Next: look whether it took effect before you call it again; mcpivot connects by itself.";
  const std::string lines = telling_lines(death.stderr_lines);
  if (death.tells_stderr) text += lines.empty() ? "It wrote nothing to stderr.\n" : lines;
  text += "Next: it is being started again; mend the cause";
  const ControlNames& tools = death.control;
  if (!tools.rebuild.empty()) {
    text += fmt::format(" and call {}", tools.rebuild);
  } else if (!tools.restart.empty()) {
    text += fmt::format(", then call {} if it was not picked up", tools.restart);
  }
  text += ".";
  if (!tools.logs.empty()) text += fmt::format(" {} shows all of its stderr.", tools.logs);
  return text;
}

}  // namespace mcpivot
