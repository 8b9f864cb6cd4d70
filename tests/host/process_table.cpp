#include "process_table.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

namespace host {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(pid_t pid) {
  return fs::path("/proc") / std::to_string(pid);
}

// What /proc/PID/stat says after the name, which may contain anything.
struct Stat {
  char state = '\0';
  pid_t parent = 0;
  pid_t group = 0;
};

std::optional<Stat> read_stat(pid_t pid) {
  std::ifstream file(folder_of(pid) / "stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  Stat stat;
  rest >> stat.state >> stat.parent >> stat.group;
  return stat;
}

bool is_alive(const Stat& stat) {
  return stat.state != 'Z' && stat.state != 'X';
}

void for_each_alive(const std::function<void(pid_t, const Stat&)>& look) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (const auto stat = read_stat(pid); stat && is_alive(*stat)) look(pid, *stat);
  }
}

std::vector<pid_t> processes_where(const std::function<bool(const Stat&)>& wanted) {
  std::vector<pid_t> found;
  for_each_alive([&](pid_t pid, const Stat& stat) {
    if (wanted(stat)) found.push_back(pid);
  });
  return found;
}

// The number after "NAME:" in a file of /proc.
long number_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  return 0;
}

}  // namespace

bool process_alive(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && is_alive(*stat);
}

bool process_at_rest(pid_t pid) {
  const auto stat = read_stat(pid);
  return !stat || stat->state == 'S' || !is_alive(*stat);
}

std::vector<pid_t> processes_in_group(pid_t group) {
  return processes_where([&](const Stat& stat) { return stat.group == group; });
}

std::vector<pid_t> children_of(pid_t pid) {
  return processes_where([&](const Stat& stat) { return stat.parent == pid; });
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::multimap<pid_t, pid_t> children;  // a single look, so that the tree is consistent
  for_each_alive([&](pid_t child, const Stat& stat) { children.emplace(stat.parent, child); });
  std::vector<pid_t> found;
  const auto add_children_of = [&](pid_t parent) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  };
  add_children_of(pid);
  for (std::size_t i = 0; i < found.size(); ++i) add_children_of(found[i]);
  return found;
}

std::string command_name(pid_t pid) {
  std::ifstream file(folder_of(pid) / "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

bool runs_program(pid_t pid, const fs::path& program) {
  std::error_code gone;
  return fs::equivalent(folder_of(pid) / "exe", program, gone);
}

long rss_kb(pid_t pid) {
  std::ifstream file(folder_of(pid) / "statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

long peak_rss_kb(pid_t pid) {
  return number_in(folder_of(pid) / "status", "VmHWM");
}

long bytes_written(pid_t pid) {
  return number_in(folder_of(pid) / "io", "wchar");
}

std::size_t open_fds(pid_t pid) {
  std::error_code error;
  const fs::directory_iterator all(folder_of(pid) / "fd", error);
  return error ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace host
