#include "clitools/cli_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration_text.h"
#include "base/utf8.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_tail = 4 * 1024;

}  // namespace

CliRun::CliRun(boost::asio::io_context& loop, Guard& guard, std::shared_ptr<CapturedOutput> output,
               Handlers handlers)
    : ProgramRun(loop, guard), output_(std::move(output)), handlers_(std::move(handlers)) {}

void CliRun::on_stdout(std::string_view piece) {
  if (output_->flooded()) return;
  output_->add(piece);
  if (output_->flooded())
    stop(fmt::format("was stopped because it printed more than {} bytes", CapturedOutput::most_kept));
}

void CliRun::on_stderr(std::string_view piece) {
  stderr_size_ += piece.size();
  stderr_tail_ += piece;
  if (stderr_tail_.size() > 2 * longest_tail) stderr_tail_.erase(0, stderr_tail_.size() - longest_tail);
  lines_.feed(piece, [this](const std::string& line) { add_stderr_line(line); });
}

void CliRun::add_stderr_line(const std::string& line) {
  if (handlers_.on_stderr_line) handlers_.on_stderr_line(as_utf8(line));
}

void CliRun::on_end(const ProgramRun::Result& result) {
  lines_.rest([this](const std::string& line) { add_stderr_line(line); });
  std::string_view tail = stderr_tail_;
  if (tail.size() > longest_tail) tail.remove_prefix(tail.size() - longest_tail);
  if (tail.size() < stderr_size_) tail.remove_prefix(std::min(tail.find('\n') + 1, tail.size()));
  handlers_.on_done({result, as_utf8(tail)});
}

std::string over_limit(std::chrono::milliseconds limit, std::string_view name) {
  return fmt::format("was stopped after {}, its time limit ({})", duration_text(limit), name);
}

}  // namespace mcpivot
