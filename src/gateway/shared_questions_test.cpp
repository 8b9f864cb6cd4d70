// Questions of a modern server that clients share: it learns each client's capabilities from that client's
// requests, and asks in its answer to one of them, so it is clear who is asked.
#include "gateway/shared_fixture.h"

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* elicitation = "elicitation/create";

class SharedModernServer : public SharedServer {
 protected:
  void SetUp() override {
    world.scripts().of("alpha").tongue = simulation::tongue_called("modern");
    gateway =
        std::make_unique<Gateway>(world, clients, simulation::fleet_from("alpha=process,shared,replay"));
    ann = std::make_unique<Client>(*this, "canary-ann", R"({"elicitation":{}})");
    bob = std::make_unique<Client>(*this, "canary-bob", "{}");
  }

  // Makes the server ask one round of questions during this call.
  std::string start_asking(Client& client) { return client.start_call(R"(,"do":"ask")"); }
  static std::string capabilities_in(std::string_view line) {
    return std::string(find_member(find_member(find_member(line, "params"), "_meta"),
                                   "io.modelcontextprotocol/clientCapabilities"));
  }
  static constexpr const char* yes = R"({"action":"accept","content":{},"to":"first/0"})";
};

TEST_F(SharedModernServer, gets_the_callers_capabilities_with_each_call) {
  ann->call();
  bob->call();
  const std::vector<std::string> calls = sent("tools/call");
  ASSERT_THAT(calls, SizeIs(2));
  EXPECT_THAT(calls[0], HasSubstr("canary-ann"));
  EXPECT_EQ(capabilities_in(calls[0]), R"({"elicitation":{}})");
  EXPECT_THAT(calls[1], HasSubstr("canary-bob"));
  EXPECT_EQ(capabilities_in(calls[1]), "{}");
}

TEST_F(SharedModernServer, gets_no_capabilities_with_mcpivots_own_requests) {
  ann->call();
  for (const char* const method : {"server/discover", "tools/list", "subscriptions/listen"}) {
    ASSERT_THAT(sent(method), Not(IsEmpty())) << method;
    for (const std::string& line : sent(method)) EXPECT_EQ(capabilities_in(line), "{}") << line;
  }
}

TEST_F(SharedModernServer, asks_the_caller_and_continues_with_its_answers) {
  const std::string id = start_asking(*ann);
  bob->start_call();
  pass(100ms);
  EXPECT_THAT(ann->heard, Contains(AllOf(HasSubstr(elicitation), HasSubstr("canary-ann"))));
  EXPECT_THAT(bob->questions, IsEmpty());
  EXPECT_EQ(ann->answer_to(id), "");
  ann->answer_question(yes);
  EXPECT_THAT(ann->answer_to(id), HasSubstr("canary-ann"));
  EXPECT_THAT(sent("tools/call").back(), AllOf(HasSubstr("inputResponses"), HasSubstr("requestState")));
  EXPECT_EQ(capabilities_in(sent("tools/call").back()), R"({"elicitation":{}})");
}

TEST_F(SharedModernServer, asks_nobody_during_a_call_of_a_client_without_the_capability) {
  const std::string answer = bob->call(R"(,"do":"ask")");
  EXPECT_THAT(answer, HasSubstr("canary-bob")) << "the server does without";
  EXPECT_THAT(ann->questions, IsEmpty());
  EXPECT_THAT(bob->questions, IsEmpty());
}

