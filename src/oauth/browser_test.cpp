#include "oauth/browser.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace mcpivot {
namespace {

using Words = std::vector<std::string>;

std::optional<Words> command(const std::map<std::string, std::string>& variables) {
  return browser_command("https://i.example/a?b=c d", [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Browser, is_the_first_existing_program_in_BROWSER) {
  const std::string url = "https://i.example/a?b=c d";
  EXPECT_EQ(command({{"BROWSER", "/bin/true"}}), (Words{"/bin/true", url}));
  EXPECT_EQ(command({{"BROWSER", "/bin/true --new-tab=%s -x"}}),
            (Words{"/bin/true", "--new-tab=" + url, "-x"}));
  EXPECT_EQ(command({{"BROWSER", "/nowhere/firefox:/bin/true"}}), (Words{"/bin/true", url}));
  // The URL is one argument, whatever it contains: no shell interprets it.
  EXPECT_EQ(command({{"BROWSER", "/bin/true;/bin/false"}}), std::nullopt);
}

TEST(Browser, is_unavailable_without_a_display_or_if_BROWSER_says_so) {
  EXPECT_EQ(command({}), std::nullopt);
  EXPECT_EQ(command({{"BROWSER", ""}}), std::nullopt);
  EXPECT_EQ(command({{"BROWSER", "none"}, {"DISPLAY", ":0"}}), std::nullopt);
  EXPECT_EQ(command({{"BROWSER", "/nowhere/firefox"}, {"DISPLAY", ":0"}}), std::nullopt);
}

}  // namespace
}  // namespace mcpivot
