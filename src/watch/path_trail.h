// Reports when a path may lead somewhere else than before: something along it (a folder, a symbolic link or
// what a link points to) has appeared, gone or been replaced; or the file at its end was written. Works for a
// path that doesn't exist yet, from the nearest folder that does.
//
// Handlers are called from the event loop and may destroy the object. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "watch/inotify.h"

namespace mcpivot {

class PathTrail final : private Inotify::Listener {
 public:
  // With the event's flags if it was about what the path finally leads to, otherwise with 0.
  using OnEvent = std::function<void(std::uint32_t mask)>;
  using OnProblem = std::function<void(std::string)>;

  // `path` is absolute. `more`: flags to watch at the end of the path, in addition to its appearing and
  // going.
  PathTrail(boost::asio::io_context& loop, std::string path, std::uint32_t more, OnEvent on_event,
            OnProblem on_problem);
  ~PathTrail();
  PathTrail(const PathTrail&) = delete;
  PathTrail& operator=(const PathTrail&) = delete;

 private:
  void follow();
  void on_event(int watch, std::uint32_t mask, std::string_view name) override;
  void on_overflow() override;

  Inotify& inotify_;
  std::string path_;
  std::uint32_t more_;
  OnEvent on_event_;
  OnProblem on_problem_;
  bool told_problem_ = false;
  std::map<int, std::set<std::string, std::less<>>> steps_;  // by watch, the names in that folder that matter
  std::pair<int, std::string> end_{-1, ""};                  // the last step
};

}  // namespace mcpivot
