// A server's lists are kept for its next start. With several clients, none is shown what another one
// caused: at the end of each of these tests, no client has seen another's canary.
#include "gateway/shared_fixture.h"

namespace mcpivot {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class KeptLists : public SharedServer {
 protected:
  // Ann has come and gone, and her server listed something extra because of her. Bob's server doesn't start.
  void come_after_ann(std::string_view fleet, std::string_view who = "same") {
    gateway = std::make_unique<Gateway>(world, clients, simulation::fleet_from(fleet));
    ann = std::make_unique<Client>(*this, "canary-ann", "{}", "same");
    if (fleet.find("beta") != std::string_view::npos) ann->tool = "alpha__work";
    ann->call();
    blurt("prompts");
    EXPECT_THAT(ann->ask("prompts/list", "{}"), HasSubstr("canary-ann")) << "it lists so";
    ann->leave();
    world.scripts().of("alpha").births.push_back(simulation::Birth::hangs);
    bob = std::make_unique<Client>(*this, "canary-bob", "{}", who);
  }
  void SetUp() override {}
};

TEST_F(KeptLists, are_shown_to_a_later_client_as_the_server_first_listed_them) {
  come_after_ann("alpha=process,many");
  EXPECT_THAT(bob->answer_to("1"), HasSubstr(R"("serverInfo":{"name":"alpha")")) << "it doesn't wait";
  EXPECT_THAT(bob->ask("prompts/list", "{}"), HasSubstr("greet"));
}

TEST_F(KeptLists, are_not_shown_to_a_client_with_another_initialize) {
  come_after_ann("alpha=process,many", "other");
  EXPECT_EQ(bob->answer_to("1"), "") << "it waits for the server";
}

TEST_F(KeptLists, are_the_same_behind_a_gateway) {
  come_after_ann("alpha=process,many,active beta=process,many");
  EXPECT_THAT(bob->ask("prompts/list", "{}"), HasSubstr("alpha__greet"));
}

// A shared server lists the same for every client, and what one client caused ends with it.
TEST_F(KeptLists, of_a_shared_server_are_those_it_listed_first) {
  gateway = std::make_unique<Gateway>(world, clients, simulation::fleet_from("alpha=process,many,shared"));
  ann = std::make_unique<Client>(*this, "canary-ann");
  ann->call(R"(,"do":"change")");
  pass(2s);
  EXPECT_THAT(ann->ask("tools/list", "{}"), HasSubstr("extra1"));
  ann->leave();
  world.scripts().of("alpha").births.push_back(simulation::Birth::hangs);
  bob = std::make_unique<Client>(*this, "canary-bob");
  EXPECT_THAT(bob->ask("tools/list", "{}"), Not(HasSubstr("extra1")));
}

// --- in the modern era

class KeptWords : public KeptLists {
 protected:
  struct Modern final : Peer {
    Modern(KeptWords& test, std::string_view name) : test_(test), desk(test.gateway->open()) {
      test.clients.add(desk.client(), *this);
      desk.start();
      meta = fmt::format(R"({{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                         R"("io.modelcontextprotocol/clientInfo":{{"name":"{}","version":"1"}},)"
                         R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}})",
                         name);
    }
    ~Modern() override {
      test_.clients.remove(desk.client());
      test_.gateway->close(desk.client(), 100ms);
      test_.pass(1s);
    }
    std::string ask(std::string_view method) {
      heard.clear();
      const std::string line = request_line("1", method, meta);
      desk.request({.client = desk.client()}, *read_message(line));
      test_.pass(3s);
      return heard;
    }
    void pass(ToClient& said) override { heard += spliced(said.message.raw, said.edits.list()); }
    void answer(std::uint32_t, std::string_view line) override { heard += line; }
    void answer(std::uint32_t, const Message& inside, std::span<const Edit> around) override {
      heard += spliced(inside.raw, around);
    }
    bool full() const override { return false; }

    KeptWords& test_;
    Desk& desk;
    std::string meta;
    std::string heard;
  };
  void SetUp() override {
    world.scripts().of("alpha").tongue = simulation::tongue_called("modern");
    gateway = std::make_unique<Gateway>(world, clients, simulation::fleet_from("alpha=process,many"));
    ann = std::make_unique<Client>(*this, "canary-ann");
    bob = std::make_unique<Client>(*this, "canary-bob");
    ann->leave();
    bob->leave();
  }
};

TEST_F(KeptWords, the_discovery_for_one_client_is_not_reused_for_another) {
  {
    EXPECT_THAT(Modern(*this, "one").ask("server/discover"), HasSubstr("of alpha"));
  }
  const std::size_t before = sent("server/discover").size();
  Modern two(*this, "two");
  EXPECT_THAT(two.ask("server/discover"), HasSubstr("of alpha"));
  ASSERT_EQ(sent("server/discover").size(), before + 1) << "its own server was asked";
  EXPECT_THAT(sent("server/discover").back(), HasSubstr(R"("name":"two")"));
}

TEST_F(KeptWords, a_running_server_still_answers_discover_after_a_config_change) {
  Modern one(*this, "one");
  EXPECT_THAT(one.ask("tools/list"), HasSubstr("work"));
  gateway->configure(simulation::fleet_from("alpha=process,many,v:2"));
  pass(2s);
  EXPECT_THAT(one.ask("server/discover"), HasSubstr("of alpha"));
}

}  // namespace
}  // namespace mcpivot
