// How much memory a subject uses, as the kernel counts it (resident set, /proc/PID/status).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

constexpr double bytes_per_megabyte = 1e6;

struct Memory {
  double now = 0;   // megabytes
  double peak = 0;  // megabytes
};

// Zeros if there is no such process.
Memory memory_of(pid_t pid);

struct Helper {
  std::string name;
  double memory = 0;  // megabytes
};

// The processes below `pid`, except those that run `server`: what a proxy runs for itself.
std::vector<Helper> helpers_of(pid_t pid, const std::filesystem::path& server);
