// The process table as /proc shows it, for tests and benchmarks: which processes are alive, who started whom,
// and what a process uses. Needs no library. Any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace host {

// A zombie is not alive, here and below.
bool process_alive(pid_t pid);
bool process_at_rest(pid_t pid);  // asleep, or not alive
std::vector<pid_t> processes_in_group(pid_t group);
std::vector<pid_t> children_of(pid_t pid);
std::vector<pid_t> descendants_of(pid_t pid);  // parents before their children

std::string command_name(pid_t pid);
bool runs_program(pid_t pid, const std::filesystem::path& program);
long rss_kb(pid_t pid);
long peak_rss_kb(pid_t pid);    // the most it ever was
long bytes_written(pid_t pid);  // to anywhere, so far
std::size_t open_fds(pid_t pid);

}  // namespace host
