#include "server/executable.h"

#include <gtest/gtest.h>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Programs : public testing::Test {
 protected:
  // A program in the folder.
  std::string program(const std::string& name) {
    folder.write(name, "#!/bin/sh\n");
    fs::permissions(folder / name, fs::perms::owner_all);
    return folder / name;
  }
  Command command(std::vector<std::string> argv) {
    return {.argv = std::move(argv), .cwd = folder.path().string(), .env = {}};
  }
  host::TemporaryDirectory folder;
};

TEST_F(Programs, the_file_of_a_command_is_its_program_or_the_interpreters_script) {
  const std::string own = program("server");
  const std::string script = program("server.py");
  EXPECT_EQ(own_file(command({own})), own);
  EXPECT_EQ(own_file(command({"./server"})), own) << "as seen from its folder";
  EXPECT_EQ(own_file(command({"python3.11", "-u", "server.py"})), script);
  EXPECT_EQ(own_file(command({"python3", "-m", "server.py"})), "") << "a module, wherever it is";
  EXPECT_EQ(own_file(command({"node", "missing.js"})), "");
  EXPECT_EQ(own_file(command({"npx", "server.py"})), "") << "it finds out itself what to run";
  EXPECT_EQ(own_file({}), "");
}

TEST_F(Programs, only_the_users_own_program_may_be_stopped_in_every_process) {
  const std::string own = program("server");
  const auto stoppable = stoppable_program(command({own}));
  ASSERT_TRUE(stoppable);
  EXPECT_EQ(stoppable->path, own);
  program("python3");
  EXPECT_FALSE(stoppable_program(command({"./python3", "server"}))) << "others use it for other things";
  EXPECT_FALSE(stoppable_program(command({"/bin/sh"}))) << "the system's";
  EXPECT_FALSE(stoppable_program(command({"/proc/self/exe"}))) << "mcpivot itself";
  EXPECT_FALSE(stoppable_program(command({"./missing"})));
  EXPECT_FALSE(stoppable_program({})) << "a daemon";
}

TEST_F(Programs, a_symlink_counts_as_its_target) {
  const std::string own = program("server");
  fs::create_symlink(own, folder / "link");
  EXPECT_EQ(stoppable_program(command({"./link"}))->path, own);
  fs::create_symlink("/bin/sh", folder / "shell");
  EXPECT_FALSE(stoppable_program(command({"./shell"})));
}

TEST_F(Programs, a_file_is_described_by_its_size_and_age) {
  folder.write("server.py", std::string(1'500, '#'));
  folder.write("server",
               "\x7f"
               "ELF" +
                   std::string(2'000'000, '.'));
  const auto script = look_at(folder / "server.py");
  const auto binary = look_at(folder / "server");
  ASSERT_TRUE(script && binary);
  EXPECT_EQ(script->text(script->modified() + 3s), (folder / "server.py") + ", 2 kB, saved 3 s ago");
  EXPECT_EQ(binary->text(binary->modified() - 1s), (folder / "server") + ", 2.0 MB, built 0 ms ago")
      << "a clock that was set back";
  EXPECT_FALSE(look_at(folder / "missing"));
  EXPECT_FALSE(look_at(""));
}

}  // namespace
}  // namespace mcpivot
