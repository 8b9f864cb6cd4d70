#include "server/birth.h"

#include <gmock/gmock.h>

#include "fleet.h"
#include "mcp/initialize.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A birth, and the owner of it and of its generations.
class BirthOf : public testing::Test, protected Birth::Owner, protected Generation::Owner {
 protected:
  simulation::Script& script() { return visitor.world().scripts().of("alpha"); }
  void speaks(const char* tongue) { script().tongue = simulation::tongue_called(tongue); }
  void begin() {
    birth = std::make_shared<Birth>(
        static_cast<Birth::Owner&>(*this), eras, visitor.world().timers(),
        Birth::Facts{.number = 1, .generation = 1, .reason = "for this test", .config = config});
    const auto started = birth->start();
    if (!started) on_start_failed(started.error());
  }
  void meet_client(Era of = Era::legacy) {
    client = of;
    said = own_hello();
    birth->open();
  }
  ~BirthOf() override {
    for (const auto& generation : generations)
      if (!generation->dead()) generation->end();
    visitor.pass(1s);
    EXPECT_EQ(visitor.world().alive(), 0);
  }

  // Birth::Owner
  std::expected<std::shared_ptr<Generation>, std::string> start_generation(int number) override {
    if (generations.size() >= most_starts) return std::unexpected("there are too many");
    auto generation = Generation::start(visitor.world(), nobody, config,
                                        {.instance = {}, .birth = generations.size() + 1, .number = number},
                                        ring, *this, nullptr);
    if (generation) generations.push_back(*generation);
    return generation;
  }
  const std::string& hello() const override { return said; }
  Era client_era() const override { return client; }
  std::shared_ptr<Handshake> make_handshake(Generation& with) const override {
    return std::make_shared<Handshake>(with, said, client, std::vector<Replay::Call>(), nullptr);
  }
  void on_era_asked() override { ++answers_about_era; }
  void on_birth_overdue() override { overdue = true; }
  void on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome) override {
    era = birth->era();
    result = outcome ? "done" : outcome.error().why;
    if (drops) birth.reset();
  }
  void on_start_failed(std::string why) override {
    result = std::move(why);
    birth.reset();
  }

  // Generation::Owner
  void on_answer(const Generation::Requests::Request&, ToClient&) override {}
  void on_said(Generation&, ToClient&) override {}
  bool clients_full(const Generation&) const override { return false; }
  void on_writable() override {}
  void on_idle(Generation&) override {}
  void on_lost(Generation&, Generation::Open, std::string_view) override {}
  void on_death(Generation& generation, const Backend::Ending& ending) override {
    if (!birth || birth->generation().get() != &generation) return;
    if (!birth->survives(ending) && birth) result = "it " + ending.how;
  }

  simulation::Visitor visitor{"beta=process"};
  ConfigRef config =
      std::make_shared<const ServerConfig>(simulation::fleet_from("alpha=process").servers.front().server);
  KnownEras eras{visitor.world().files()};
  Clients nobody;
  OutputRing ring;
  std::shared_ptr<Birth> birth;
  std::vector<std::shared_ptr<Generation>> generations;
  std::size_t most_starts = 9;
  std::string said;
  Era client = Era::legacy;
  Era era = Era::legacy;
  std::string result;
  int answers_about_era = 0;
  bool overdue = false;
  bool drops = false;
};

TEST_F(BirthOf, a_server_waits_for_a_client_before_its_handshake) {
  begin();
  visitor.pass(10s);
  EXPECT_TRUE(visitor.lines_to("alpha", "initialize").empty());
  EXPECT_FALSE(overdue) << "nobody waits for it";
  meet_client();
  visitor.pass(1s);
  EXPECT_EQ(result, "done");
  EXPECT_EQ(generations.size(), 1U);
}

TEST_F(BirthOf, a_server_of_the_other_era_is_started_again_in_that_one) {
  speaks("modern");
  begin();
  meet_client();
  visitor.pass(1s);
  EXPECT_EQ(result, "done");
  EXPECT_EQ(era, Era::modern);
  EXPECT_EQ(generations.size(), 2U);
  EXPECT_TRUE(birth->refusal().has_value());
}

TEST_F(BirthOf, a_server_that_says_nothing_in_one_era_is_asked_in_both) {
  speaks("modern+mute");
  begin();
  meet_client();
  visitor.pass(2s);
  EXPECT_EQ(result, "done");
  EXPECT_EQ(era, Era::modern);
  EXPECT_EQ(generations.size(), 1U) << "it has committed to nothing, so it need not be started again";
}

TEST_F(BirthOf, a_server_that_dies_in_both_eras_has_failed) {
  speaks("dual");
  script().births = {simulation::Birth::dies_in_handshake, simulation::Birth::dies_in_handshake};
  begin();
  meet_client();
  visitor.pass(1s);
  EXPECT_THAT(result, HasSubstr("(death 2)"));
  EXPECT_EQ(generations.size(), 2U);
}

TEST_F(BirthOf, a_server_that_was_asked_for_its_era_is_started_again_for_a_legacy_handshake) {
  speaks("dual");
  begin();
  birth->ask_era(own_hello());
  visitor.pass(1s);
  EXPECT_EQ(answers_about_era, 1);
  EXPECT_TRUE(eras.accepts(Era::modern));
  meet_client();
  visitor.pass(1s);
  EXPECT_EQ(result, "done");
  EXPECT_EQ(era, Era::legacy);
  EXPECT_EQ(generations.size(), 2U);
}

TEST_F(BirthOf, a_client_that_comes_while_the_era_is_asked_for_waits_for_that) {
  speaks("modern");
  begin();
  birth->ask_era(own_hello());
  meet_client(Era::modern);
  visitor.pass(1s);
  EXPECT_EQ(answers_about_era, 1);
  EXPECT_EQ(result, "done");
  EXPECT_EQ(generations.size(), 1U);
}

TEST_F(BirthOf, one_that_cannot_be_started_again_is_gone_before_the_answer_about_its_era) {
  most_starts = 1;
  begin();
  birth->ask_era(own_hello());  // a legacy server rejects that
  visitor.pass(1s);
  EXPECT_EQ(result, "there are too many");
  EXPECT_EQ(birth, nullptr);
  EXPECT_EQ(answers_about_era, 1);
}

TEST_F(BirthOf, can_be_dropped_when_its_handshake_is_done) {
  drops = true;
  begin();
  meet_client();
  visitor.pass(10s);
  EXPECT_EQ(result, "done");
  EXPECT_FALSE(overdue);
}

TEST_F(BirthOf, one_that_takes_too_long_is_reported) {
  script().births = {simulation::Birth::hangs};
  begin();
  meet_client();
  visitor.pass(10s);
  EXPECT_TRUE(overdue);
}

}  // namespace
}  // namespace mcpivot
