// Starts a server once, as a client would, to see whether it works: it shakes hands, says what it offers, is
// used if there is a user, and is ended. Unlike an Instance it tries nothing twice but the other protocol
// era, remembers no earlier run, and keeps what the process wrote to stderr to itself.
//
// The owner waits for the end, and then looks at the outcome. One thread.
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
  // Uses a server that is ready.
  class User {
   public:
    virtual ~User() = default;
    // Until end() is called, or the server has died.
    virtual void on_ready(Generation& generation) = 0;
    // Its server asks its client something.
    virtual void on_question(Generation& from, const Message& question) = 0;
  };

  // A daemon is connected to; it is neither started nor stopped. Without a user, it is ended when it is
  // ready.
  Trial(World& world, ServerConfig config, User* user = nullptr);

  // `hello` is the params of `initialize`. `gone` is called once, when nothing of the server is left.
  void start(std::string_view hello, std::chrono::milliseconds patience, std::function<void()> gone);

  // It has been used enough.
  void end();
  // How it died while it was used: "was killed by SIGSEGV after 45 ms"; empty: it didn't.
  const std::string& death() const { return death_; }

  const ServerConfig& config() const { return *config_; }
  // The error says why it wasn't ready, in a sentence.
  const std::expected<Handshake::Outcome, std::string>& outcome() const { return outcome_; }
  // The era that was used, if it got ready.
  Era era() const { return era_; }
  // Until it was ready, or had failed.
  std::chrono::milliseconds took() const { return took_; }
  // The relevant lines of its stderr; empty if it wrote nothing.
  std::string stderr_text() const;

 private:
  void on_answer(const Generation::Requests::Request&, ToClient&) override {}
  void on_said(Generation& from, ToClient& said) override;
  bool clients_full(const Generation&) const override { return false; }
  void on_writable() override {}
  void on_idle(Generation&) override {}
  void on_lost(Generation&, Generation::Open, std::string_view) override {}
  void on_death(Generation& generation, const Backend::Ending& ending) override;

  void shake_hands(Era era);
  bool may_switch_era() const;
  void on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome);
  void wait_for_handshake(std::chrono::milliseconds patience);
  // The first outcome counts.
  void settle(std::expected<Handshake::Outcome, std::string> outcome);
  void keep_for_next_run() const;

  World& world_;
  User* user_;
  Clients nobody_;
  ConfigRef config_;
  OutputRing ring_;
  Alarm deadline_;
  std::string hello_;
  std::optional<FileFacts> program_;    // as it was when it started
  std::optional<std::string> refusal_;  // why it rejected the first era
  Era era_ = Era::legacy;
  bool starts_over_ = false;  // when the process has ended
  std::shared_ptr<Generation> generation_;
  std::shared_ptr<Handshake> handshake_;
  std::function<void()> gone_;
  Clock::Time started_{};
  std::chrono::milliseconds took_{0};
  std::expected<Handshake::Outcome, std::string> outcome_ = std::unexpected("it has not been started");
  std::uint64_t births_ = 0;
  std::string death_;
  bool settled_ = false;
};

}  // namespace mcpivot
