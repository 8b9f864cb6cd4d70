#include "server/stops.h"

#include <fmt/format.h>

#include <utility>

#include "server/generation.h"

namespace mcpivot {

StopResult StopResult::failure(std::string why) {
  return {.ok = false, .how = std::move(why), .pids = {}, .others = {}, .program = {}, .next = {}};
}

void Stops::add(Done done, bool others) {
  callers_.push_back(std::move(done));
  others_ = others_ || others;
}

void Stops::on_end(const Command& command, pid_t pid, std::string how) {
  if (!wanted()) return;
  result_.how = fmt::format("it {}", how);
  result_.pids.push_back(pid);
  command_ = command;
}

std::shared_ptr<Stops::Ending> Stops::take() {
  const auto ending = std::make_shared<Ending>();
  ending->result = std::exchange(result_, {});
  ending->callers = std::exchange(callers_, {});
  if (ending->result.how.empty()) ending->result.how = "it was not running";
  return ending;
}

void Stops::finish(const Command& command, std::function<void()> then) {
  const Command ran = std::exchange(command_, {}).value_or(command);
  const auto ending = take();
  const auto program =
      std::exchange(others_, false) ? world_.files().stoppable_program_of(ran) : std::nullopt;
  if (!program || gives_up_) return ending->tell();
  ending->result.program = program->path;
  ending_.push_back(ending);
  world_.end_processes_running(*program, Generation::farewell,
                               [this, weak = std::weak_ptr(ending), then = std::move(then)](auto others) {
                                 const auto still = weak.lock();
                                 if (!still) return;  // they have been told already, or we are gone
                                 ending_.remove(still);
                                 still->result.others = std::move(others);
                                 still->tell();
                                 then();
                               });
}

void Stops::finish_with(StopResult result) {
  command_.reset();
  others_ = false;
  result_ = std::move(result);
  take()->tell();
}

void Stops::give_up() {
  gives_up_ = true;
  for (const auto& ending : std::exchange(ending_, {})) ending->tell();
}

}  // namespace mcpivot
