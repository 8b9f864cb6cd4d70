// For tests of `mcpivot install`, `uninstall` and `init`: a home folder with files as clients write
// them and as people leave them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "harness.h"

namespace harness {

// The folder is the home, and also the project.
class Install : public testing::Test {
 protected:
  void write(const std::filesystem::path& name, std::string_view text) const {
    std::filesystem::create_directories((folder() / name).parent_path());
    std::ofstream(folder() / name, std::ios::binary) << text;
  }
  std::string read(const std::filesystem::path& name) const { return content_of(folder() / name); }
  boost::json::object parsed(const std::filesystem::path& name) const {
    return boost::json::parse(read(name), {}, {.allow_comments = true, .allow_trailing_commas = true})
        .as_object();
  }
  bool exists(const std::filesystem::path& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(folder() / name));
  }
  // All files, so that nothing is added unnoticed.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder()))
      if (!entry.is_directory()) all.push_back(std::filesystem::relative(entry.path(), folder()));
    std::erase(all, "state/mcpivot/installed/lock");
    std::ranges::sort(all);
    return all;
  }
  // Files and folders.
  Strings everything() const {
    Strings all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder()))
      all.push_back(std::filesystem::relative(entry.path(), folder()));
    std::ranges::sort(all);
    return all;
  }
  Outcome run(const Strings& arguments, const Environment& added = {}) const {
    Strings command{mcpivot_binary()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_command(command, added);
  }
  Outcome run_command(const Strings& command, const Environment& added = {}) const {
    Environment environment = private_folders(folder());
    environment.emplace_back("XDG_DATA_HOME", folder() / "data");
    environment.emplace_back("PATH", "/usr/bin:/bin");
    environment.insert(environment.end(), added.begin(), added.end());
    return run_to_end(command, environment, folder());
  }
  Outcome good(const std::vector<std::string>& arguments) const {
    Outcome result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return result;
  }
  const std::filesystem::path& folder() const { return directory_.path(); }
  std::string config() const { return folder() / "config/mcpivot/mcpivot.json"; }

 private:
  TemporaryDirectory directory_;
};

// A file like those that people have: comments, odd spacing, other settings.
inline constexpr std::string_view lived_in =
    "{\n\t// mine\n\t\"theme\" : \"dark\",\n\t\"mcpServers\":{\n"
    "\t\t\"notes\": {\"command\":\"npx\",  \"args\":[\"notes\"]}, // often\n"
    "\t\t\"linear\": { \"url\": \"https://mcp.example.com/mcp\" },\n"
    "\t\t\"docs\": {\n\t\t\t\"command\": \"docs\", /* why */ \"env\": { \"A\": \"1\" }\n\t\t}\n"
    "\t},\n\t\"last\": [1,2 ,3]}\n\n";

}  // namespace harness
