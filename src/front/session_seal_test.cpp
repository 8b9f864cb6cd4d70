#include "front/session_seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/base64.h"
#include "base/secret.h"

namespace mcpivot {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using Refusal = SessionSeal::Refusal;

constexpr sys_seconds now{seconds{1'800'000'000}};
const std::string old_key = "k1 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
const std::string new_key = "k2 //////////////////////////////////////////8=\n";

SessionSeal sealed_with(const std::string& keys) {
  return SessionSeal(*SessionKeys::parse("keys", keys));
}

SessionTicket some_ticket() {
  return {.uid = random_text(),
          .principal = "alice",
          .profile = "work",
          .version = "2025-11-25",
          .hello =
              R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}})",
          .issued = now,
          .expires = now + seconds{60}};
}

TEST(SessionSeal, opens_what_it_sealed) {
  const SessionSeal seal = sealed_with(old_key);
  const SessionTicket ticket = some_ticket();
  EXPECT_EQ(seal.open(seal.seal(ticket), now), ticket);
  SessionTicket bare{
      .uid = "", .principal = "", .profile = "", .version = "", .hello = "", .issued = {}, .expires = now};
  EXPECT_EQ(seal.open(seal.seal(bare), now - seconds{1}), bare);
}

TEST(SessionSeal, an_id_is_visible_ascii_and_reveals_only_its_key_id) {
  const SessionSeal seal = sealed_with(old_key);
  const SessionTicket ticket = some_ticket();
  const std::string id = seal.seal(ticket);
  EXPECT_TRUE(std::ranges::all_of(id, [](char c) { return c > ' ' && c < 0x7f; })) << id;
  EXPECT_TRUE(id.starts_with("k1."));
  const std::string bytes = *from_base64url(id.substr(3));
  for (const std::string& text : {ticket.uid, ticket.principal, ticket.profile, ticket.version})
    EXPECT_EQ(bytes.find(text), std::string::npos);
}

TEST(SessionSeal, two_seals_of_one_ticket_are_different_ids) {
  const SessionSeal seal = sealed_with(old_key);
  const SessionTicket ticket = some_ticket();
  EXPECT_NE(seal.seal(ticket), seal.seal(ticket));
}

TEST(SessionSeal, an_id_expires_at_its_time_and_not_before) {
  const SessionSeal seal = sealed_with(old_key);
  const std::string id = seal.seal(some_ticket());
  EXPECT_TRUE(seal.open(id, now + seconds{59}));
  EXPECT_EQ(seal.open(id, now + seconds{60}).error(), Refusal::expired);
  EXPECT_TRUE(seal.open(id, now - seconds{3600})) << "a clock that was put back ends no session";
}

TEST(SessionSeal, an_id_with_any_changed_character_is_not_ours) {
  const SessionSeal seal = sealed_with(old_key + new_key);
  const std::string id = seal.seal(some_ticket());
  for (std::size_t i = 0; i < id.size(); ++i) {
    for (const char c : {'A', 'B', '_', '.', '=', ' ', '\0', '1', '2'}) {
      std::string changed = id;
      if (changed[i] == c) continue;
      changed[i] = c;
      const auto opened = seal.open(changed, now);
      ASSERT_FALSE(opened) << i << c;
      EXPECT_EQ(opened.error(), Refusal::not_ours) << i << c;
    }
  }
}

TEST(SessionSeal, a_modified_expired_id_is_not_reported_as_expired) {
  const SessionSeal seal = sealed_with(old_key);
  std::string id = seal.seal(some_ticket());
  id[10] = id[10] == 'A' ? 'B' : 'A';
  EXPECT_EQ(seal.open(id, now + seconds{60}).error(), Refusal::not_ours);
}

TEST(SessionSeal, a_truncated_or_extended_id_is_not_ours) {
  const SessionSeal seal = sealed_with(old_key);
  const std::string id = seal.seal(some_ticket());
  for (std::size_t size = 0; size < id.size(); ++size)
    ASSERT_EQ(seal.open(id.substr(0, size), now).error(), Refusal::not_ours) << size;
  for (const char* more : {"A", "AA", "AAA", "AAAA", "=", "\n", " "})
    EXPECT_EQ(seal.open(id + more, now).error(), Refusal::not_ours) << more;
  EXPECT_EQ(seal.open(" " + id, now).error(), Refusal::not_ours);
}

TEST(SessionSeal, an_id_of_a_megabyte_is_rejected_unread) {
  const SessionSeal seal = sealed_with(old_key);
  EXPECT_EQ(seal.open("k1." + std::string(1'000'000, 'A'), now).error(), Refusal::not_ours);
  EXPECT_EQ(seal.open(std::string(1'000'000, '.'), now).error(), Refusal::not_ours);
}

