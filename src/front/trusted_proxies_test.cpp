#include "front/trusted_proxies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;

TrustedProxies trusting(std::initializer_list<const char*> all) {
  TrustedProxies proxies;
  for (const char* each : all) {
    const auto added = proxies.add(each);
    EXPECT_TRUE(added) << each << ": " << (added ? "" : added.error());
  }
  return proxies;
}

HttpAsk ask(std::string_view peer, std::string_view forwarded_for = {}) {
  HttpAsk ask;
  ask.peer = peer;
  ask.local_port = 7420;
  ask.add("Host", "localhost:7420");
  if (!forwarded_for.empty()) ask.add("X-Forwarded-For", forwarded_for);
  return ask;
}

std::string client_in(const TrustedProxies& proxies, std::string_view forwarded_for) {
  return proxies.caller(ask("127.0.0.1", forwarded_for)).address;
}

TEST(TrustedProxies, trusts_only_the_given_addresses_and_networks) {
  const TrustedProxies proxies = trusting({"127.0.0.1", "10.0.0.0/8", "2001:db8::/32", "::1"});
  for (const char* peer : {"127.0.0.1", "10.0.0.0", "10.255.255.255", "2001:db8::1",
                           "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "::1", "::ffff:10.1.2.3"})
    EXPECT_TRUE(proxies.trusts(peer)) << peer;
  for (const char* peer :
       {"127.0.0.2", "9.255.255.255", "11.0.0.0", "2001:db9::", "::2", "::", "::ffff:11.0.0.1", "unix", ""})
    EXPECT_FALSE(proxies.trusts(peer)) << peer;
  EXPECT_FALSE(TrustedProxies().trusts("127.0.0.1"));
  EXPECT_FALSE(TrustedProxies().trusts("unix"));
  EXPECT_TRUE(trusting({"unix"}).trusts("unix"));
}

TEST(TrustedProxies, a_network_prefix_may_end_at_any_bit) {
  const TrustedProxies proxies =
      trusting({"192.0.2.64/26", "fe80::/10", "203.0.113.7/32", "2001:db8::5/128"});
  for (const char* peer : {"192.0.2.64", "192.0.2.127", "fe80::1", "febf::1", "203.0.113.7", "2001:db8::5"})
    EXPECT_TRUE(proxies.trusts(peer)) << peer;
  for (const char* peer : {"192.0.2.63", "192.0.2.128", "fec0::1", "203.0.113.6", "2001:db8::4"})
    EXPECT_FALSE(proxies.trusts(peer)) << peer;
}

TEST(TrustedProxies, trusting_all_of_ipv4_does_not_include_ipv6) {
  EXPECT_TRUE(trusting({"0.0.0.0/0"}).trusts("203.0.113.7"));
  EXPECT_FALSE(trusting({"0.0.0.0/0"}).trusts("2001:db8::1"));
  EXPECT_TRUE(trusting({"::/0"}).trusts("2001:db8::1"));
}

TEST(TrustedProxies, an_ipv4_mapped_network_means_the_ipv4_network) {
  EXPECT_TRUE(trusting({"::ffff:10.0.0.0/104"}).trusts("10.9.9.9"));
  EXPECT_TRUE(trusting({"::ffff:10.0.0.1"}).trusts("10.0.0.1"));
}

TEST(TrustedProxies, an_invalid_entry_is_an_error_that_says_what_to_write) {
  const auto error = [](std::string_view text) {
    const auto added = TrustedProxies().add(text);
    EXPECT_FALSE(added) << text;
    return added ? std::string() : added.error();
  };
  for (const char* text :
       {"", "localhost", "proxy.example", "10.0.0", "10.0.0.0.0", "256.0.0.1", "/8", "Unix",
        "unix:/run/nginx.sock", "127.0.0.1,10.0.0.1", " 127.0.0.1", "*", "fe80::1%eth0"})
    EXPECT_THAT(error(text), HasSubstr("10.0.0.0/8")) << text;
  for (const char* text : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/8/8",
                           "10.0.0.0/255.0.0.0", "10.0.0.0/99999999999"})
    EXPECT_THAT(error(text), HasSubstr("from 0 to 32")) << text;
  EXPECT_THAT(error("2001:db8::/129"), HasSubstr("from 0 to 128"));
  for (const char* text : {"127.0.0.1:80", "[::1]", "[::1]:80"})
    EXPECT_THAT(error(text), HasSubstr("without a port and brackets")) << text;
  EXPECT_THAT(error("10.0.0.5/8"), HasSubstr("10.0.0.5 for that one address, or 10.0.0.0/8"));
  EXPECT_THAT(error("2001:db8::5/32"), HasSubstr("or 2001:db8::/32"));
  EXPECT_THAT(error("::ffff:10.0.0.5/104"), HasSubstr("or 10.0.0.0/8"));
}

TEST(TrustedProxies, the_client_is_the_last_address_that_is_not_a_trusted_proxys) {
  const TrustedProxies proxies = trusting({"127.0.0.1", "10.0.0.0/8"});
  EXPECT_EQ(client_in(proxies, ""), "127.0.0.1");
  EXPECT_EQ(client_in(proxies, "203.0.113.9"), "203.0.113.9");
  EXPECT_EQ(client_in(proxies, "192.0.2.66, 203.0.113.9, 10.0.0.3"), "203.0.113.9");
  EXPECT_EQ(client_in(proxies, "192.0.2.66,203.0.113.9,10.0.0.3,10.0.0.4"), "203.0.113.9");
  EXPECT_EQ(client_in(proxies, "10.0.0.3, 10.0.0.4"), "10.0.0.3");  // one of their network's own
}

TEST(TrustedProxies, repeated_headers_are_one_list) {
  HttpAsk asked = ask("127.0.0.1", "192.0.2.66");
  asked.add("x-forwarded-for", "203.0.113.9");
  EXPECT_EQ(trusting({"127.0.0.1"}).caller(asked).address, "203.0.113.9");
}

TEST(TrustedProxies, addresses_are_parsed_as_proxies_write_them) {
  const TrustedProxies proxies = trusting({"127.0.0.1"});
  EXPECT_EQ(client_in(proxies, "203.0.113.9:51234"), "203.0.113.9");
  EXPECT_EQ(client_in(proxies, "2001:DB8:0::9"), "2001:db8::9");
  EXPECT_EQ(client_in(proxies, "[2001:db8::9]"), "2001:db8::9");
  EXPECT_EQ(client_in(proxies, "[2001:db8::9]:51234"), "2001:db8::9");
  EXPECT_EQ(client_in(proxies, "::ffff:203.0.113.9"), "203.0.113.9");
  EXPECT_EQ(client_in(proxies, "\t203.0.113.9 "), "203.0.113.9");
}

// No matter who wrote it, what comes before it tells us nothing.
TEST(TrustedProxies, nothing_before_an_invalid_address_is_trusted) {
  const TrustedProxies proxies = trusting({"127.0.0.1", "10.0.0.0/8"});
  for (const char* garbage :
       {"unknown", "_hidden", "203.0.113.9.", "203.0.113", "203.0.113.9:", "203.0.113.9:port", "1:2:3",
        "203.0.113.9:99999", "[203.0.113.9]:1", "[2001:db8::9", "2001:db8::9]", "[2001:db8::9]1", "[]", ":",
        "\"203.0.113.9\"", "<script>", "for=203.0.113.9", "203.0.113.9 203.0.113.8", "fe80::1%eth0"}) {
    EXPECT_EQ(client_in(proxies, garbage), "127.0.0.1") << garbage;
    EXPECT_EQ(client_in(proxies, std::string("203.0.113.7, ") + garbage + ", 10.0.0.3"), "10.0.0.3")
        << garbage;
    EXPECT_EQ(client_in(proxies, std::string(garbage) + ", 203.0.113.7"), "203.0.113.7") << garbage;
  }
  EXPECT_EQ(client_in(proxies, ", ,"), "127.0.0.1");
  EXPECT_EQ(client_in(proxies, ",203.0.113.7"), "203.0.113.7");
  EXPECT_EQ(client_in(proxies, "203.0.113.7,"), "127.0.0.1");
  EXPECT_EQ(client_in(proxies, std::string_view("203.0.113.7\0", 12)), "127.0.0.1");
}

TEST(TrustedProxies, the_client_is_found_behind_a_hundred_proxies) {
  std::string list = "192.0.2.66, 203.0.113.9";
  for (int i = 0; i < 100; ++i) list += ", 10.0.0." + std::to_string(i);
  EXPECT_EQ(client_in(trusting({"127.0.0.1", "10.0.0.0/8"}), list), "203.0.113.9");
  EXPECT_EQ(client_in(trusting({"127.0.0.1"}), list), "10.0.0.99");
  std::string strangers;
  for (int i = 0; i < 100; ++i)
    strangers += (i == 0 ? "" : ",") + std::string("203.0.113.") + std::to_string(i);
  EXPECT_EQ(client_in(trusting({"127.0.0.1"}), strangers), "203.0.113.99");
}

TEST(TrustedProxies, headers_from_untrusted_peers_are_ignored) {
  HttpAsk asked = ask("198.51.100.1", "203.0.113.9");
  asked.add("X-Forwarded-Proto", "https");
  asked.add("X-Forwarded-Host", "pivot.example");
  const Caller caller = trusting({"127.0.0.1", "unix"}).caller(asked);
  EXPECT_EQ(caller.address, "198.51.100.1");
  EXPECT_FALSE(caller.secure);
  EXPECT_EQ(caller.port, 7420);
  EXPECT_FALSE(caller.by_proxy);
  EXPECT_EQ(caller.forwarded_host, "");
}

TEST(TrustedProxies, scheme_and_port_are_those_the_client_used) {
  const TrustedProxies proxies = trusting({"unix"});
  const auto caller = [&](std::string_view scheme, std::string_view host) {
    HttpAsk asked;
    asked.peer = "unix";
    asked.add("Host", "pivot.example:8000");
    if (!scheme.empty()) asked.add("X-Forwarded-Proto", scheme);
    if (!host.empty()) asked.add("X-Forwarded-Host", host);
    const Caller seen = proxies.caller(asked);
    return std::pair(seen.secure, seen.port);
  };
  EXPECT_EQ(caller("", ""), std::pair(false, std::uint16_t{0}));
  EXPECT_EQ(caller("gopher", ""), std::pair(false, std::uint16_t{0}));
  EXPECT_EQ(caller("HTTPS", ""), std::pair(true, std::uint16_t{8000}));
  EXPECT_EQ(caller("https", "pivot.example"), std::pair(true, std::uint16_t{443}));
  EXPECT_EQ(caller("https, http", "pivot.example:8443, inner:80"), std::pair(true, std::uint16_t{8443}));
  EXPECT_EQ(caller("http", "[2001:db8::1]"), std::pair(false, std::uint16_t{80}));
  EXPECT_EQ(caller("http", "[2001:db8::1]:8080"), std::pair(false, std::uint16_t{8080}));
  EXPECT_EQ(caller("", "pivot.example:x"), std::pair(false, std::uint16_t{80}));
}

}  // namespace
}  // namespace mcpivot
