// What a program printed: all of it up to a limit; beyond that, its beginning and its end, while the whole
// goes to a file.
//
// One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "clitools/kept_files.h"

namespace mcpivot {

class CapturedOutput {
 public:
  // The most that the file holds.
  static constexpr std::size_t most_kept = 256UL * 1024 * 1024;

  // Without `files`, the middle of what is over the limit is lost. `name` is for the file.
  CapturedOutput(std::size_t limit, std::shared_ptr<KeptFiles> files, std::string name);
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  void add(std::string_view piece);

  std::size_t size() const { return size_; }
  // More than the file holds; the program should be stopped.
  bool flooded() const { return size_ > most_kept; }
  bool cut() const { return size_ > limit_; }
  // The exact bytes, if nothing was cut.
  const std::string& whole() const { return text_; }
  // Always UTF-8. If the middle is missing, it says how much, and where the whole is.
  std::string text() const;

 private:
  void write(std::string_view piece);
  void close();

  std::size_t limit_;
  std::shared_ptr<KeptFiles> files_;
  std::string name_;
  std::size_t size_ = 0;
  std::string text_;  // all of it, or its beginning
  std::string tail_;  // its end, if it is cut
  int file_ = -1;
  std::string path_;
  std::string trouble_;  // why there is no file, or not all of it
};

}  // namespace mcpivot