TEST_F(SharedModernServer, a_question_beyond_the_callers_capabilities_fails_the_call) {
  world.scripts().of("alpha").tongue.rude = true;
  ann->ask("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  const std::string id =
      bob->send("tools/call", R"({"name":"work","arguments":{"n":5,"canary":"canary-bob","do":"ask"}})");
  pass(500ms);
  EXPECT_THAT(bob->answer_to(id), HasSubstr("doesn't have the capability"));
  EXPECT_THAT(ann->questions, IsEmpty());
  EXPECT_THAT(bob->questions, IsEmpty());
}

TEST_F(SharedModernServer, ignores_another_clients_answer) {
  const std::string id = start_asking(*ann);
  pass(100ms);
  ASSERT_THAT(ann->questions, SizeIs(1));
  bob->questions = ann->questions;  // it has learned this in some other way
  bob->answer_question(R"({"action":"accept","content":{},"to":"first/0","by":"canary-bob"})");
  EXPECT_EQ(ann->answer_to(id), "");
  ann->answer_question(yes);
  EXPECT_THAT(ann->answer_to(id), HasSubstr("canary-ann"));
}

TEST_F(SharedModernServer, cancelling_the_call_withdraws_its_questions) {
  const std::string id = start_asking(*ann);
  pass(100ms);
  ann->cancel(id);
  pass(100ms);
  EXPECT_THAT(ann->heard, Contains(HasSubstr("notifications/cancelled")));
  EXPECT_THAT(bob->heard, Not(Contains(HasSubstr("notifications/cancelled"))));
}

TEST_F(SharedModernServer, its_death_withdraws_its_questions_from_all_clients) {
  start_asking(*ann);
  pass(100ms);
  kill();
  EXPECT_THAT(ann->forgotten, Contains(ann->questions.back().first));
}

TEST_F(SharedModernServer, is_not_kept_waiting_by_a_client_that_does_not_read) {
  const std::string id = start_asking(*ann);
  ann->stuffed = true;
  pass(100ms);
  ann->stuffed = false;
  EXPECT_THAT(ann->questions, IsEmpty());
  pass(100ms);
  EXPECT_THAT(ann->answer_to(id), HasSubstr("isn't reading"));
}

TEST_F(SharedModernServer, learns_a_clients_new_capabilities_when_it_initializes_again) {
  bob->ask("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},)"
                         R"("clientInfo":{"name":"canary-bob","version":"2"}})");
  bob->call();
  EXPECT_EQ(capabilities_in(sent("tools/call").back()), R"({"sampling":{}})");
}

TEST_F(SharedModernServer, gets_no_capabilities_once_it_is_legacy) {
  world.scripts().of("alpha").tongue = simulation::tongue_called("legacy");
  ann->ask("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  pass(2s);
  ASSERT_THAT(sent("initialize"), Not(IsEmpty()));
  EXPECT_THAT(sent("initialize"), Each(HasSubstr(R"("capabilities":{},"clientInfo":{"name":"mcpivot")")));
  EXPECT_THAT(ann->call(R"(,"do":"ask")"), HasSubstr("canary-ann"));
  EXPECT_THAT(ann->questions, IsEmpty());
}

// --- a modern client

TEST_F(SharedModernServer, asks_a_modern_client_in_its_response) {
  Desk& desk = gateway->open();
  struct Modern final : Peer {
    void pass(ToClient& said) override { heard.push_back(spliced(said.message.raw, said.edits.list())); }
    void answer(std::uint32_t, std::string_view line) override { heard.emplace_back(line); }
    void answer(std::uint32_t, const Message& inside, std::span<const Edit> around) override {
      heard.push_back(spliced(inside.raw, around));
    }
    bool full() const override { return false; }
    std::vector<std::string> heard;
  } cleo;
  clients.add(desk.client(), cleo);
  desk.start();
  const std::string line =
      request_line("7", "tools/call",
                   R"({"name":"work","arguments":{"n":0,"canary":"canary-cleo","do":"ask"},"_meta":{)"
                   R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                   R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}})");
  desk.request({.client = desk.client()}, *read_message(line));
  pass(500ms);
  EXPECT_THAT(cleo.heard, Contains(AllOf(HasSubstr(R"("id":7)"), HasSubstr("input_required"),
                                         HasSubstr("canary-cleo"), HasSubstr(elicitation))));
  for (const Client* client : {ann.get(), bob.get()})
    EXPECT_THAT(client->heard, Not(Contains(HasSubstr("canary-cleo"))));
  clients.remove(desk.client());
  gateway->close(desk.client(), 100ms);
  pass(1s);
}

}  // namespace
}  // namespace mcpivot
