#include "server/start_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "world/real_files.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// A cache in a folder of its own.
class StartCacheFiles : public testing::Test {
 protected:
  StartCacheFiles() {
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    config_.command.argv = {"/bin/server"};
    catalog_.add_page(ListKind::tools, R"({"tools":[{"name":"a"}]})");
    cache().save(R"({"capabilities":{}})", catalog_);
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) file_ = entry.path();
  }
  ~StartCacheFiles() override { ::unsetenv("XDG_CACHE_HOME"); }
  StartCache cache() const { return {files_, config_, std::nullopt, "{}"}; }
  void write(std::string_view text) const { std::ofstream(file_, std::ios::binary) << text; }

  TemporaryFolder folder_;
  mutable RealFiles files_;
  ServerConfig config_;
  Catalog catalog_;
  fs::path file_;
};

TEST_F(StartCacheFiles, what_was_saved_is_loaded) {
  const auto last = cache().load();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->initialize_result, R"({"capabilities":{}})");
  EXPECT_EQ(last->catalog.list(ListKind::tools), catalog_.list(ListKind::tools));
}

// It would be sent to the client as it is, and a newline within a message makes two of it.
TEST_F(StartCacheFiles, a_file_that_cannot_be_sent_as_it_is_counts_as_none) {
  for (const std::string_view text :
       {std::string_view("{\"initialize\":{\n},\"tools\":[]}\n"),
        std::string_view("{\"initialize\":{}}\n{}\n"),
        std::string_view("{\"initialize\":{\"x\":\"\xff\"}}\n"), std::string_view("{\"initialize\":{}"),
        std::string_view("{\"initialize\":{}}"), std::string_view("{\"initialize\":1}\n"),
        std::string_view("[]\n"), std::string_view("")}) {
    write(text);
    EXPECT_FALSE(cache().load().has_value()) << text;
  }
}

}  // namespace
}  // namespace mcpivot
