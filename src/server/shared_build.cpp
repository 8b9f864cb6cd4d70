#include "server/shared_build.h"

#include <algorithm>
#include <utility>

namespace mcpivot {

class SharedBuild::Share final : public Build {
 public:
  Share(SharedBuild& owner, ServerConfig config, bool for_saves, Handlers handlers)
      : owner_(owner),
        config_(std::move(config)),
        for_saves_(for_saves),
        handlers_(std::move(handlers)),
        stopped_(owner.world_.timers()) {}
  ~Share() override { owner_.leave(*this); }

  // While others want the build, it ends only for this one.
  void stop(const std::string& why) override {
    const Shares& building = owner_.building_;
    if (building.size() == 1 && building.front().lock().get() == this) return owner_.build_->stop(why);
    owner_.leave(*this);
    stopped_.set(std::chrono::milliseconds(0), [this, why] {
      done({.ok = false, .how = why, .took = std::chrono::milliseconds(0), .output = {}});
    });
  }

  const ServerConfig& config() const { return config_; }
  bool for_saves() const { return for_saves_; }
  void line(std::string_view text) const { handlers_.on_line(text); }
  void done(const Result& result) { std::exchange(handlers_, {}).on_done(result); }

 private:
  SharedBuild& owner_;
  ServerConfig config_;
  bool for_saves_;
  Handlers handlers_;
  Alarm stopped_;
};

SharedBuild::SharedBuild(World& world, LastSave last_save)
    : world_(world), last_save_(std::move(last_save)), next_(world.timers()) {}

SharedBuild::~SharedBuild() = default;

std::shared_ptr<Build> SharedBuild::join(const ServerConfig& config, bool for_saves,
                                         Build::Handlers handlers) {
  auto share = std::make_shared<Share>(*this, config, for_saves, std::move(handlers));
  waiting_.push_back(share);
  if (!build_) begin();
  return share;
}

// Uses the latest configuration, that of the last caller. A caller gets a build that began after that.
void SharedBuild::begin() {
  building_ = std::exchange(waiting_, {});
  const bool for_saves =
      std::ranges::all_of(building_, [](const auto& one) { return one.lock()->for_saves(); });
  const LastSave asked = [date = world_.timers().date()] { return std::optional(date); };
  build_ = world_.start_build(building_.back().lock()->config(),
                              {.on_line =
                                   [this](std::string_view text) {
                                     for (const auto& one : Shares(building_))
                                       if (const auto share = one.lock()) share->line(text);
                                   },
                               .on_done = [this](const Build::Result& result) { on_done(result); }},
                              for_saves ? last_save_ : asked);
}

// Callers that are told may ask for the next build at once: it begins when all have been told.
void SharedBuild::on_done(const Build::Result& result) {
  for (const auto& one : std::exchange(building_, {}))
    if (const auto share = one.lock()) share->done(result);
  const auto ended = std::exchange(build_, nullptr);
  if (!waiting_.empty()) begin();
}

void SharedBuild::leave(const Share& share) {
  const auto is_it = [&](const auto& one) { return one.expired() || one.lock().get() == &share; };
  std::erase_if(waiting_, is_it);
  if (std::erase_if(building_, is_it) == 0 || !building_.empty()) return;
  build_.reset();
  // Not now: the caller that left may be in the middle of something.
  next_.set(std::chrono::milliseconds(0), [this] {
    if (!build_ && !waiting_.empty()) begin();
  });
}

}  // namespace mcpivot
