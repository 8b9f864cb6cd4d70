// The fake server's two pipes: lines in, lines out, and every odd way of writing one that a test may request.
// Writes block, as those of most real servers do.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "options.h"

namespace fake {

// Bytes that arrived, taken off in whole lines.
class Lines {
 public:
  // False at the end of the file.
  bool read_from(int fd);
  void take(const std::function<void(std::string_view)>& on_line);

 private:
  std::string buffer_;
  std::size_t searched_ = 0;  // how much of it is known to have no newline
};

class Wire {
 public:
  explicit Wire(const Options& options);

  void result(const boost::json::value& id, const boost::json::value& result);
  void error(const boost::json::value& id, int code, std::string_view message,
             const boost::json::value& data = nullptr);
  void request(const boost::json::value& id, std::string_view method, const boost::json::value& params);
  void notify(std::string_view method, const boost::json::value& params);
  void raw(std::string_view bytes);

  void stop_reading() { stopped_ = true; }  // lines that have already arrived are also dropped
  void close_stdout();

  // Waits until something can be read or `wake` comes, and hands over each whole line that was received.
  // False once stdin has ended (and that matters).
  bool wait(std::optional<std::chrono::steady_clock::time_point> wake,
            const std::function<void(std::string_view)>& on_line);

 private:
  void line(std::string text);
  std::string id_text(const boost::json::value& id) const;
  bool read_stdin(const std::function<void(std::string_view)>& on_line);
  void read_inject();

  const Options& options_;
  bool ended_ = false;    // stdin is at its end
  bool stopped_ = false;  // and this is by choice
  int inject_ = -1;
  int tap_ = -1;
  Lines received_;
  Lines injected_;
};

}  // namespace fake
