// Names are looked up by the system; here, one name waits for the test, as if no name server answered.
#include "link/name_lookup.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "link/http_client.h"

namespace {

constexpr std::string_view slow_name = "slow.test";
constexpr std::string_view missing_name = "missing.test";

// The lookups of that name.
class SlowLookups {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_end_; });
    ++ended_;
    changed_.notify_all();
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    may_end_ = false;
    begun_ = ended_ = 0;
  }
  // And waits until all have ended.
  void let_go() {
    std::unique_lock lock(mutex_);
    may_end_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return ended_ == begun_; });
  }
  bool has_begun() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return begun_ > 0; });
  }
  int begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_end_ = true;
  int begun_ = 0;
  int ended_ = 0;
} slow_lookups;

}  // namespace

// Takes the place of the C library's.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  if (name != nullptr && name == slow_name) {
    slow_lookups.wait();
    return EAI_AGAIN;
  }
  if (name != nullptr && name == missing_name) return EAI_NONAME;
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return original(name, service, hints, found);
}

namespace mcpivot {
namespace {

class Failing final : public HttpExchange {
 public:
  void on_head(const HttpHead&) override {}
  void on_body(std::string_view) override {}
  void on_done() override {}
  void on_failed(const HttpFailure& told) override { failure = told; }
  std::optional<HttpFailure> failure;
};

class NameLookups : public testing::Test {
 protected:
  NameLookups() { slow_lookups.hold(); }
  ~NameLookups() override { slow_lookups.let_go(); }

  static std::unique_ptr<HttpClient> client_of(boost::asio::io_context& loop, std::string_view name) {
    HttpOrigin origin;
    origin.url = *parse_url("http://" + std::string(name) + ":1/");
    return std::make_unique<HttpClient>(loop, std::move(*HttpDialer::make(loop, origin)), "");
  }
  static std::shared_ptr<Failing> ask(HttpClient& client) {
    auto exchange = std::make_shared<Failing>();
    client.send({.method = "GET", .target = "/", .headers = {}, .body = {}}, exchange);
    return exchange;
  }
  static void run_until_failed(boost::asio::io_context& loop, const Failing& exchange) {
    while (!exchange.failure && loop.run_one_for(std::chrono::seconds(20)) > 0) continue;
  }
};

TEST_F(NameLookups, a_name_that_takes_long_holds_up_no_other_name) {
  boost::asio::io_context loop;
  const auto slow = client_of(loop, slow_name);
  const auto other = client_of(loop, missing_name);
  const auto waits = ask(*slow);
  loop.poll();
  ASSERT_TRUE(slow_lookups.has_begun());
  const auto fails = ask(*other);
  run_until_failed(loop, *fails);
  ASSERT_TRUE(fails->failure.has_value());
  EXPECT_EQ(fails->failure->kind, HttpFailure::unreachable);
  EXPECT_FALSE(waits->failure.has_value());
  slow_lookups.let_go();
  run_until_failed(loop, *waits);
  ASSERT_TRUE(waits->failure.has_value());
  EXPECT_EQ(waits->failure->kind, HttpFailure::unreachable);
  slow->close();
  other->close();
}

TEST_F(NameLookups, the_end_waits_for_no_name) {
  {
    boost::asio::io_context loop;
    const auto slow = client_of(loop, slow_name);
    ask(*slow);
    loop.poll();
    ASSERT_TRUE(slow_lookups.has_begun());
    slow->close();
  }
  slow_lookups.let_go();  // what comes too late finds nobody
}

TEST_F(NameLookups, a_name_that_is_being_looked_up_is_not_looked_up_again) {
  boost::asio::io_context loop;
  const auto one = client_of(loop, slow_name);
  const auto another = client_of(loop, slow_name);
  const auto first = ask(*one);
  const auto second = ask(*another);
  loop.poll();
  ASSERT_TRUE(slow_lookups.has_begun());
  slow_lookups.let_go();
  run_until_failed(loop, *first);
  run_until_failed(loop, *second);
  EXPECT_TRUE(first->failure.has_value());
  EXPECT_TRUE(second->failure.has_value());
  EXPECT_EQ(slow_lookups.begun(), 1);
  one->close();
  another->close();
}

}  // namespace
}  // namespace mcpivot
