#include "server/shared_build.h"

#include <algorithm>
#include <utility>

namespace mcpivot {

class SharedBuild::Share final : public Build {
 public:
  Share(SharedBuild& owner, ServerConfig config, Handlers handlers)
      : owner_(owner),
        config_(std::move(config)),
        handlers_(std::move(handlers)),
        stopped_(owner.world_.timers()) {}
  ~Share() override { owner_.leave(*this); }

  // While others want the build, it ends for this one alone.
  void stop(const std::string& why) override {
    const auto is_other = [this](const auto& one) { return !one.expired() && one.lock().get() != this; };
    const bool builds = std::ranges::any_of(
        owner_.building_, [this](const auto& one) { return !one.expired() && one.lock().get() == this; });
    if (builds && std::ranges::none_of(owner_.building_, is_other)) return owner_.build_->stop(why);
    owner_.leave(*this);
    stopped_.set(std::chrono::milliseconds(0), [this, why] {
      done({.ok = false, .how = why, .took = std::chrono::milliseconds(0), .output = {}});
    });
  }

  const ServerConfig& config() const { return config_; }
  void line(std::string_view text) const { handlers_.on_line(text); }
  void done(const Result& result) { std::exchange(handlers_, {}).on_done(result); }

 private:
  SharedBuild& owner_;
  ServerConfig config_;
  Handlers handlers_;
  Alarm stopped_;
};

SharedBuild::SharedBuild(World& world) : world_(world), next_(world.timers()) {}

SharedBuild::~SharedBuild() = default;

std::shared_ptr<Build> SharedBuild::join(const ServerConfig& config, Build::Handlers handlers) {
  auto share = std::make_shared<Share>(*this, config, std::move(handlers));
  waiting_.push_back(share);
  if (!build_) begin();
  return share;
}

// With the configuration as it is by now: that of the last who asked.
void SharedBuild::begin() {
  building_ = std::exchange(waiting_, {});
  std::erase_if(building_, [](const auto& one) { return one.expired(); });
  if (building_.empty()) return;
  build_ = world_.start_build(building_.back().lock()->config(),
                              {.on_line =
                                   [this](std::string_view text) {
                                     for (const auto& one : Shares(building_))
                                       if (const auto share = one.lock()) share->line(text);
                                   },
                               .on_done = [this](const Build::Result& result) { on_done(result); }});
}

// Whoever is told may ask for the next one at once: it begins when all have been told.
void SharedBuild::on_done(const Build::Result& result) {
  const auto ended = build_;
  for (const auto& one : std::exchange(building_, {}))
    if (const auto share = one.lock()) share->done(result);
  if (build_ == ended) build_.reset();
  if (!build_ && has_any(waiting_)) begin();
}

void SharedBuild::leave(const Share& share) {
  for (Shares* shares : {&building_, &waiting_})
    std::erase_if(*shares, [&](const auto& one) { return one.expired() || one.lock().get() == &share; });
  if (!build_ || has_any(building_)) return;
  build_.reset();
  // Not now: whoever left may be in the middle of something.
  next_.set(std::chrono::milliseconds(0), [this] {
    if (!build_ && has_any(waiting_)) begin();
  });
}

bool SharedBuild::has_any(const Shares& shares) {
  return std::ranges::any_of(shares, [](const auto& one) { return !one.expired(); });
}

}  // namespace mcpivot
