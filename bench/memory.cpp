// Reads /proc: the memory of a process and the tree below it.
#include "memory.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>

namespace {

namespace fs = std::filesystem;

fs::path proc_folder(pid_t pid) {
  return fs::path("/proc") / std::to_string(pid);
}

// The value behind "Field:" in /proc/PID/status; empty if there is none.
std::string status_field(pid_t pid, const std::string& field) {
  std::ifstream status(proc_folder(pid) / "status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with(field + ":")) continue;
    std::istringstream rest(line.substr(field.size() + 1));
    std::string value;
    rest >> value;
    return value;
  }
  return {};
}

long number(const std::string& digits) {
  long value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// The kernel's "kB" are 1,024 bytes.
double megabytes(pid_t pid, const std::string& field) {
  return static_cast<double>(number(status_field(pid, field))) * 1024 / bytes_per_megabyte;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const auto pid = static_cast<pid_t>(number(entry.path().filename().string()));
    if (pid > 0 && number(status_field(pid, "PPid")) == parent) children.push_back(pid);
  }
  return children;
}

bool runs(pid_t pid, const fs::path& program) {
  std::error_code problem;
  return fs::equivalent(proc_folder(pid) / "exe", program, problem);
}

}  // namespace

Memory memory_of(pid_t pid) {
  return {.now = megabytes(pid, "VmRSS"), .peak = megabytes(pid, "VmHWM")};
}

std::vector<Helper> helpers_of(pid_t pid, const fs::path& server) {
  std::vector<Helper> helpers;
  for (const pid_t child : children_of(pid)) {
    if (!runs(child, server))
      helpers.push_back({.name = status_field(child, "Name"), .memory = megabytes(child, "VmRSS")});
    for (Helper& helper : helpers_of(child, server)) helpers.push_back(std::move(helper));
  }
  return helpers;
}
