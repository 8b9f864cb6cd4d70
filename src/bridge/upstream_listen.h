// Keeps one `subscriptions/listen` open at a modern server, for everybody who wants to know about changes.
//
// A listen can't be changed while it is open. When something else is wanted, a new one is opened, and the old
// one is cancelled once the server has acknowledged the new one; so nothing is missed, and duplicates in the
// meantime are dropped.
//
// A listen that the server ends, or that is lost, is reopened: when the server is used, or after 1 s at the
// latest, with a growing delay up to 30 s. One that the server refuses is retried only when the server is
// used, with a growing delay, and never if the server doesn't have the method: there is no loop. The same
// holds for one that was to replace another, which stays in effect meanwhile.
//
// One thread. The owner is called last, and may change what it wants at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mcp/listen_filter.h"
#include "rpc/message.h"

namespace mcpivot {

class UpstreamListen {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void send_listen(std::string_view line) = 0;
    // The listen is in effect, as far as the server honours it. `gap`: there was no listen for a while, so
    // changes may have been missed.
    virtual void on_listening(const ListenFilter& asked, const ListenFilter& honoured, bool gap) = 0;
    // It isn't in effect, because the server refused it, or was lost. What was in effect before still is.
    virtual void on_refused(const ListenFilter& asked, bool refused, int code, std::string_view why) = 0;
    // Call wake() after this time; replaces an earlier request.
    virtual void wake_listen(std::chrono::milliseconds after) = 0;
  };

  // Where the ids of the core's own listens begin, which are numbers: no table of requests counts that far.
  static constexpr std::uint64_t core_ids = 1'000'000'000'000;

  // Its ids are "listen-1" and so on; or, for a connection on which all ids are numbers, those above `base`.
  explicit UpstreamListen(Owner& owner, std::uint64_t base = 0) : owner_(owner), base_(base) {}

  // Sets what is wanted from now on. `meta`: the members of `_meta` that each request must have.
  void want(ListenFilter wanted, std::string_view meta);
  // The same for the list changes that this answer to `server/discover` announces.
  void want_lists(std::string_view discover_result, std::string_view meta);
  const ListenFilter& wanted() const { return wanted_; }
  // The server won't report this one, and it is no longer wanted.
  void give_up(std::string_view uri);
  // Whether one is in effect; and whether the server announces this one's changes in it.
  bool holds() const { return held_.has_value(); }
  bool honours(std::string_view uri) const { return held_ && held_->honoured.uris.contains(uri); }
  // Opens one now, if none is being opened: a caller waits for it.
  void hurry() {
    if (!opening_ && supported_ && !wanted_.empty()) open();
  }
  // Whether none is being opened.
  bool settled() const { return !opening_; }
  // False: the server doesn't know the method.
  bool supported() const { return supported_; }

  enum class Verdict : std::uint8_t {
    foreign,  // not about a subscription of its own
    done,     // handled, or to be dropped
    pass,     // a change for clients, once its subscription id is removed
  };
  Verdict from_server(const Message& message);
  // A request with this id (JSON text) won't be answered. Returns whether it was one of these.
  bool lost(std::string_view id);

  // The server is used, or time has passed. Reopens a listen that has ended, if that is due.
  void use() {
    if (wait_ > 0) [[unlikely]]
      approach();
  }
  void expire();
  // To be called when the owner was asked to.
  void wake();

 private:
  struct Stream {
    std::uint64_t number;
    ListenFilter asked;
    ListenFilter honoured{};  // once it is acknowledged
  };

  // Whether what is in effect is what is wanted.
  bool is_current() const { return held_ && held_->asked == wanted_; }
  void settle();
  void open();
  void cancel(const Stream& stream, std::string_view why);
  void approach();
  void fall_back(bool refused);
  Verdict on_acknowledged(const Message& message);
  void on_ended(std::uint64_t number, int code, std::string_view why, bool refused = false);
  Verdict judge(const Message& message) const;
  // The number in an id of ours (JSON text), or 0.
  std::uint64_t number_of(std::string_view id) const;
  std::string id_of(std::uint64_t number) const;

  Owner& owner_;
  std::uint64_t base_;
  std::string meta_;
  ListenFilter wanted_;
  bool changed_ = false;           // since the last one was opened
  std::optional<Stream> held_;     // acknowledged
  std::optional<Stream> opening_;  // not yet
  std::uint64_t last_number_ = 0;
  bool supported_ = true;
  bool gap_ = false;
  bool refused_ = false;   // the last one
  unsigned failures_ = 0;  // in a row
  unsigned wait_ = 0;      // how many uses or expirations until one is opened again; 0: none is due
};

}  // namespace mcpivot
