#include "world/calls_reader.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "journal/journal_reader.h"
#include "journal/kept_calls.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_calls = 500;
constexpr std::size_t most_bytes = 16UL * 1024 * 1024;

// What can be compared: a call that came to something, in one piece, without a client's help.
bool is_comparable(const RecordedCall& call) {
  const bool ended = call.outcome == RecordedCall::Outcome::ok ||
                     call.outcome == RecordedCall::Outcome::tool_error ||
                     call.outcome == RecordedCall::Outcome::error;
  return ended && call.is_complete && !call.is_redacted && call.asked.empty() && !call.answer.empty() &&
         call.method == "tools/call";
}

// `calls`: the oldest first.
void take(const std::vector<RecordedCall>& calls, const std::string& server, RecordedCalls& into) {
  std::size_t bytes = 0;
  for (auto call = calls.rbegin(); call != calls.rend() && into.calls.size() < most_calls; ++call) {
    const bool is_ours = call->server.empty() || call->server == server;
    if (!is_ours || !is_comparable(*call)) continue;
    bytes += call->arguments.size() + call->answer.size();
    if (bytes > most_bytes) return;
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
    const auto journals = JournalReader::open();
    if (!journals) return std::unexpected(journals.error());
    const auto calls = journals->calls({.server = config.name, .with_own = false, .most = most_calls});
    if (!calls) return std::unexpected(calls.error());
    take(*calls, config.name, recorded);
    return recorded;
  }
  auto kept = read_kept_calls(config.verify.calls);
  if (!kept) return std::unexpected(std::move(kept.error()));
  recorded.ignore = std::move(kept->ignore);
  take(kept->calls, config.name, recorded);
  return recorded;
}

void CallsReader::read(const ServerConfig& config, std::function<void(CallsToCheck)> then) {
  const std::uint64_t id = ++last_;
  // Signals are the event loop's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    threads_.emplace(id, std::jthread([this, id, config, then, weak = std::weak_ptr(alive_)] {
                       CallsToCheck calls = std::unexpected("they can't be read");
                       try {
                         calls = read_calls_to_check(config);
                       } catch (const std::exception& error) {
                         calls = std::unexpected(error.what());
                       }
                       boost::asio::post(loop_, [this, id, then, weak, calls = std::move(calls)]() mutable {
                         if (weak.expired()) return;
                         threads_.erase(id);
                         then(std::move(calls));
                       });
                     }));
  } catch (const std::exception& error) {
    boost::asio::post(loop_, [then, weak = std::weak_ptr(alive_), why = std::string(error.what())] {
      if (!weak.expired()) then(std::unexpected(why));
    });
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace mcpivot
