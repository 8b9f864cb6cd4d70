#include "memory.h"

#include "host/process_table.h"

namespace {

// The kernel's "kB" are 1,024 bytes.
double megabytes(long kb) {
  return static_cast<double>(kb) * 1024 / bytes_per_megabyte;
}

}  // namespace

Memory memory_of(pid_t pid) {
  return {.now = megabytes(host::rss_kb(pid)), .peak = megabytes(host::peak_rss_kb(pid))};
}

std::vector<Helper> helpers_of(pid_t pid, const std::filesystem::path& server) {
  std::vector<Helper> helpers;
  for (const pid_t one : host::descendants_of(pid))
    if (!host::runs_program(one, server))
      helpers.push_back({.name = host::command_name(one), .memory = memory_of(one).now});
  return helpers;
}
