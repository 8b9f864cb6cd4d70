#include "control/running_mcpivots.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <filesystem>

#include "control/temporary_runtime_folder.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<pid_t> running() {
  std::vector<pid_t> pids;
  for (const RunningMcpivot& mcpivot : running_mcpivots()) pids.push_back(mcpivot.pid);
  return pids;
}

TEST(RunningMcpivots, are_those_that_listen_the_oldest_first) {
  const TemporaryRuntimeFolder folder;
  const int second = folder.listen("1000");
  const int first = folder.listen("999");
  EXPECT_THAT(running(), ElementsAre(999, 1000));
  EXPECT_EQ(running_mcpivots().front().socket, folder.socket("999"));
  ::close(first);
  ::close(second);
}

TEST(RunningMcpivots, are_none_where_there_is_no_folder) {
  const TemporaryRuntimeFolder folder;
  const TemporaryRuntimeFolder::Elsewhere nowhere(folder.path() + "/nowhere");
  EXPECT_THAT(running(), IsEmpty());
}

TEST(RunningMcpivots, the_files_of_dead_ones_are_removed_and_those_of_others_are_not) {
  const TemporaryRuntimeFolder folder;
  folder.dead_socket("7");
  folder.dead_socket("somebody");
  folder.write("8.txt");
  EXPECT_THAT(running(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.socket("7")));
  EXPECT_TRUE(fs::exists(folder.socket("somebody")));
  EXPECT_TRUE(fs::exists(folder.path() + "/mcpivot/8.txt"));
}

TEST(RunningMcpivots, one_that_is_too_busy_to_let_anybody_in_counts) {
  const TemporaryRuntimeFolder folder;
  const int busy = folder.listen("7", 0);
  const int waiting = connect_to(folder.socket("7"), SOCK_NONBLOCK);
  ASSERT_GE(waiting, 0);
  EXPECT_EQ(connect_to(folder.socket("7"), SOCK_NONBLOCK), -1);
  EXPECT_THAT(running(), ElementsAre(7));
  EXPECT_TRUE(fs::exists(folder.socket("7")));
  ::close(waiting);
  ::close(busy);
}

TEST(RunningMcpivots, a_path_that_no_socket_can_have_is_an_error) {
  EXPECT_EQ(connect_to("/" + std::string(200, 'x'), 0), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
}

}  // namespace
}  // namespace mcpivot
