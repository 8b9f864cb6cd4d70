// Checks a generation before it serves: it gets recorded calls that are safe to repeat, and its answers are
// compared with the recorded ones. No client sees any of it.
//
// A call is safe if its tool says that it only reads and talks to nobody else, or if the user listed it. All
// of them together have a limited time; what has no answer by then is cancelled, and counted.
//
// Belongs to the caller that waits for its end, and may be dropped at any time: it then ends silently. One
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/server_config.h"
#include "mcp/catalog.h"
#include "server/checked_call.h"
#include "server/generation.h"
#include "server/world.h"

namespace mcpivot {

// Whether a tool may be called without anybody having asked for it.
class SafeTools {
 public:
  explicit SafeTools(const std::vector<std::string>& patterns);
  bool has(const Item& tool) const;

 private:
  struct Listed;
  std::shared_ptr<const Listed> listed_;
};

struct CheckReport {
  struct Difference {
    CheckedCall call;   // with the recorded answer
    Answer now{};       // what it answers instead
    AnswerDiff diff{};  // empty: the tool is gone
    bool is_gone() const { return diff.same(); }
  };
  std::size_t same = 0;
  std::vector<Difference> differ{};
  std::size_t late = 0;  // had no answer in time
  std::size_t unsafe = 0;
  std::chrono::milliseconds budget{0};
  std::string trouble{};    // why there was nothing to compare with; empty: there was
  bool unreadable = false;  // because of an error, and not because there are no recorded calls yet
  // Whether a gate may let the build through.
  bool passes() const { return differ.empty() && !unreadable; }

  // "12 of 14 recorded calls answer the same, 2 differ; 1 not checked (no answer within 2 s)."
  std::string summary() const;
  // The same, and the first differences in lines of their own. `with_values`: also what was asked and
  // answered, which may be another client's.
  std::string text(bool with_values) const;
};

class Verification : public std::enable_shared_from_this<Verification> {
 public:
  using OnDone = std::function<void(CheckReport)>;
  // Whether the user lets a tool be called at all.
  using MayCall = std::function<bool(const std::string& tool)>;

  // `before` and `now`: what the earlier generation offers, and this one. All must outlive it.
  Verification(Generation& generation, const Catalog& before, const Catalog& now,
               const AcceptedAnswers& accepted, MayCall may_call, Timers& timers);
  void start(World& world, OnDone on_done);

 private:
  void begin(CallsToCheck calls);
  void cannot_read(std::string why);
  void select(std::vector<CheckedCall> calls);
  void send();
  void on_answer(const CheckedCall& call, const Message& answer);
  void finish();

  Generation& generation_;
  const Catalog& before_;
  const Catalog& now_;
  const AcceptedAnswers& accepted_;
  MayCall may_call_;
  IgnoredPaths ignored_;
  Alarm deadline_;
  OnDone on_done_;
  std::deque<CheckedCall> waiting_;
  std::map<std::int64_t, CheckedCall> asked_;
  CheckReport report_;
  bool begun_ = false;  // the recorded calls are known
};

}  // namespace mcpivot
