// A program at a pseudo-terminal: what it shows there, and keys pressed at it. Errors are thrown.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness.h"

namespace harness {

struct TerminalOptions {
  // NOLINTBEGIN(readability-redundant-member-init)
  unsigned short columns = 80;
  Environment environment = {};
  std::filesystem::path directory = {};
  // NOLINTEND(readability-redundant-member-init)
};

class Terminal {
 public:
  Terminal(const std::vector<std::string>& command, const TerminalOptions& options);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void press(std::string_view keys);
  // Until it has shown that this many times in all. False at the deadline or the end.
  bool wait_shown(std::string_view part, int times = 1, Deadline deadline = soon());
  // Its end: the status as waitpid returns it, and nothing at the deadline.
  std::optional<int> wait_exit(Deadline deadline = soon());
  // Everything so far, including control sequences, with the line ends of a file.
  std::string shown() const;
  termios mode() const;

 private:
  bool pump(Deadline deadline);

  int master_ = -1;
  pid_t pid_ = -1;
  std::string shown_;
  std::optional<int> status_;
};

// Without colours and movements of the cursor.
std::string plain(std::string_view shown);
// The lines of a text; each as many columns as it has characters.
std::vector<std::string> text_lines(std::string_view text);
std::size_t widest(std::string_view text);

}  // namespace harness
