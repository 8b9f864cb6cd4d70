// Tells when one file has been replaced on disk, and the new one is whole: a server's executable or script,
// so that the server is swapped after a build that somebody ran elsewhere, or the configuration file.
//
// Whole means: it is there, not empty, as executable as the old one, and has looked the same for `quiet`
// after the last event; whoever created it has closed it (or it has not changed for ten times as long); and
// an ELF file is as long as its headers say. A file that goes is not reported; one that comes back as another
// file, or with other content, is. A `touch` is not, if the content had been read by then: it is read in
// slices, some seconds after the start and after each replacement.
//
// Symbolic links are followed, and a link that comes to point elsewhere is a replacement. Handlers are called
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
    std::chrono::milliseconds read_after{5'000};  // the content, to know it again
  };
  using OnReplaced = std::function<void()>;
  using OnProblem = std::function<void(std::string)>;
  // It is no longer unsettled: a replacement has been reported, or there was none.
  using OnSettled = std::function<void()>;

  // The file may be missing; then its appearing is reported.
  ReplacementWatcher(boost::asio::io_context& loop, const std::string& path, Options options,
                     OnReplaced on_replaced, OnProblem on_problem, OnSettled on_settled = {});
  ~ReplacementWatcher();
  ReplacementWatcher(const ReplacementWatcher&) = delete;
  ReplacementWatcher& operator=(const ReplacementWatcher&) = delete;

  // Something happened to the file, and it isn't known yet whether it was replaced. `look`: what the kernel
  // has not told yet counts, too.
  bool unsettled(bool look);
  // What is there now is being started: what happened so far leaves nothing unsettled.
  void take_up();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mcpivot
