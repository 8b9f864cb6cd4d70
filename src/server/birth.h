// A generation on its way: its server is started, found to accept one protocol era or the other, and brought
// by a Handshake to where its predecessor was. Some servers stick to the era of their first message, so this
// may take two processes.
//
// What follows is its owner's: the swap, or what a failure means. The owner may drop it at any time, also
// from within the functions below; its generation is then the owner's to end. One thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/generation.h"
#include "server/handshake.h"
#include "server/known_eras.h"
#include "server/verification.h"

namespace mcpivot {

class Birth : public std::enable_shared_from_this<Birth> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // The error says why it can't be started.
    virtual std::expected<std::shared_ptr<Generation>, std::string> start_generation(int number) = 0;
    // In whose name the handshake is; empty: no client has come yet.
    virtual const std::string& hello() const = 0;
    virtual Era client_era() const = 0;
    virtual std::shared_ptr<Handshake> make_handshake(Generation& with) const = 0;
    // It has been asked which era it accepts: `known_eras` has what came of it, if anything did.
    virtual void on_era_asked() = 0;
    // It takes longer than allowed.
    virtual void on_birth_overdue() = 0;
    // The handshake is done, or failed in every era that may be tried.
    virtual void on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome) = 0;
    // It was to be started again, for the other era, and can't be.
    virtual void on_start_failed(std::string why) = 0;
  };

  // What is known of a birth from its beginning.
  struct Facts {
    int number;  // of Life
    int generation;
    std::string reason;
    ConfigRef config;
    std::optional<Era> fixed_era{};   // the only one that may be used
    std::optional<FileFacts> file{};  // the program file when it was started
  };
  // How it is checked before it serves; its owner does that.
  struct Check {
    std::shared_ptr<Verification> verification{};
    std::optional<CheckReport> report{};
    bool begun() const { return verification != nullptr || report.has_value(); }
  };

  // The references must outlive it.
  Birth(Owner& owner, KnownEras& eras, Timers& timers, Facts facts);

  // Starts the server. The error says why it can't be started.
  std::expected<void, std::string> start();
  // The handshake, as soon as there are a client and a server to talk to.
  void open();
  // A client wants to know whether the server accepts the modern era, before there is a handshake.
  void ask_era(std::string_view hello);
  // Its process ended. True: that isn't a failure yet.
  bool survives(const Backend::Ending& ending);
  // From now on, it has this long again; or as long as it takes.
  void limit_time();
  void lift_limit() { overdue_.cancel(); }

  const Facts& facts() const { return facts_; }
  const std::shared_ptr<Generation>& generation() const { return generation_; }
  // Null: there is none yet.
  const std::shared_ptr<Handshake>& handshake() const { return handshake_; }
  // Whether the server has accepted an era.
  bool opened() const { return handshake_ && handshake_->opened(); }
  // The era that is used with the server, and why it rejected the other one, if it did.
  Era era() const { return era_; }
  const std::optional<std::string>& refusal() const { return refusal_; }

  Check check{};
  Handshake::Outcome handshake_outcome{};
  int made_up = 0;  // how often it was told what clients had said since its handshake began
  std::array<bool, all_lists.size()> changed{};  // lists that changed since we asked for them

 private:
  enum class Course : std::uint8_t {
    waits,         // for a client or, at first, for its process
    asks_era,      // and no client has done its handshake
    shakes,        // the handshake is under way, or done
    shakes_twice,  // in both eras, because the server doesn't answer
    starts_over    // when its process has ended
  };

  void shake_hands();
  void start(std::shared_ptr<Handshake>& handshake);
  void on_opened(const Handshake& by);
  void on_done(const Handshake& by, std::expected<Handshake::Outcome, Handshake::Failure> outcome);
  std::chrono::milliseconds silence() const;
  void on_silence();
  bool may_switch_era() const { return !facts_.fixed_era && !refusal_ && !eras_.futile(); }
  void switch_era(std::string why);
  void end_to_start_over();
  void start_over();
  void put_question(bool again);
  void on_answer(const Message& answer, bool again);
  void end_asking(bool starts_over);
  const std::string& name() const { return facts_.config->name; }

  Owner& owner_;
  KnownEras& eras_;
  Facts facts_;
  Course course_ = Course::waits;
  std::shared_ptr<Generation> generation_;
  std::shared_ptr<Handshake> handshake_;
  std::shared_ptr<Handshake> other_;  // in the other era
  Era era_ = Era::legacy;
  std::optional<std::string> refusal_;
  std::string era_hello_;       // with which it is asked
  bool was_asked_era_ = false;  // so its process may have treated that as its first message
  Alarm overdue_;
  Alarm silence_;  // it hasn't answered anything
};

}  // namespace mcpivot
