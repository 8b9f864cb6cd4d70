// What many clients of `mcpivot serve` leave behind when they have gone, and what it needs to have many. The
// long version is `./dev bench serve --leaks`.
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "serves.h"

namespace harness {
namespace {

using testing::SizeIs;

TEST(ServeLeaks, sessions_after_the_first_five_hundred_use_no_more_memory_or_descriptors) {
  Serve serve({"--session-idle", "200ms"});
  const pid_t pid = serve.child().pid();
  std::size_t come = 0;
  // They initialize and are abandoned; of each five, one listens in the meantime.
  const auto come_and_go = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      WebClient client(serve);
      client.initialize();
      if (i % 5 == 0) client.listen();
    }
    come += count;
    return wait_until([&] { return serve.logged("is gone") == come && serve.servers().empty(); },
                      in_a_while());
  };
  const auto descriptors_are = [&](std::size_t most) {
    return wait_until([&] { return open_fds(pid) <= most; }, in_a_while());
  };
  ASSERT_TRUE(come_and_go(10));  // whatever is opened once and kept open
  const std::size_t before = open_fds(pid);
  ASSERT_TRUE(come_and_go(500));
  EXPECT_TRUE(descriptors_are(before)) << before << " before, now " << open_fds(pid);
  const long first = rss_kb(pid);
  ASSERT_TRUE(come_and_go(500));
  EXPECT_TRUE(descriptors_are(before)) << before << " before, now " << open_fds(pid);
  // Freed memory is returned a moment later.
  const long most = is_instrumented() ? 2 * first : first + first / 10;
  EXPECT_TRUE(wait_until([&] { return rss_kb(pid) <= most; }, in_a_while()))
      << first << " KB after the first, " << rss_kb(pid) << " KB after the second";
}

// The soft limit, as the kernel prints it.
std::size_t descriptor_limit(pid_t pid) {
  std::ifstream limits("/proc/" + std::to_string(pid) + "/limits");
  for (std::string line; std::getline(limits, line);)
    if (line.starts_with("Max open files")) return std::stoul(line.substr(14));
  return 0;
}

TEST(ServeLeaks, mcpivot_raises_its_descriptor_limit_but_not_that_of_servers) {
  rlimit ours{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &ours), 0);
  const rlimit few{500, ours.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  Serve serve;
  ::setrlimit(RLIMIT_NOFILE, &ours);
  WebClient client(serve);
  client.initialize();
  client.call("pid");
  EXPECT_EQ(descriptor_limit(serve.child().pid()), std::min<rlim_t>(ours.rlim_max, 65'536));
  ASSERT_THAT(serve.servers(), SizeIs(1));
  EXPECT_EQ(descriptor_limit(serve.servers().front()), 500U);
}

}  // namespace
}  // namespace harness
