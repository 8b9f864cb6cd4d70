#include "world/locked_build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/duration_text.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/user_folders.h"
#include "log/log.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr milliseconds pace{50};
constexpr std::size_t longest_record = 64UL * 1024;

// The canonical folder, so that two paths to it are one; and the environment of the build.
std::string lock_file_for(const Command& where, const std::string& line) {
  const std::string& folder = where.cwd;
  const std::string base = runtime_folder();
  if (base.empty()) return {};
  std::error_code error;
  const auto real = std::filesystem::canonical(absolute_path(folder.empty() ? "." : folder), error);
  const std::string place = error ? folder : real.string();
  std::string all = place + '\0' + line;
  for (const auto& [key, value] : where.env) all += fmt::format("{}{}={}", '\0', key, value);
  return fmt::format("{}/builds/{}.lock", base, sha256(all).substr(0, 32));
}

long long nanoseconds(system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

LockedBuild::LockedBuild(boost::asio::io_context& loop, Guard& guard, const ServerConfig& config,
                         Handlers handlers, LastSave last_save)
    : loop_(loop),
      guard_(guard),
      line_(config.build),
      where_(config.command),
      limit_(config.build_timeout),
      handlers_(std::move(handlers)),
      last_save_(std::move(last_save)),
      lock_(lock_file_for(config.command, config.build)),
      timer_(loop) {}

LockedBuild::~LockedBuild() {
  runner_.reset();  // what it runs ends before another build may begin
}

void LockedBuild::start() {
  asked_ = std::chrono::steady_clock::now();
  if (take_lock() != LockFile::Taken::by_another) return run();
  log_info("the same build is already running in this folder; waiting for it: {}", line_);
  look_later(pace);
}

LockFile::Taken LockedBuild::take_lock() {
  if (lock_.path().empty()) return LockFile::Taken::impossible;
  std::error_code error;
  const auto folder = std::filesystem::path(lock_.path()).parent_path();
  if (std::filesystem::create_directories(folder, error))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const LockFile::Taken taken = lock_.take();
  if (taken == LockFile::Taken::impossible)
    log_warn("cannot make {}: {}; another mcpivot may build at the same time", lock_.path(),
             std::strerror(errno));
  return taken;
}

void LockedBuild::look_later(milliseconds time) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (self && !cancelled) self->look();
  });
}

// The kernel doesn't tell us when a lock becomes free, so we poll.
void LockedBuild::look() {
  const auto waited = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - asked_);
  if (stopped_) return finish({.ok = false, .how = *stopped_, .took = waited, .output = {}});
  if (take_lock() == LockFile::Taken::by_another) {
    if (!std::exchange(told_, true))
      handlers_.on_line("the same build is already running in this folder; waiting for it");
    if (waited < limit_) return look_later(pace);
    return finish(
        {.ok = false,
         .how = fmt::format("waited {} for the same build, which was already running in this folder",
                            duration_text(limit_)),
         .took = waited,
         .output = {}});
  }
  if (auto result = result_of_other()) {
    log_info("that build began after the last save, and is used: {}", line_);
    lock_.release();
    return finish(*result);
  }
  run();
}

void LockedBuild::run() {
  began_ = system_clock::now();
  if (lock_.descriptor() >= 0) [[maybe_unused]]
    const int emptied =
        ::ftruncate(lock_.descriptor(), 0);  // if we die, nobody mistakes the last result for ours
  auto done = [weak = weak_from_this()](const BuildRunner::Result& result) {
    const auto self = weak.lock();
    if (!self) return;
    const Result ours{.ok = result.ok, .how = result.how, .took = result.took, .output = result.output};
    // A build that was stopped or killed says nothing about the sources.
    if (result.how.starts_with("exited ")) self->leave_result(ours);
    self->lock_.release();
    self->finish(ours);
  };
  runner_ = std::make_shared<BuildRunner>(
      loop_, guard_, BuildRunner::Handlers{.on_line = handlers_.on_line, .on_done = std::move(done)});
  runner_->start(line_, where_, limit_);
}

void LockedBuild::stop(const std::string& why) {
  if (runner_) return runner_->stop(why);
  stopped_ = why;
  look_later(milliseconds(0));
}

void LockedBuild::finish(const Result& result) {
  const auto on_done = std::move(handlers_.on_done);
  on_done(result);
}

// "BEGAN OK TOOK\nHOW\nOUTPUT"
void LockedBuild::leave_result(const Result& result) const {
  if (lock_.descriptor() < 0) return;
  const std::string record = fmt::format("{} {} {}\n{}\n{}", nanoseconds(began_), result.ok ? 1 : 0,
                                         result.took.count(), result.how, result.output);
  if (::lseek(lock_.descriptor(), 0, SEEK_SET) != 0 || !write_all(lock_.descriptor(), record))
      [[maybe_unused]]
    const int emptied = ::ftruncate(lock_.descriptor(), 0);
}

std::optional<Build::Result> LockedBuild::result_of_other() {
  const auto saved = last_save_();
  const auto record = read_small_file(lock_.path(), longest_record);
  if (!saved || !record) return std::nullopt;
  std::istringstream text(*record);
  long long began = 0;
  long long took = 0;
  int ok = 0;
  Result result;
  if (!(text >> began >> ok >> took) || text.get() != '\n' || !std::getline(text, result.how))
    return std::nullopt;
  if (began < nanoseconds(*saved)) return std::nullopt;
  result.ok = ok == 1;
  result.took = milliseconds(took);
  result.output.assign(std::istreambuf_iterator<char>(text), {});
  return result;
}

}  // namespace mcpivot
