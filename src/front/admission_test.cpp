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

TEST(Admission, accepts_the_names_of_this_machine) {
  const Admission admission = on_loopback();
  for (const char* host : {"127.0.0.1:7420", "localhost:7420", "LOCALHOST", "[::1]:7420", "127.0.0.2"})
    EXPECT_TRUE(admission.admit(ask(host))) << host;
}

// A web page may have made its own name resolve to us.
TEST(Admission, rejects_names_that_only_resemble_this_machines) {
  const Admission admission = on_loopback();
  for (const char* host :
       {"example.com", "127.example.com:7420", "127.0.0.1.example.com", "localhost.example.com", "", "[::1",
        "127.", "[::1]example.com", "localhost:80@example.com", "localhost:http"}) {
    const auto admitted = admission.admit(ask(host));
    ASSERT_FALSE(admitted) << host;
    EXPECT_EQ(admitted.error().status, 403) << host;
  }
}

TEST(Admission, rejects_pages_of_other_origins) {
  const Admission admission = on_loopback();
  EXPECT_TRUE(admission.admit(ask("localhost:7420", "http://localhost:7420")));
  for (const char* origin : {"http://example.com", "http://127.example.com:7420", "http://localhost:7421",
                             "https://localhost:7420", "null", "http://localhost:7420.example.com"})
    EXPECT_FALSE(admission.admit(ask("localhost:7420", origin))) << origin;
}

Admission behind_proxy(std::string_view proxy, std::string public_url = {}) {
  AdmissionRules rules;
  rules.listens.push_back(*parse_listen_address("127.0.0.1:7420"));
  rules.listens.push_back(*parse_listen_address("unix:/run/mcpivot.sock"));
  rules.public_url = std::move(public_url);
  EXPECT_TRUE(rules.proxies.add(proxy));
  return Admission(std::move(rules));
}

HttpAsk forwarded(std::string_view host, std::string_view forwarded_host, std::string_view origin = {}) {
  HttpAsk asked = ask(host, origin);
  asked.add("X-Forwarded-Proto", "https");
  if (!forwarded_host.empty()) asked.add("X-Forwarded-Host", forwarded_host);
  return asked;
}

TEST(Admission, behind_a_trusted_proxy_the_public_name_and_its_origin_are_accepted) {
  const Admission admission = behind_proxy("127.0.0.1", "https://pivot.example/mcp");
  EXPECT_TRUE(admission.admit(forwarded("pivot.example", "", "https://pivot.example")));
  EXPECT_TRUE(admission.admit(forwarded("127.0.0.1:7420", "pivot.example", "https://pivot.example")));
  EXPECT_TRUE(admission.admit(forwarded("pivot.example", "Pivot.example:443, localhost")));
  EXPECT_FALSE(admission.admit(forwarded("pivot.example", "", "http://pivot.example")));
  EXPECT_FALSE(admission.admit(forwarded("pivot.example", "", "https://other.example")));
}

TEST(Admission, a_name_forwarded_by_a_trusted_proxy_must_be_ours) {
  const Admission admission = behind_proxy("127.0.0.1", "https://pivot.example/mcp");
  EXPECT_FALSE(admission.admit(forwarded("evil.example", "")));
  EXPECT_FALSE(admission.admit(forwarded("localhost", "evil.example")));
  EXPECT_FALSE(admission.admit(forwarded("localhost", "pivot.example, evil.example")));
  EXPECT_FALSE(admission.admit(forwarded("localhost", "evil.example, pivot.example")));
  EXPECT_FALSE(admission.admit(forwarded("localhost", " , pivot.example")));
}

// A proxy that isn't configured to set X-Forwarded-Host passes on what a web page puts there.
TEST(Admission, a_forwarded_name_does_not_excuse_a_foreign_host_header) {
  EXPECT_FALSE(behind_proxy("127.0.0.1").admit(forwarded("evil.example", "localhost")));
}

TEST(Admission, the_scheme_forwarded_by_a_trusted_proxy_determines_the_origin_of_our_pages) {
  const Admission trusting = behind_proxy("127.0.0.1");
  EXPECT_TRUE(trusting.admit(forwarded("localhost", "", "https://localhost")));
  EXPECT_TRUE(trusting.admit(forwarded("localhost:8443", "", "https://localhost:8443")));
  EXPECT_TRUE(trusting.admit(forwarded("localhost:7420", "localhost", "https://localhost")));
  EXPECT_FALSE(trusting.admit(forwarded("localhost", "", "http://localhost:7420")));
  EXPECT_TRUE(trusting.admit(ask("localhost:7420", "http://localhost:7420")));
}

TEST(Admission, headers_of_an_untrusted_proxy_are_ignored) {
  const Admission wary = behind_proxy("192.0.2.1");
  EXPECT_TRUE(wary.admit(forwarded("localhost", "evil.example", "http://localhost:7420")));
  EXPECT_FALSE(wary.admit(forwarded("localhost", "", "https://localhost")));
  HttpAsk asked = forwarded("localhost", "");
  asked.add("X-Forwarded-For", "203.0.113.9");
  EXPECT_EQ(wary.address_of(asked), "127.0.0.1");
  EXPECT_EQ(behind_proxy("127.0.0.1").address_of(asked), "203.0.113.9");
}

// No web page can connect to a Unix socket by itself, but through a proxy it can.
TEST(Admission, on_a_unix_socket_names_are_checked_only_for_a_trusted_proxy) {
  HttpAsk asked = ask("evil.example");
  asked.peer = "unix";
  EXPECT_TRUE(behind_proxy("127.0.0.1").admit(asked));
  EXPECT_FALSE(behind_proxy("unix").admit(asked));
}

}  // namespace
}  // namespace mcpivot
