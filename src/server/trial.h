// Starts a server once, as a client would, to see whether it works: it shakes hands, says what it offers, and
// is ended. Unlike an Instance it tries nothing twice but the other protocol era, remembers no earlier run,
// and keeps what the process wrote to stderr to itself.
//
// Whoever has it waits for the end, and looks at the outcome then. One thread.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/handshake.h"
#include "server/world.h"

namespace mcpivot {

class Trial final : private Generation::Owner {
 public:
  // A daemon is connected to; it is neither started nor stopped.
  Trial(World& world, ServerConfig config);

  // `hello` is the params of `initialize`. `gone` is called once, when nothing of the server is left.
  void start(std::string_view hello, std::chrono::milliseconds patience, std::function<void()> gone);

  const ServerConfig& config() const { return *config_; }
  // The error says why it did not get ready, in a sentence.
  const std::expected<Handshake::Outcome, std::string>& outcome() const { return outcome_; }
  // In which it was spoken to, if it got ready.
  Era era() const { return era_; }
  // Until it was ready, or could not be any more.
  std::chrono::milliseconds took() const { return took_; }
  // The telling lines of what it wrote to stderr; empty if it wrote nothing.
  std::string stderr_text() const;

 private:
  void on_answer(const Generation::Requests::Request&, ToClient&) override {}
  void on_said(Generation& from, ToClient& said) override;
  bool clients_full() const override { return false; }
  void on_writable() override {}
  void on_idle(Generation&) override {}
  void on_lost(Generation&, Generation::Open, std::string_view) override {}
  void on_death(Generation& generation, const Backend::Ending& ending) override;

  void shake_hands(Era era);
  bool may_switch_era() const;
  void on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome);
  void wait_for_handshake(std::chrono::milliseconds patience);
  // The first word counts.
  void settle(std::expected<Handshake::Outcome, std::string> outcome);
  void keep_for_next_run() const;

  World& world_;
  Clients nobody_;
  ConfigRef config_;
  OutputRing ring_;
  Alarm deadline_;
  std::string hello_;
  std::optional<FileFacts> program_;    // as it was when it started
  std::optional<std::string> refusal_;  // why it did not take the first era that it was asked in
  Era era_ = Era::legacy;
  bool starts_over_ = false;  // when what was started has ended
  std::shared_ptr<Generation> generation_;
  std::shared_ptr<Handshake> handshake_;
  std::function<void()> gone_;
  Clock::Time started_{};
  std::chrono::milliseconds took_{0};
  std::expected<Handshake::Outcome, std::string> outcome_ = std::unexpected("it has not been started");
  std::uint64_t births_ = 0;
  bool settled_ = false;
};

}  // namespace mcpivot
