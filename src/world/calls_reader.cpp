#include "world/calls_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "base/no_signals.h"
#include "journal/journal_reader.h"
#include "journal/kept_calls.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_calls = 500;
constexpr std::size_t most_bytes = 16UL * 1024 * 1024;

// Whether a call can be repeated and compared: it has an answer, all of it was recorded, and it asked the
// client nothing.
bool is_comparable(const RecordedCall& call) {
  const bool ended = call.outcome == RecordedCall::Outcome::ok ||
                     call.outcome == RecordedCall::Outcome::tool_error ||
                     call.outcome == RecordedCall::Outcome::error;
  return ended && call.is_complete && !call.asks && !call.is_redacted && call.asked.empty() &&
         !call.answer.empty() && call.method == "tools/call";
}

// A saved file counts as new calls: whatever was accepted before it was saved no longer counts.
std::chrono::system_clock::time_point saved(const std::string& file) {
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0) return {};
  return std::chrono::system_clock::time_point(std::chrono::seconds(found.st_mtim.tv_sec) +
                                               std::chrono::microseconds(found.st_mtim.tv_nsec / 1000));
}

// `calls`: the oldest first.
void take(const std::vector<RecordedCall>& calls, const std::string& server, RecordedCalls& into) {
  std::size_t bytes = 0;
  for (auto call = calls.rbegin(); call != calls.rend() && into.calls.size() < most_calls; ++call) {
    const bool is_ours = call->server.empty() || call->server == server;
    if (!is_ours || !is_comparable(*call)) continue;
    const std::size_t size = call->arguments.size() + call->answer.size();
    if (bytes + size > most_bytes) continue;
    bytes += size;
    into.calls.push_back({.tool = call->tool,
                          .arguments = call->arguments,
                          .answer = {.is_error = call->is_error, .json = call->answer},
                          .when = call->when});
  }
}

}  // namespace

CallsToCheck read_calls_to_check(const ServerConfig& config) {
  RecordedCalls recorded;
  if (config.verify.from_journal()) {
    std::error_code error;
    const auto journals = JournalReader::open();
    if (!journals) {  // there is none yet
      recorded.why_none = journals.error();
      return recorded;
    }
    const auto calls = journals->calls({.of_server = config.name,
                                        .folder = std::filesystem::current_path(error).string(),
                                        .with_own = false,
                                        .most = most_calls,
                                        .most_bytes = most_bytes});
    if (!calls) return std::unexpected(calls.error());
    take(*calls, config.name, recorded);
    return recorded;
  }
  auto kept = read_kept_calls(config.verify.calls);
  if (!kept) return std::unexpected(std::move(kept.error()));
  recorded.ignore = std::move(kept->ignore);
  for (RecordedCall& call : kept->calls) call.when = saved(config.verify.calls);
  take(kept->calls, config.name, recorded);
  return recorded;
}

// A thread that hangs, because the file is on a disk that doesn't answer, must not keep mcpivot from ending:
// it is left behind, and finds that the loop is gone.
struct CallsReader::Way {
  std::mutex mutex;
  boost::asio::io_context* loop;
};

CallsReader::CallsReader(boost::asio::io_context& loop) : way_(std::make_shared<Way>()) {
  way_->loop = &loop;
}

CallsReader::~CallsReader() {
  const std::lock_guard lock(way_->mutex);
  way_->loop = nullptr;
}

void CallsReader::read(const ServerConfig& config, std::function<void(CallsToCheck)> then) {
  const auto tell = [way = way_, then = std::move(then)](CallsToCheck calls) {
    const std::lock_guard lock(way->mutex);
    if (way->loop == nullptr) return;
    boost::asio::post(*way->loop, [way, then, calls = std::move(calls)]() mutable {
      if (way->loop != nullptr) then(std::move(calls));
    });
  };
  try {
    const NoSignals signals_are_for_the_loop;
    std::thread([config, tell] {
      CallsToCheck calls = std::unexpected("they can't be read");
      try {
        calls = read_calls_to_check(config);
      } catch (const std::exception& error) {
        calls = std::unexpected(error.what());
      }
      tell(std::move(calls));
    }).detach();
  } catch (const std::exception& error) {
    tell(std::unexpected(error.what()));
  }
}

}  // namespace mcpivot
