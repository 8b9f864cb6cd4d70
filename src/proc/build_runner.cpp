#include "proc/build_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration_text.h"
#include "base/utf8.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_line = 500;

}  // namespace

void HeadAndTail::add(std::string_view text) {
  const std::string_view first = text.substr(0, each_ - std::min(each_, head_.size()));
  head_ += first;
  tail_ += text.substr(first.size());
  if (tail_.size() > 2 * each_) {  // once in a while, not for every byte
    dropped_ += tail_.size() - each_;
    tail_.erase(0, tail_.size() - each_);
  }
}

std::string HeadAndTail::text() const {
  const std::size_t extra = tail_.size() - std::min(tail_.size(), each_);
  const std::string tail = as_utf8(std::string_view(tail_).substr(extra));
  if (dropped_ + extra == 0) return as_utf8(head_) + tail;
  return fmt::format("{}\n… [{} bytes omitted: only the first and last {} are kept] …\n{}", as_utf8(head_),
                     dropped_ + extra, each_, tail);
}

void BuildRunner::start(const std::string& shell_line, Command where, std::chrono::milliseconds limit) {
  where.argv = {"/bin/sh", "-c", shell_line};
  ProgramRun::start(
      {.command = std::move(where),
       .time_limit = limit,
       .over_limit = fmt::format("was stopped after {}, its time limit", duration_text(limit))});
}

void BuildRunner::take(std::string_view piece) {
  output_.add(piece);
  lines_.feed(piece, [this](std::string_view line) {
    if (handlers_.on_line && !line.empty()) handlers_.on_line(as_utf8(line.substr(0, longest_line)));
  });
}

void BuildRunner::on_end(const ProgramRun::Result& result) {
  handlers_.on_done({result, output_.text()});
}

}  // namespace mcpivot
