// Reports when one file has been replaced on disk and the new one is complete: a server's executable or
// script, so that the server is swapped after a build that somebody ran elsewhere, or the configuration file.
//
// Complete means: it exists, isn't empty, is executable if the old one was, and has looked the same for
// `quiet` after the last event; its writer has closed it (or it has not changed for ten times as
// long); and an ELF file is as long as its headers say. A file that disappears is not reported; one that
// comes back as another file, or with other content, is. A `touch` is not, if the content had been read by
// then: it is read in slices, some seconds after the start and after each replacement.
//
// Symbolic links are followed, and a link that now points elsewhere is a replacement. Handlers are called
// from the event loop, never from the constructor, and may destroy the watcher. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace mcpivot {

class ReplacementWatcher {
 public:
  static constexpr std::int64_t largest_read = 512LL * 1024 * 1024;  // a larger file's `touch` is reported

  struct Options {
    std::chrono::milliseconds quiet{200};
    std::chrono::milliseconds read_after{5'000};  // the content, to recognise it
  };
  using OnReplaced = std::function<void()>;
  using OnProblem = std::function<void(std::string)>;
  // It is settled again: a replacement has been reported, or there was none.
  using OnSettled = std::function<void()>;

  // The file may be missing; then its appearance is reported.
  ReplacementWatcher(boost::asio::io_context& loop, const std::string& path, Options options,
                     OnReplaced on_replaced, OnProblem on_problem, OnSettled on_settled = {});
  ~ReplacementWatcher();
  ReplacementWatcher(const ReplacementWatcher&) = delete;
  ReplacementWatcher& operator=(const ReplacementWatcher&) = delete;

  // Something happened to the file, and it isn't known yet whether it was replaced. `look`: also count what
  // the kernel has not delivered yet.
  bool unsettled(bool look);
  // The file that is there now is being started: what happened so far is settled.
  void take_up();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mcpivot
