#include "server/clients.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Listener final : Peer {
  explicit Listener(Clients& in) : clients(in), id(in.next()) { clients.add(id, *this); }
  ~Listener() override { clients.remove(id); }
  void pass(ToClient& said) override { heard.emplace_back(said.message.raw); }
  void answer(std::uint32_t, const Message& inside, std::span<const Edit>) override {
    heard.emplace_back(inside.raw);
  }
  void answer(std::uint32_t, std::string_view line) override { heard.emplace_back(line); }
  bool full() const override { return true; }

  Clients& clients;
  ClientId id;
  std::vector<std::string> heard;
};

TEST(Clients, each_receives_only_its_own_messages) {
  Clients clients;
  Listener one(clients);
  Listener other(clients);
  clients.answer({.client = other.id}, "for the other");
  clients.answer({.client = one.id}, "for one");
  EXPECT_THAT(one.heard, ElementsAre("for one"));
  EXPECT_THAT(other.heard, ElementsAre("for the other"));
}

TEST(Clients, a_message_to_a_departed_client_is_dropped) {
  Clients clients;
  Listener here(clients);
  ClientId gone{};
  {
    Listener there(clients);
    gone = there.id;
  }
  clients.answer({.client = gone}, "too late");
  EXPECT_FALSE(clients[gone].full());
  EXPECT_THAT(here.heard, IsEmpty());
}

TEST(Clients, no_id_is_used_twice) {
  Clients clients;
  std::vector<ClientId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Listener(clients).id);
  EXPECT_THAT(ids, ElementsAre(ClientId(1), ClientId(2), ClientId(3)));
}

TEST(Clients, a_client_that_arrives_late_is_found_by_its_reserved_id) {
  Clients clients;
  const ClientId early = clients.next();
  Listener later(clients);
  struct : Peer {
    void pass(ToClient&) override {}
    void answer(std::uint32_t, const Message&, std::span<const Edit>) override {}
    void answer(std::uint32_t, std::string_view line) override { heard = line; }
    bool full() const override { return false; }
    std::string heard;
  } peer;
  clients.add(early, peer);
  clients.answer({.client = early}, "welcome");
  EXPECT_EQ(peer.heard, "welcome");
  EXPECT_THAT(later.heard, IsEmpty());
  clients.remove(early);
}

}  // namespace
}  // namespace mcpivot
