// The requests of modern clients that a legacy server has not answered yet, and the rounds that some of them
// take. A legacy server asks its questions while a call runs; a modern client is asked in the call's answer.
// So a call that gets a question is *parked*: its client gets the questions as `input_required`, while the
// call stays open at the server, until a retry brings the answers and takes the call's place.
//
// A legacy server doesn't say which call a question belongs to. The question is attached to the oldest
// `tools/call`, `prompts/get` or `resources/read` that is open and not parked; if all are parked, it waits
// for the next round of the oldest. It is refused if there is none, or if that call's own `_meta` doesn't
// allow it.
//
// A retry is recognised by its `requestState`: unguessable, valid for a limited time, bound to the client,
// the method and a digest of the params, and good for one retry. If it isn't accepted, nothing reaches the
// server:
// - a requestState that is unknown, expired, used, or another request's or client's: -32602; a call that it
//   would fit stays parked for the retry that it waits for;
// - an `inputResponses` that isn't an object, or in which a key that was asked appears twice or has
//   a value that can't be an answer to its question: -32602, and the requestState can still be
//   used.
// In an accepted retry, keys that weren't asked for (or that the server has withdrawn) are ignored, and
// questions without an answer are asked again, under a new requestState.
//
// If a call's answer comes while it is parked, it is kept for the retry; the retry's responses still reach
// the server, because the questions may have been another call's. An error -32042 parks a call that the
// server has ended: its retry is a new call.
//
// To the server, a call keeps the id and progress token of its first request. One thread; the ends may call
// back in the middle of a function.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "bridge/log_levels.h"
#include "bridge/question.h"
#include "bridge/round_params.h"
#include "rpc/kept_message.h"

namespace mcpivot {

class ModernCalls {
 public:
  // Beyond this, the oldest call of the client that has the most is given up.
  static constexpr std::size_t most_parked = 64;
  static constexpr std::size_t most_questions = 32;  // of one call; more are refused to the server

  ModernCalls(Bridge::Ends& ends, const Clock& clock, LogLevels& logs, std::chrono::milliseconds patience)
      : ends_(ends), clock_(clock), logs_(logs), patience_(patience) {}

  // A modern request, which the generation knows by this id: goes to the server, or continues a parked call.
  void request(std::int64_t id, const Message& message, std::span<const Edit> edits, std::uint64_t client);
  // The generation cancels this one. False: it isn't one of these.
  bool cancel(std::int64_t id, const Message& cancelled, std::span<const Edit> edits);

  // What the server sends. False: it isn't about any of these.
  bool answer(const Message& message);
  bool progress(const Message& message);
  bool take_back(std::string_view question_id);

  // Whether there is a call that a question of the server can be attached to.
  bool can_carry() const { return carrier() != 0; }
  void ask(Question question);

  // The server won't answer what was sent to it under this id. Returns the generation's id for it, or 0 if it
  // has none; nothing: it isn't one of these.
  std::optional<std::int64_t> lost(std::int64_t id);

  // This request has been answered without the server, which doesn't know it.
  void note_ended(std::int64_t id) { ended_[next_ended_++ % ended_.size()] = id; }

  // The log level that was asked for, if exactly one running request asked for log messages.
  std::optional<int> wanted_log_level() const;

  // Gives up calls whose clients have not come back in time.
  void expire();
  // The same for those of a client that has gone.
  void forget(std::uint64_t client);
  std::size_t parked() const { return states_.size(); }
  std::vector<std::string> states() const;
  bool has_parked(std::string_view request_state) const { return find_state(request_state) != 0; }

 private:
  struct Parking {
    std::string state;
    std::string digest;
    Clock::Time expires{};
    std::uint64_t turn = 0;           // counts parkings, so the lowest is the oldest
    std::vector<Question> questions;  // asked, or waiting for the next round
    KeptMessage answer;               // that came in the meantime
    KeptMessage progress;             // the latest
    bool ended = false;               // by -32042: the server has forgotten it
  };
  struct Call {
    std::int64_t above = 0;  // the generation's id for it; 0 while it is parked
    Method method = Method::other;
    std::uint64_t client = 0;
    std::optional<int> level;  // of log messages
    bool has_token = false;
    std::string lacks;  // a capability for lack of which a question of the server was refused
    KeptMessage asked;  // the latest request for it, if it can carry questions
    std::unique_ptr<Parking> parking;
  };
  using Calls = std::map<std::int64_t, Call>;  // by the id that the server knows; so the oldest comes first
  struct Response {
    std::size_t question;
    std::string_view text;
  };

  void begin(std::int64_t id, const Message& message, std::span<const Edit> edits, std::uint64_t client,
             const RoundParams& params);
  void resume(std::int64_t id, const Message& retry, std::span<const Edit> edits, std::uint64_t client,
              const RoundParams& params);
  // The responses to what was asked, or why they can't be accepted.
  static std::expected<std::vector<Response>, std::string> responses_in(const Message& retry,
                                                                        const RoundParams& params,
                                                                        const std::vector<Question>& asked);
  void call_again(std::int64_t below, std::int64_t id, const Message& retry, std::span<const Edit> edits,
                  std::uint64_t client, const RoundParams& params, bool accepted);
  void release_progress(std::int64_t below);
  void park(std::int64_t below);
  void make_room();
  void give_up(std::int64_t below);
  void deliver(std::int64_t below, Call call, const Message& answer);
  bool ask_for_urls(std::int64_t below, Call& call, const Message& error);
  Call take(Calls::iterator call);
  void hold_answer(std::int64_t below, const Message& answer);

  std::int64_t carrier() const;
  bool is_only_carrier(std::int64_t below) const;
  std::int64_t find_state(std::string_view request_state) const;
  void refuse(std::int64_t id, int code, std::string_view why);
  void say(std::int64_t id, std::string_view answer);
  // Whether the server's messages about this id are no longer wanted.
  bool is_over(std::int64_t id) const;

  Bridge::Ends& ends_;
  const Clock& clock_;
  LogLevels& logs_;
  std::chrono::milliseconds patience_;
  Calls calls_;
  std::map<std::int64_t, std::int64_t> resumed_;             // ids of retries, and the server's ids for them
  std::map<std::string, std::int64_t, std::less<>> states_;  // of parked calls
  std::uint64_t turns_ = 0;
  std::uint64_t keys_ = 0;
  // The ids of the calls that ended last: what the server still sends about them is dropped.
  std::array<std::int64_t, 256> ended_{};
  std::size_t next_ended_ = 0;
};

}  // namespace mcpivot
