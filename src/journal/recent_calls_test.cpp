#include "journal/recent_calls.h"

#include <gmock/gmock.h>

#include "journal/journal_fixture.h"

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CallRow row(std::uint64_t client, RecordedCall::Outcome outcome = RecordedCall::Outcome::ok) {
  return {.took = 1500, .client = client, .method = "tools/call", .name = "echo", .outcome = outcome};
}

TEST(RecentCalls, a_client_sees_only_its_own_calls) {
  RecentCalls calls;
  calls.add(row(1), R"({"a":1})", JournalFeed::result_text(1, "first\\nline"));
  calls.add(row(2), R"({"secret":2})", JournalFeed::result_text(1, "other"));
  EXPECT_THAT(calls.last(1, 10), ElementsAre(HasSubstr(R"( echo 1.5 ms: ok, {"a":1} → first line)")));
  EXPECT_THAT(calls.last(3, 10), IsEmpty());
}

TEST(RecentCalls, says_what_went_wrong) {
  RecentCalls calls;
  calls.add(row(1, RecordedCall::Outcome::error), "{}", R"({"id":1,"error":{"code":-1,"message":"bad"}})");
  calls.add(row(1, RecordedCall::Outcome::cancelled), "{}", "");
  EXPECT_THAT(calls.last(1, 10), ElementsAre(HasSubstr("error, {} → bad"), HasSubstr("cancelled, {}")));
}

TEST(RecentCalls, keeps_the_latest_calls) {
  RecentCalls calls;
  for (int i = 0; i < 500; ++i) calls.add(row(1), std::to_string(i), JournalFeed::result_text(i, "x"));
  EXPECT_THAT(calls.last(1, 1000), SizeIs(100));
  EXPECT_THAT(calls.last(1, 1), ElementsAre(HasSubstr("499")));
}

TEST(RecentCalls, forgets_the_client_whose_last_call_is_oldest) {
  RecentCalls calls;
  for (std::uint64_t client = 1; client <= 1500; ++client)
    for (const std::uint64_t caller : {client, std::uint64_t{1}})
      calls.add(row(caller), "{}", JournalFeed::result_text(1, "x"));
  EXPECT_THAT(calls.last(1, 1), SizeIs(1));
  EXPECT_THAT(calls.last(1500, 1), SizeIs(1));
  EXPECT_THAT(calls.last(2, 1), IsEmpty());
}

}  // namespace
}  // namespace mcpivot