// The same bytes under two ids: only the associated data tells which key sealed them.
TEST(SessionSeal, the_key_id_is_authenticated) {
  std::string same = old_key;
  same[1] = '3';
  const SessionSeal seal = sealed_with(old_key + same);
  std::string id = seal.seal(some_ticket());
  ASSERT_TRUE(seal.open(id, now));
  id[1] = '3';
  EXPECT_EQ(seal.open(id, now).error(), Refusal::not_ours);
}

TEST(SessionSeal, keys_are_rotated_without_ending_a_session) {
  SessionSeal seal = sealed_with(old_key);
  const std::string first = seal.seal(some_ticket());
  seal.use(*SessionKeys::parse("keys", new_key + old_key));
  const std::string second = seal.seal(some_ticket());
  EXPECT_TRUE(second.starts_with("k2."));
  EXPECT_TRUE(seal.open(first, now));
  EXPECT_TRUE(seal.open(second, now));
  seal.use(*SessionKeys::parse("keys", new_key));
  EXPECT_EQ(seal.open(first, now).error(), Refusal::not_ours);
  EXPECT_TRUE(seal.open(second, now));
}

TEST(SessionSeal, an_id_from_another_machine_with_the_same_key_opens_here) {
  EXPECT_TRUE(sealed_with(new_key + old_key).open(sealed_with(old_key).seal(some_ticket()), now));
}

TEST(SessionSeal, a_hello_that_is_too_long_is_omitted_and_marked_as_such) {
  const SessionSeal seal = sealed_with(old_key);
  SessionTicket ticket = some_ticket();
  std::size_t longest = 0;  // of the ids with a hello
  bool left_out = false;
  for (std::size_t size = 500; size < 800; ++size) {
    ticket.hello = std::string(size, 'h');
    const std::string id = seal.seal(ticket);
    ASSERT_LE(id.size(), 1024U);
    const auto opened = seal.open(id, now);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->uid, ticket.uid);
    EXPECT_EQ(opened->hello, opened->hello_inside ? ticket.hello : "");
    EXPECT_FALSE(left_out && opened->hello_inside);
    left_out = !opened->hello_inside;
    if (!left_out) longest = id.size();
  }
  EXPECT_TRUE(left_out);
  EXPECT_GT(longest, 1022U) << "it is left out only when there is no room";
  ticket.hello = std::string(1'000'000, 'h');
  EXPECT_FALSE(seal.open(seal.seal(ticket), now)->hello_inside);
}

TEST(SessionSeal, resealing_a_ticket_does_not_turn_a_missing_hello_into_an_empty_one) {
  const SessionSeal seal = sealed_with(old_key);
  SessionTicket ticket = some_ticket();
  ticket.hello = std::string(2000, 'h');
  const auto opened = seal.open(seal.seal(ticket), now);
  EXPECT_FALSE(seal.open(seal.seal(*opened), now)->hello_inside);
}

TEST(SessionSeal, texts_that_are_too_long_even_without_the_hello_get_no_id) {
  const SessionSeal seal = sealed_with(old_key);
  SessionTicket ticket = some_ticket();
  ticket.principal = std::string(600, 'p');
  EXPECT_TRUE(seal.open(seal.seal(ticket), now));
  ticket.principal = std::string(800, 'p');
  EXPECT_EQ(seal.seal(ticket), "");
  ticket.principal = std::string(100'000, 'p');
  EXPECT_EQ(seal.seal(ticket), "");
}

RC_GTEST_PROP(SessionSeal, returns_every_ticket_unchanged_whatever_bytes_it_contains,
              (const std::string& principal, const std::string& profile, const std::string& hello)) {
  const SessionSeal seal = sealed_with(old_key);
  SessionTicket ticket = some_ticket();
  ticket.principal = principal;
  ticket.profile = profile;
  ticket.hello = hello;
  const auto opened = seal.open(seal.seal(ticket), now);
  RC_ASSERT(opened.has_value());
  RC_ASSERT(*opened == ticket);
}

RC_GTEST_PROP(SessionSeal, arbitrary_text_is_never_ours, (const std::string& text)) {
  const SessionSeal seal = sealed_with(old_key);
  RC_ASSERT(seal.open(text, now).error() == Refusal::not_ours);
  RC_ASSERT(seal.open("k1." + base64url(text), now).error() == Refusal::not_ours);
}

}  // namespace
}  // namespace mcpivot
