// One running subject of the benchmark: an MCP server, or a proxy with the server behind it, and the pipes on
// which we are its client. A Subject owns its process and ends it in its destructor.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// A subject that died, fell silent or answered wrongly. Nothing it does ends the benchmark.
class SubjectError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Subject {
 public:
  explicit Subject(const std::vector<std::string>& command);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  pid_t pid() const { return pid_; }

  // Writes all of `text`. It may block: never have more in transit than the pipes hold.
  void send(std::string_view text);

  // The next line, without its newline. Valid until the next read, with `padding` readable bytes behind it
  // (which simdjson asks for).
  std::string_view read_line();

  // Whether read_line() has something to read by then, even if only half a line.
  bool readable(std::chrono::steady_clock::time_point deadline) const;

  // Reads until `lines` lines have arrived, calling `on_progress(lines so far)` after each read. Returns them
  // all.
  template <typename OnProgress>
  std::string_view read_lines(size_t lines, OnProgress on_progress) {
    begin_reading();
    size_t so_far = 0;
    while (so_far < lines) {
      so_far += count_lines(read_more());
      on_progress(so_far);
    }
    handed_ = filled_;
    return {buffer_.data(), filled_};
  }

  static constexpr size_t padding = 64;

 private:
  void begin_reading();
  std::string_view read_more();
  static size_t count_lines(std::string_view text);

  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::vector<char> buffer_;
  size_t filled_ = 0;  // bytes in the buffer
  size_t handed_ = 0;  // of these, already returned
};

// Makes the reads and writes of every subject fail once 20 s have passed since the last arm(). A timer's
// signal interrupts them, so the measured loops pay no system call for it. install() once, before the first
// subject.
namespace deadline {
void install();
void arm();
}  // namespace deadline
