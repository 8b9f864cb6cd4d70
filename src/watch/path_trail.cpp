#include "watch/path_trail.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::uint32_t comes_or_goes = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr int most_links = 40;  // the kernel's limit

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : "";
}

}  // namespace

PathTrail::PathTrail(boost::asio::io_context& loop, std::string path, std::uint32_t more, OnEvent on_event,
                     OnProblem on_problem)
    : inotify_(Inotify::of(loop)),
      path_(std::move(path)),
      more_(more),
      on_event_(std::move(on_event)),
      on_problem_(std::move(on_problem)) {
  follow();
}

PathTrail::~PathTrail() {
  for (const auto& [watch, names] : steps_) inotify_.remove(*this, watch);
}

// Each folder is watched before a name in it is looked up, so that nothing happens unseen in between.
void PathTrail::follow() {
  auto old = std::exchange(steps_, {});
  end_ = {-1, ""};
  std::string folder = "/";
  std::string rest = path_;
  int links = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      folder.resize(std::max<std::size_t>(folder.rfind('/'), 1));
      continue;
    }
    const std::uint32_t more = rest.empty() ? more_ : 0;
    const auto watch = inotify_.add(*this, folder, comes_or_goes | more | IN_ONLYDIR);
    if (watch) {
      steps_[*watch].insert(name);
      end_ = {*watch, name};
    } else if (watch.error() != EACCES && watch.error() != ENOENT && watch.error() != ENOTDIR &&
               !std::exchange(told_problem_, true)) {
      on_problem_(Inotify::problem(watch.error(), folder));
    }
    const std::string full = folder == "/" ? "/" + name : folder + "/" + name;
    struct stat info{};
    if (::lstat(full.c_str(), &info) != 0) break;
    if (S_ISLNK(info.st_mode)) {
      const std::string target = target_of(full);
      if (++links > most_links || target.empty()) break;
      if (target.starts_with('/')) folder = "/";
      rest = rest.empty() ? target : target + "/" + rest;
    } else {
      folder = full;
    }
  }
  for (const auto& [watch, names] : old)
    if (!steps_.contains(watch)) inotify_.remove(*this, watch);
}

void PathTrail::on_event(int watch, std::uint32_t mask, std::string_view name) {
  const auto step = steps_.find(watch);
  if (step == steps_.end()) return;
  const bool ended = (mask & IN_IGNORED) != 0;  // the folder is gone
  if (!ended && !step->second.contains(name)) return;
  if (ended) steps_.erase(step);
  if (ended || (mask & comes_or_goes) != 0) follow();
  const bool at_the_end = !ended && end_.first == watch && end_.second == name;
  if (!at_the_end && !ended && (mask & comes_or_goes) == 0) return;
  const OnEvent handler = on_event_;
  handler(at_the_end ? mask : 0);
}

void PathTrail::on_overflow() {
  follow();
  const OnEvent handler = on_event_;
  handler(0);
}

}  // namespace mcpivot
