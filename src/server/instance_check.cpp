// How a generation that is about to serve is checked: it gets recorded calls, of which clients see nothing,
// and before it takes the old one's place, it learns what clients told the old one in the meantime.
#include <fmt/format.h>

#include <utility>

#include "bridge/log_levels.h"
#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/birth_report.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

// Whether a message adds nothing to what waits for a client: a list is fetched again, a question is
// withdrawn.
bool is_bounded(Method known) {
  return known == Method::tools_changed || known == Method::prompts_changed ||
         known == Method::resources_changed || known == Method::cancelled;
}

}  // namespace

void Instance::check() {
  birth_->lift_limit();
  const auto may_call = [this](const std::string& tool) {
    return watcher_.allows(*this, {.client = client()}, Method::tools_call, quote(tool));
  };
  birth_->check.verification =
      std::make_shared<Verification>(*incoming(), offer_.catalog(), birth_->handshake_outcome.lists.catalog,
                                     source_.accepted(), may_call, world_.timers());
  incoming()->resume();  // a client that doesn't read may have stopped it
  birth_->check.verification->start(world_, [this, birth = birth_->facts().number](CheckReport report) {
    if (birth_ && birth_->facts().number == birth) on_checked(std::move(report));
  });
}

void Instance::on_checked(CheckReport report) {
  log_info("{}: {}", config_->name, report.summary());
  birth_->check.report = std::move(report);
  birth_->check.verification.reset();
  make_up();
}

void Instance::end_check() {
  const CheckReport& report = *birth_->check.report;
  const bool held = config_->verify.gate && config_->can_gate() && !report.passes();
  std::string words;
  if (held && current_)
    words = held_report(config_->name, report.text(shows_values()), report.unreadable, current_->number(),
                        config_->control);
  happens(Life::Checked{birth_->facts().number, held, std::move(words)},
          [this, birth = birth_->facts().number, held] {
            if (!birth_ || birth_->facts().number != birth) return;
            if (!held || !current_) return swap_in(std::move(birth_->handshake_outcome));
            past_.last_check = birth_->check.report->summary();
            source_.hold(std::move(*birth_->check.report));
          });
}

// What other clients asked and were answered isn't for this client.
bool Instance::shows_values() const {
  return !config_->for_many && !is_shared();
}

// What a server that is being checked asks, or says about its calls, is about calls that no client made.
bool Instance::keep_from_clients(Generation& from, const Message& said) {
  const bool in_check = is_in_check(from);
  // One that was given up in its check, or right after it, ends without having served.
  const bool was_in_check = &from != incoming() && &from != current_.get() && from.config().verify.wanted() &&
                            from.calls() == 0 && from.tasks() == 0 && !from.parks();
  if (!in_check && !was_in_check) return false;
  if (said.known == Method::log_message) {
    ring_.add(from.number(), log_line_of(said));
    return true;
  }
  const std::string method = string_value(said.text(said.method));
  const bool asks_person = method == "elicitation/create" || method == "sampling/createMessage";
  // Nothing may pile up for a client that doesn't read, and the check doesn't wait for it.
  const bool in_the_way = in_check && clients_[client()].full();
  if (said.kind != Kind::request) return in_the_way && !is_bounded(said.known);
  if (!asks_person && !in_the_way) return false;
  from.answer(error_answer(said.text(said.id), code::connection_closed,
                           "mcpivot is checking this build; no client is connected to it"));
  return true;
}

}  // namespace mcpivot
