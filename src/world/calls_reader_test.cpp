#include "world/calls_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "host/temporary_directory.h"
#include "journal/journal_fixture.h"
#include "journal/journal_folder.h"
#include "journal/journal_writer.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Field;

class CallsReaderTest : public testing::Test {
 protected:
  CallsReaderTest() { ::setenv("XDG_STATE_HOME", folder_.path().c_str(), 1); }
  ~CallsReaderTest() override { ::unsetenv("XDG_STATE_HOME"); }

 private:
  host::TemporaryDirectory folder_;
};

TEST_F(CallsReaderTest, an_answer_that_is_too_large_to_compare_hides_no_earlier_call) {
  const auto writer = std::make_shared<JournalWriter>(
      JournalSettings{.folder = journal_folder(), .name = "dev"}, [](const std::string&) {});
  ASSERT_TRUE(writer->start());
  JournalFeed feed(writer->queue());
  feed.now = std::chrono::steady_clock::now().time_since_epoch().count();
  feed.call(1, "small", "{}", "fine");
  feed.call(2, "large", "{}", std::string(17'000'000, 'x'));
  ASSERT_TRUE(writer->close(20s));
  ServerConfig config;
  config.name = "dev";
  config.verify.calls = "journal";
  const auto calls = read_calls_to_check(config);
  ASSERT_TRUE(calls) << calls.error();
  EXPECT_THAT(calls->calls, ElementsAre(Field(&CheckedCall::tool, "small")));
}

}  // namespace
}  // namespace mcpivot
