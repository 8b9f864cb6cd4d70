#include "watch/inotify.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "base/descriptor.h"
#include "log/last_resort.h"

namespace mcpivot {
namespace {

std::string setting(const std::string& name) {
  std::string value;
  std::ifstream("/proc/sys/fs/inotify/" + name) >> value;
  return "fs.inotify." + name + (value.empty() ? "" : " = " + value);
}

}  // namespace

Inotify& Inotify::of(boost::asio::io_context& loop) {
  return boost::asio::use_service<Inotify>(loop);
}

Inotify::Inotify(boost::asio::io_context& loop) : service(loop), descriptor_(loop) {}

void Inotify::shutdown() {
  watches_.clear();
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

bool Inotify::open() {
  if (descriptor_.is_open()) return true;
  Descriptor descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (descriptor.get() < 0) return false;
  boost::system::error_code error;
  descriptor_.assign(descriptor.get(), error);
  if (error) {
    errno = error.value();
    return false;
  }
  descriptor.release();
  ++opened_;
  return true;
}

std::expected<int, int> Inotify::add(Listener& listener, const std::string& path, std::uint32_t mask) {
  if (!open()) return std::unexpected(errno);
  const int watch = ::inotify_add_watch(descriptor_.native_handle(), path.c_str(), mask | IN_MASK_ADD);
  if (watch < 0) {
    const int error = errno;
    stop_if_unused();
    return std::unexpected(error);
  }
  if (Subscription* known = find(watch, &listener))
    known->mask |= mask;
  else
    watches_[watch].push_back({&listener, mask});
  wait();
  return watch;
}

void Inotify::remove(Listener& listener, int watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  std::erase_if(found->second, [&](const Subscription& one) { return one.listener == &listener; });
  if (!found->second.empty()) return;
  watches_.erase(found);
  ::inotify_rm_watch(descriptor_.native_handle(), watch);
  stop_if_unused();
}

void Inotify::stop_if_unused() {
  if (!watches_.empty() || !descriptor_.is_open()) return;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

void Inotify::wait() {
  if (waiting_ || !descriptor_.is_open()) return;
  waiting_ = true;
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code&) {
                           waiting_ = false;
                           survive("file watch", [this] { drain(); });
                           wait();
                         });
}

void Inotify::drain() {
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  const unsigned opened = opened_;
  // In a flood of events the loop has other things to do too; the rest waits in the kernel.
  for (int turns = 0; turns < 64 && descriptor_.is_open(); ++turns) {
    const ssize_t size = ::read(descriptor_.native_handle(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += sizeof(inotify_event) + event->len;
      deliver(*event);
      if (opened_ != opened) return;
    }
  }
}

void Inotify::deliver(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    std::set<Listener*> all;
    for (const auto& [watch, subscriptions] : watches_)
      for (const Subscription& one : subscriptions) all.insert(one.listener);
    for (Listener* listener : all) {
      const bool still_there =
          std::ranges::any_of(watches_, [&](const auto& entry) { return find(entry.first, listener); });
      if (still_there) listener->on_overflow();
    }
    return;
  }
  const auto found = watches_.find(event.wd);
  if (found == watches_.end()) return;
  const std::vector<Subscription> subscriptions = found->second;
  const bool ended = (event.mask & IN_IGNORED) != 0;
  if (ended) watches_.erase(found);
  const std::string_view name = event.len > 0 ? event.name : "";
  for (const Subscription& one : subscriptions) {
    if (!ended && (find(event.wd, one.listener) == nullptr || (event.mask & one.mask & IN_ALL_EVENTS) == 0))
      continue;
    one.listener->on_event(event.wd, event.mask, name);
  }
}

Inotify::Subscription* Inotify::find(int watch, const Listener* listener) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return nullptr;
  const auto one = std::ranges::find(found->second, listener, &Subscription::listener);
  return one == found->second.end() ? nullptr : &*one;
}

std::string Inotify::problem(int error, const std::string& path) {
  if (error == ENOSPC)
    return "cannot watch '" + path + "' and what comes after it: the system's limit of watched folders (" +
           setting("max_user_watches") +
           ") is reached. Watch less (a narrower --watch, folders in .gitignore) or raise the limit: "
           "sudo sysctl fs.inotify.max_user_watches=524288";
  if (error == EMFILE || error == ENFILE)
    return "cannot watch '" + path + "': the system's limit of watchers (" + setting("max_user_instances") +
           ") or of open files is reached. Close other programs that watch files, or raise the limit: "
           "sudo sysctl fs.inotify.max_user_instances=512";
  return "cannot watch '" + path + "': " + std::strerror(error) + "; changes there go unnoticed";
}

}  // namespace mcpivot
