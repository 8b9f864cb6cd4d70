#include "server/birth.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duration_text.h"
#include "log/log.h"
#include "mcp/request_meta.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// A server that hasn't answered for this long is also asked in the other era; or for half of its start
// timeout, if that is less.
constexpr milliseconds longest_silence{5'000};
// A server that is only asked for its era has less time, because a client waits for that.
constexpr milliseconds era_patience{2'000};

}  // namespace

Birth::Birth(Owner& owner, KnownEras& eras, Timers& timers, Facts facts)
    : owner_(owner), eras_(eras), facts_(std::move(facts)), overdue_(timers), silence_(timers) {}

std::expected<void, std::string> Birth::start() {
  auto generation = owner_.start_generation(facts_.generation);
  if (!generation) return std::unexpected(std::move(generation.error()));
  generation_ = std::move(*generation);
  return {};
}

void Birth::limit_time() {
  overdue_.set(facts_.config->start_timeout, [this] { owner_.on_birth_overdue(); });
}

// --- the handshake -----------------------------------------------------------------------------------------

// A server that was asked for its era may have treated that as its first message.
void Birth::open() {
  if (course_ != Course::waits || !generation_ || owner_.hello().empty()) return;
  if (was_asked_era_ && owner_.client_era() == Era::legacy) return end_to_start_over();
  shake_hands();
}

// A bridge can't be removed while it waits for the server, so a silent server is only asked in the other era
// as well if it was first asked in the client's own, without a bridge.
void Birth::shake_hands() {
  const Era client = owner_.client_era();
  limit_time();
  if (!refusal_) era_ = facts_.fixed_era.value_or(eras_.first_for(client));
  generation_->meet(era_, owner_.hello(), client);
  if (era_ == client && may_switch_era() && !eras_.accepts(era_))
    silence_.set(silence(), [this] { on_silence(); });
  course_ = Course::shakes;
  start(handshake_);
}

// Whatever comes of it may be known at once, and replace it.
void Birth::start(std::shared_ptr<Handshake>& handshake) {
  handshake = owner_.make_handshake(*generation_);
  const auto keep = handshake;
  const Handshake* const by = keep.get();
  keep->start([this, by] { on_opened(*by); }, [this, by](auto outcome) { on_done(*by, std::move(outcome)); });
}

std::chrono::milliseconds Birth::silence() const {
  return std::min(longest_silence, facts_.config->start_timeout / 2);
}

// It may be slow, or not understand what it was asked: it is asked in the other era as well, and its first
// valid answer decides.
void Birth::on_silence() {
  log_info("{}: no answer for {} in the {} era; asking in the other one as well", name(),
           duration_text(silence()), text(era_));
  generation_->meet(other(era_), owner_.hello(), owner_.client_era());
  course_ = Course::shakes_twice;
  start(other_);
}

void Birth::on_opened(const Handshake& by) {
  silence_.cancel();
  if (course_ != Course::shakes_twice) return;
  course_ = Course::shakes;
  if (&by == other_.get()) {
    handshake_->withdraw();
    refusal_ = fmt::format("it said nothing for {}", duration_text(silence()));
    era_ = other(era_);
    handshake_ = std::exchange(other_, nullptr);
  } else {
    std::exchange(other_, nullptr)->withdraw();
    generation_->meet(era_, owner_.hello(), owner_.client_era());
  }
}

// As long as it may still accept another era, a failure isn't news.
void Birth::on_done(const Handshake& by, std::expected<Handshake::Outcome, Handshake::Failure> outcome) {
  if (outcome) return owner_.on_handshake(std::move(outcome));
  if (course_ == Course::shakes_twice) {
    course_ = Course::shakes;
    const auto twin = std::exchange(other_, nullptr);
    if (&by == twin.get()) return generation_->meet(era_, owner_.hello(), owner_.client_era());
    handshake_ = twin;
    refusal_ = std::move(outcome.error().why);
    era_ = other(era_);
    return;
  }
  if (outcome.error().refused && may_switch_era()) return switch_era(std::move(outcome.error().why));
  owner_.on_handshake(std::move(outcome));
}

// --- the other era -----------------------------------------------------------------------------------------

// Some servers stick to the era of their first message, so the other one needs a fresh start.
void Birth::switch_era(std::string why) {
  refusal_ = std::move(why);
  era_ = other(era_);
  silence_.cancel();
  log_info("{}: it doesn't speak the {} era: {}; trying the {} one", name(), text(other(era_)), *refusal_,
           text(era_));
  end_to_start_over();
}

// Not before the first is gone: it may be a server that can't run twice.
void Birth::end_to_start_over() {
  handshake_.reset();
  other_.reset();
  was_asked_era_ = false;
  course_ = Course::starts_over;
  if (generation_->dead()) return start_over();
  generation_->end();
}

void Birth::start_over() {
  course_ = Course::waits;
  auto generation = owner_.start_generation(facts_.generation);
  if (!generation) return owner_.on_start_failed(std::move(generation.error()));
  generation_ = std::move(*generation);
  open();
}

bool Birth::survives(const Backend::Ending& ending) {
  if (course_ == Course::starts_over) {
    start_over();
    return true;
  }
  if (ending.unreachable || ending.from_outside || generation_->ending()) return false;
  if (course_ == Course::asks_era) {
    Eras now = eras_.get();
    now.modern = false;
    eras_.learn(std::move(now), *facts_.config, facts_.file);
    end_asking(true);
    return true;
  }
  if (!handshake_ || handshake_->opened() || !may_switch_era()) return false;
  // A server that has accepted this era before has most likely crashed. If it happens again, it may be
  // another program by now.
  const bool accepted = eras_.accepts(era_);
  eras_.doubt(era_);
  if (accepted) return false;
  switch_era(fmt::format("it {}{}", ending.how, generation_->backend().traits().before_ready));
  return true;
}

// --- which era does it accept? -----------------------------------------------------------------------------

void Birth::ask_era(std::string_view hello) {
  if (course_ != Course::waits || !generation_) return;
  era_hello_ = hello;
  course_ = Course::asks_era;
  put_question(false);
}

void Birth::put_question(bool again) {
  was_asked_era_ = true;
  generation_->meet(Era::modern, era_hello_, Era::modern);
  silence_.set(era_patience, [this] { end_asking(true); });
  generation_->inquire("server/discover", {},
                       [weak = weak_from_this(), again, of = generation_->id()](const Message& answer) {
                         const auto self = weak.lock();
                         // The answer may not be needed any more.
                         if (self && self->course_ == Course::asks_era && self->generation_->id() == of)
                           self->on_answer(answer, again);
                       });
}

void Birth::on_answer(const Message& answer, bool again) {
  if (!again && wants_modern_again(answer)) return put_question(true);
  const std::string result(answer.kind == Kind::result ? answer.text(answer.result) : std::string_view());
  const bool is_modern = offers_modern(result);
  if (answer.kind == Kind::result || speaks_of_era(answer)) {
    Eras now = eras_.get();
    now.modern = is_modern;
    if (is_modern) now.discovered = result;
    eras_.learn(std::move(now), *facts_.config, facts_.file);
  }
  end_asking(!is_modern);
}

void Birth::end_asking(bool starts_over) {
  Owner& owner = owner_;  // this may be gone when the server couldn't be started again
  silence_.cancel();
  course_ = Course::waits;
  starts_over ? end_to_start_over() : open();
  owner.on_era_asked();
}

}  // namespace mcpivot
