#include "server/observer.h"

#include <gmock/gmock.h>

#include "rpc/answers.h"
#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Visitor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Way = Seen::Way;
using What = Seen::What;

struct Recorder final : Observer {
  struct Entry {
    Way way;
    What what;
    ClientId client;
    std::string server;
    GenerationId generation;
    std::int64_t pair;
    std::string line;
    Clock::Time when;
  };
  void saw(const Seen& seen) override {
    entries.push_back({seen.way, seen.what, seen.client, std::string(seen.server), seen.generation, seen.pair,
                       seen.line(), seen.when});
  }
  std::vector<What> of(Way way, std::string_view part = {}) const {
    std::vector<What> all;
    for (const Entry& entry : entries)
      if (entry.way == way && entry.line.find(part) != std::string::npos) all.push_back(entry.what);
    return all;
  }
  const Entry* first(Way way) const {
    for (const Entry& entry : entries)
      if (entry.way == way) return &entry;
    return nullptr;
  }
  std::vector<Entry> entries;
};

class Observed : public testing::Test {
 protected:
  Observed() {
    visitor.arrive();
    visitor.clients().observe(recorder, visitor.desk().clock(), true);
  }
  Visitor visitor{"alpha=process,active beta=process,active"};
  Recorder recorder;
};

TEST_F(Observed, a_call_and_its_response_are_paired) {
  visitor.call("beta__work");
  const auto* const asked = recorder.first(Way::to_server);
  const auto* const heard = recorder.first(Way::from_server);
  const auto* const told = recorder.first(Way::to_client);
  ASSERT_TRUE(asked != nullptr && heard != nullptr && told != nullptr);
  EXPECT_EQ(asked->what, What::changed);  // its name
  EXPECT_THAT(asked->line, HasSubstr(R"("name":"work")"));
  EXPECT_EQ(asked->server, "beta");
  EXPECT_EQ(asked->client, visitor.desk().client());
  EXPECT_GT(asked->pair, 0);
  EXPECT_EQ(heard->pair, asked->pair);
  EXPECT_EQ(told->pair, asked->pair);
  EXPECT_EQ(told->generation, asked->generation);
  EXPECT_EQ(told->what, What::passed);
  EXPECT_EQ(told->client, visitor.desk().client());
  EXPECT_LT(asked->when, heard->when);
  EXPECT_LE(heard->when, told->when);
}

TEST_F(Observed, a_response_with_a_notice_is_reported_as_changed) {
  visitor.desk().add_notice("[mcpivot] news");
  visitor.call("beta__work");
  EXPECT_THAT(recorder.of(Way::to_client, "news"), ElementsAre(What::changed));
}

TEST_F(Observed, the_retry_of_a_call_that_a_dead_generation_left_open_is_reported) {
  visitor.send("tools/call", R"({"name":"beta__look","arguments":{"do":"hang"}})");
  visitor.pass(10ms);
  visitor.world().each_life("beta", [](simulation::SimBackend& life) { life.kill("was killed"); });
  visitor.pass(500ms);
  EXPECT_THAT(recorder.of(Way::to_server, "tools/call"), ElementsAre(What::changed, What::retried));
}

TEST_F(Observed, mcpivots_own_messages_and_rejections_are_reported_as_such) {
  visitor.ask("ping", "{}");
  visitor.call("gamma__work");
  EXPECT_THAT(recorder.of(Way::to_client), ElementsAre(What::made, What::refused));
  EXPECT_THAT(recorder.of(Way::to_server), IsEmpty());
}

TEST_F(Observed, a_response_for_a_departed_client_is_reported_as_dropped) {
  visitor.clients().answer({.client = visitor.clients().next()}, result_answer("1", "{}"));
  EXPECT_THAT(recorder.of(Way::to_client), ElementsAre(What::dropped));
}

TEST_F(Observed, a_cancelled_call_is_reported_as_cancelled) {
  const std::string id = visitor.send("tools/call", R"({"name":"beta__work","arguments":{"do":"hang"}})");
  const std::string line = cancellation(id, "never mind");
  visitor.desk().cancel({.client = visitor.desk().client()}, *read_message(line));
  EXPECT_THAT(recorder.of(Way::from_client), ElementsAre(What::cancelled));
  EXPECT_EQ(visitor.answer_to(id), "");
}

TEST_F(Observed, without_full_tracing_only_problems_are_reported) {
  visitor.clients().observe(recorder, visitor.desk().clock(), false);
  visitor.call("beta__work");
  EXPECT_THAT(recorder.entries, IsEmpty());
  visitor.world().each_life("beta", [](simulation::SimBackend& life) { life.blurt("garbage"); });
  visitor.pass(50ms);
  EXPECT_THAT(recorder.of(Way::from_server), ElementsAre(What::refused));
}

TEST_F(Observed, passing_messages_are_reported_only_to_observers_that_want_them) {
  Recorder other;
  visitor.clients().observe(other, visitor.desk().clock(), false);
  visitor.call("beta__work");
  EXPECT_THAT(recorder.entries, testing::Not(IsEmpty()));
  EXPECT_THAT(other.entries, IsEmpty());
  visitor.world().each_life("beta", [](simulation::SimBackend& life) { life.blurt("garbage"); });
  visitor.pass(50ms);
  EXPECT_THAT(other.of(Way::from_server), ElementsAre(What::refused));
  visitor.clients().ignore(other);
}

}  // namespace
}  // namespace mcpivot
