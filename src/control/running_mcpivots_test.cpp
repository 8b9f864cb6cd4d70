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

TEST(RunningMcpivots, are_those_that_listen_oldest_first) {
  const TemporaryRuntimeFolder folder;
  const int second = folder.listen("1000");
  const int first = folder.listen("999");
  EXPECT_THAT(running(), ElementsAre(999, 1000));
  EXPECT_EQ(running_mcpivots().front().socket, folder.socket("999"));
  ::close(first);
  ::close(second);
}

TEST(RunningMcpivots, are_none_if_there_is_no_folder) {
  const TemporaryRuntimeFolder folder;
  const TemporaryRuntimeFolder::Elsewhere nowhere(folder.path() + "/nowhere");
  EXPECT_THAT(running(), IsEmpty());
}

TEST(RunningMcpivots, only_socket_files_of_dead_mcpivots_are_removed) {
  const TemporaryRuntimeFolder folder;
  folder.dead_socket("7");
  folder.dead_socket("somebody");
  folder.write("8.txt");
  EXPECT_THAT(running(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.socket("7")));
  EXPECT_TRUE(fs::exists(folder.socket("somebody")));
  EXPECT_TRUE(fs::exists(folder.path() + "/mcpivot/8.txt"));
}

TEST(RunningMcpivots, an_mcpivot_too_busy_to_accept_connections_is_included) {
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

TEST(RunningMcpivots, a_path_too_long_for_a_socket_is_an_error) {
  EXPECT_EQ(connect_to("/" + std::string(200, 'x'), 0), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
}

}  // namespace
}  // namespace mcpivot
