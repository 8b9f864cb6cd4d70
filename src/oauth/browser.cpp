#include "oauth/browser.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "base/command.h"
#include "proc/descriptor_limit.h"
#include "proc/end_now.h"
#include "proc/process.h"

namespace mcpivot {
namespace {

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

// "firefox --new-tab %s"
std::vector<std::string> with_url(std::string_view line, const std::string& url) {
  std::vector<std::string> words;
  bool placed = false;
  while (!line.empty()) {
    std::string word(line.substr(0, line.find(' ')));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (word.empty()) continue;
    if (const auto at = word.find("%s"); at != std::string::npos) {
      word.replace(at, 2, url);
      placed = true;
    }
    words.push_back(std::move(word));
  }
  if (!placed) words.push_back(url);
  return words;
}

bool can_run(const std::vector<std::string>& words) {
  const auto program = find_program({.argv = words, .cwd = {}, .env = {}});
  return program && ::access(program->c_str(), X_OK) == 0;  // a path isn't searched for, and may not exist
}

// Only calls that are safe after a fork.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* program) {
  ::setsid();
  if (const pid_t second = ::fork(); second != 0) end_now(second < 0 ? 127 : 0);  // it isn't our child
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  ::close_range(3, ~0U, 0);
  reset_signals();
  restore_descriptor_limit();
  ::execve(program, argv, environment);
  end_now(127);
}

}  // namespace

std::optional<std::vector<std::string>> browser_command(const std::string& url, const Variable& variable) {
  if (const char* browser = variable("BROWSER"); is_set(browser)) {
    std::string_view rest = browser;
    if (rest == "none") return {};
    while (!rest.empty()) {  // several, the best first
      const std::string_view one = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      auto words = with_url(one, url);
      if (words.size() > 1 && can_run(words)) return words;
    }
    return {};
  }
  if (!is_set(variable("DISPLAY")) && !is_set(variable("WAYLAND_DISPLAY"))) return {};
  std::vector<std::string> words{"xdg-open", url};
  if (!can_run(words)) return {};
  return words;
}

bool open_browser(const std::string& url, const Variable& variable) {
  auto words = browser_command(url, variable);
  if (!words) return false;
  const Command command{.argv = *words, .cwd = {}, .env = {}};
  const auto program = find_program(command);
  if (!program) return false;
  auto environment = environment_of(command);
  const auto argv = exec_pointers(*words);
  const auto variables = exec_pointers(environment);
  const pid_t child = ::fork();
  if (child == 0) become(argv.data(), variables.data(), program->c_str());
  if (child < 0) return false;
  int status = 0;
  ::waitpid(child, &status, 0);  // it forks and ends
  return status == 0;
}

}  // namespace mcpivot
