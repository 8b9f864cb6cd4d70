#include "server/trial.h"

#include <fmt/format.h>

#include <utility>

#include "rpc/answers.h"
#include "server/crash_report.h"
#include "server/start_cache.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

}  // namespace

Trial::Trial(World& world, ServerConfig config, User* user)
    : world_(world), user_(user), deadline_(world.timers()) {
  config.passes_stderr = false;
  config_ = std::make_shared<const ServerConfig>(std::move(config));
}

void Trial::start(std::string_view hello, milliseconds patience, std::function<void()> gone) {
  started_ = world_.timers().now();
  hello_ = hello;
  program_ = world_.files().program_of(config_->command);
  gone_ = std::move(gone);
  wait_for_handshake(patience);
  shake_hands(config_->era.value_or(Era::legacy));
}

void Trial::shake_hands(Era era) {
  era_ = era;
  starts_over_ = false;
  auto generation = Generation::start(
      world_, nobody_, config_, {.instance = {}, .birth = ++births_, .number = static_cast<int>(births_)},
      ring_, *this, nullptr);
  if (!generation) {
    settle(std::unexpected(generation.error()));
    return std::exchange(gone_, nullptr)();
  }
  generation_ = std::move(*generation);
  generation_->meet(era, hello_, Era::legacy);
  handshake_ =
      std::make_shared<Handshake>(*generation_, hello_, Era::legacy, std::vector<Replay::Call>(), nullptr);
  const auto keep = handshake_;
  keep->start([] {}, [this](auto outcome) { on_handshake(std::move(outcome)); });
}

void Trial::on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome) {
  if (outcome) {
    settle(std::move(*outcome));
    if (user_ != nullptr && outcome_) return user_->on_ready(*generation_);
  } else if (outcome.error().refused && may_switch_era()) {
    refusal_ = std::move(outcome.error().why);
    starts_over_ = true;
  } else {
    settle(std::unexpected(refusal_.value_or(outcome.error().why)));
  }
  generation_->end();
}

void Trial::wait_for_handshake(milliseconds patience) {
  const bool own_limit = config_->start_timeout < patience;
  deadline_.set(own_limit ? config_->start_timeout : patience, [this, own_limit, patience] {
    if (settled_) return;
    settle(std::unexpected(
        own_limit
            ? fmt::format("it did not finish its handshake within {}", duration_text(config_->start_timeout))
            : fmt::format("it has not finished its handshake after {}", duration_text(patience))));
    generation_->end();
  });
}

void Trial::settle(std::expected<Handshake::Outcome, std::string> outcome) {
  if (std::exchange(settled_, true)) return;
  outcome_ = std::move(outcome);
  took_ = world_.timers().since(started_);
  deadline_.cancel();
  if (outcome_ && outcome_->lists.refusals.empty()) keep_for_next_run();
}

// So that the first client needn't wait for what is known now.
void Trial::keep_for_next_run() const {
  StartCache(world_.files(), *config_, program_, hello_, Era::legacy)
      .save(outcome_->initialize_result, outcome_->lists.catalog);
  const EraCache cache(world_.files(), *config_, program_);
  Eras eras = cache.load();
  eras.of(era_) = true;
  if (refusal_) eras.of(other(era_)) = false;
  cache.save(eras);
}

void Trial::end() {
  if (generation_ && !generation_->dead() && !generation_->ending()) generation_->end();
}

void Trial::on_said(Generation& from, ToClient& said) {
  const Message& request = said.message;
  if (request.kind != Kind::request) return;
  if (user_ != nullptr) return user_->on_question(from, request);
  from.answer(error_answer(request.text(request.id), code::connection_closed, "no client is connected"));
}

void Trial::on_death(Generation& generation, const Backend::Ending& ending) {
  const bool opened = handshake_ && handshake_->opened();
  handshake_.reset();
  if (settled_ && outcome_ && !generation.ending())
    death_ =
        fmt::format("{} after {}", ending.how, duration_text(world_.timers().since(generation.started())));
  std::string why = fmt::format("it {}{}", ending.how, generation.backend().traits().before_ready);
  // Some servers exit at a first message that they don't know.
  if (!starts_over_ && !opened && !ending.unreachable && !ending.from_outside && may_switch_era()) {
    refusal_ = why;
    starts_over_ = true;
  }
  if (starts_over_ && !settled_) return shake_hands(other(era_));
  settle(std::unexpected(refusal_.value_or(std::move(why))));
  std::exchange(gone_, nullptr)();
}

bool Trial::may_switch_era() const {
  return !settled_ && !refusal_ && !config_->era && !config_->cli;
}

// The first failure is the one that is reported.
std::string Trial::stderr_text() const {
  const int told = death_.empty() ? 1 : static_cast<int>(births_);
  return telling_lines(ring_.lines_of(told));
}

}  // namespace mcpivot
