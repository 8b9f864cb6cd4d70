// The journal of a running mcpivot: on or off, and with which secrets to leave out. While it is off it
// costs nothing; while it is on, its own thread writes it.
//
// One thread, the loop's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "journal/journal_writer.h"
#include "journal/recent_calls.h"
#include "server/clients.h"
#include "world/journal_observer.h"

namespace mcpivot {

class Journal {
 public:
  // All of them must outlive it. `name`: of this mcpivot.
  Journal(boost::asio::io_context& loop, Clients& clients, const Clock& clock, std::string name);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Where the names of clients that are connected already come from.
  using Names = std::function<std::vector<std::pair<ClientId, std::string>>()>;
  void set_names(Names names) { names_ = std::move(names); }

  // What the configuration says; it may have changed. If somebody switched the journal on or off in the
  // meantime, a change of something else doesn't undo that.
  void configure(const GatewayConfig& config);
  // The error says why not.
  std::expected<void, std::string> set(bool on);
  // The same; and which session is being written then.
  std::expected<std::string, std::string> turn(bool on);
  bool is_on() const { return writing_.has_value(); }
  // Of the journal that is being written; empty: none is.
  std::string session() const { return writing_ ? writing_->writer->session() : std::string(); }
  // Writes what waits.
  void close(std::chrono::milliseconds longest);

 private:
  struct Writing {
    std::shared_ptr<JournalWriter> writer;
    std::unique_ptr<JournalObserver> observer;
  };

  // What clients have called, as their models may see it.
  class History final : public CallHistory {
   public:
    std::vector<std::string> last_calls(ClientId client, std::size_t most) const override {
      return calls->last(static_cast<std::uint64_t>(client), most);
    }
    std::shared_ptr<RecentCalls> calls = std::make_shared<RecentCalls>();  // the writer's thread adds to it
  };

  JournalLimits limits() const;

  boost::asio::io_context& loop_;
  Clients& clients_;
  const Clock& clock_;
  const std::string name_;
  Names names_ = [] { return std::vector<std::pair<ClientId, std::string>>(); };
  JournalConfig config_{};
  std::vector<Secret> secrets_;  // of this configuration, and of those before it
  Redactor redactor_;
  History history_;
  std::optional<Writing> writing_;
  std::shared_ptr<JournalWriter> last_;  // which may still be writing
};

}  // namespace mcpivot
