// Looks after servers that are processes, or CLIs: we start them, so they end only because they crash or we
// end them.
//
// One thread.
#pragma once

#include "server/supervisor.h"

namespace mcpivot {

class ProcessSupervisor final : public Supervisor {
 public:
  const KindTraits& traits() const override { return process_traits; }
  std::chrono::milliseconds back_off(int young_deaths, bool asked) const override;
  Failure on_birth_failed(const FailedBirth& birth) override;
  std::string headline(const NewGeneration& generation) const override {
    return generation_headline(generation);
  }
  std::string program_line(const NewProgram& program) const override { return binary_line(program); }
  Loss on_lost(const Death& death, const Backend::Ending& ending) override;
  std::expected<Stop, std::string> on_stop_wanted() override;
  std::optional<Era> fixed_era() const override;
};

}  // namespace mcpivot
