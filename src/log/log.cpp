#define SPDLOG_FMT_EXTERNAL  // Debian's spdlog has no formatting library of its own; its compiled half is not
                             // needed
#include "log/log.h"

#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/user_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<spdlog::logger> the_logger;

spdlog::level::level_enum library_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
  }
  return spdlog::level::off;
}

constexpr std::size_t file_size = 1024 * 1024;
constexpr std::size_t old_files = 2;
constexpr std::size_t most_troubles = 10;

class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    write_to_stderr(
        fmt::format("mcpivot: {}\n", fmt::string_view(message.payload.data(), message.payload.size())));
  }
  void flush_() override {}
};

class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> print) : print_(std::move(print)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    print_({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  std::function<void(std::string_view)> print_;
};

fs::path log_folder() {
  if (std::string state = state_folder(); !state.empty()) return state;
  std::string temporary = own_temporary_folder();
  if (temporary.empty())
    throw std::runtime_error("there is no home folder, and no folder for temporary files is yours alone");
  return temporary;
}

// A server's name, made safe for a file name.
std::string file_name(std::string name) {
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == '\0'; }, '_');
  return (name.empty() || name[0] == '.' ? "mcpivot" : name) + ".log";
}

spdlog::sink_ptr file_sink(const LogOptions& options) {
  spdlog::file_event_handlers events;
  events.after_open = [](const spdlog::filename_t&, std::FILE* file) { ::fchmod(::fileno(file), 0600); };
  fs::path path = options.file;
  if (path.empty()) {
    const fs::path folder = log_folder();
    if (fs::create_directories(folder)) fs::permissions(folder, fs::perms::owner_all);
    path = folder / file_name(options.name);
  } else if (fs::exists(path) && !fs::is_regular_file(path)) {
    return std::make_shared<spdlog::sinks::basic_file_sink_st>(path);  // /dev/null must not be rotated away
  }
  return std::make_shared<spdlog::sinks::rotating_file_sink_st>(path, file_size, old_files, false, events);
}

// Of the log itself. Each is told once: a full disk fails for every line.
void tell_trouble(const std::string& words) {
  static std::vector<std::string> told;
  if (contains(told, words) || told.size() >= most_troubles) return;
  told.push_back(words);
  write_to_stderr(fmt::format("mcpivot: lines are missing in the log: {}\n", words));
}

}  // namespace

void set_up_log(const LogOptions& options) {
  auto to_stderr = std::make_shared<StderrSink>();
  to_stderr->set_level(spdlog::level::warn);
  auto logger = std::make_shared<spdlog::logger>("mcpivot", to_stderr);
  std::string trouble;
  try {
    logger->sinks().push_back(file_sink(options));
    logger->sinks().back()->set_pattern("%Y-%m-%d %H:%M:%S.%e %P %l %v");
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  logger->set_level(spdlog::level::from_str(options.level));
  logger->flush_on(spdlog::level::trace);
  // The library's own handler would wait for somebody to read stderr.
  logger->set_error_handler(tell_trouble);
  the_logger = std::move(logger);
  if (!trouble.empty()) log_warn("no log file: {}", trouble);
}

void set_up_log(std::function<void(std::string_view)> print) {
  the_logger.reset();
  if (!print) return;
  the_logger = std::make_shared<spdlog::logger>("mcpivot", std::make_shared<FunctionSink>(std::move(print)));
  the_logger->set_level(spdlog::level::debug);
}

bool log_enabled(LogLevel level) {
  return the_logger != nullptr && the_logger->should_log(library_level(level));
}

void log_line(LogLevel level, std::string_view text) {
  the_logger->log(library_level(level), spdlog::string_view_t(text.data(), text.size()));
}

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return;
    // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
    const ssize_t written = ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace mcpivot
