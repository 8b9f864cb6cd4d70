#include "front/admission.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

HttpAsk ask(std::string_view host, std::string_view origin = {}) {
  HttpAsk ask;
  ask.method = "POST";
  ask.target = "/mcp";
  ask.peer = "127.0.0.1";
  ask.local_port = 7420;
  ask.add("Host", host);
  if (!origin.empty()) ask.add("Origin", origin);
  return ask;
}

Admission on_loopback() {
  AdmissionRules rules;
  rules.listens.push_back(*parse_listen_address("127.0.0.1:7420"));
  return Admission(std::move(rules));
}

TEST(Admission, takes_the_names_of_this_machine) {
  const Admission admission = on_loopback();
  for (const char* host : {"127.0.0.1:7420", "localhost:7420", "LOCALHOST", "[::1]:7420", "127.0.0.2"})
    EXPECT_TRUE(admission.admit(ask(host))) << host;
}

// A web page may have made its own name lead here.
TEST(Admission, refuses_names_that_only_look_like_this_machines) {
  const Admission admission = on_loopback();
  for (const char* host : {"example.com", "127.example.com:7420", "127.0.0.1.example.com",
                           "localhost.example.com", "", "[::1", "127."}) {
    const auto admitted = admission.admit(ask(host));
    ASSERT_FALSE(admitted) << host;
    EXPECT_EQ(admitted.error().status, 403) << host;
  }
}

TEST(Admission, refuses_pages_of_other_origins) {
  const Admission admission = on_loopback();
  EXPECT_TRUE(admission.admit(ask("localhost:7420", "http://localhost:7420")));
  for (const char* origin : {"http://example.com", "http://127.example.com:7420", "http://localhost:7421",
                             "https://localhost:7420", "null", "http://localhost:7420.example.com"})
    EXPECT_FALSE(admission.admit(ask("localhost:7420", origin))) << origin;
}

}  // namespace
}  // namespace mcpivot
