#include "link/address_rule.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

AddressKind kind(const char* text) {
  return kind_of(boost::asio::ip::make_address(text));
}

TEST(AddressRule, classifies_addresses_of_this_machine_and_its_networks) {
  EXPECT_EQ(kind("127.0.0.1"), AddressKind::loopback);
  EXPECT_EQ(kind("127.255.0.9"), AddressKind::loopback);
  EXPECT_EQ(kind("::1"), AddressKind::loopback);
  EXPECT_EQ(kind("10.1.2.3"), AddressKind::private_network);
  EXPECT_EQ(kind("172.16.0.1"), AddressKind::private_network);
  EXPECT_EQ(kind("172.31.255.255"), AddressKind::private_network);
  EXPECT_EQ(kind("192.168.0.1"), AddressKind::private_network);
  EXPECT_EQ(kind("100.64.0.1"), AddressKind::private_network);
  EXPECT_EQ(kind("fd00::1"), AddressKind::private_network);
  EXPECT_EQ(kind("169.254.169.254"), AddressKind::link_local);
  EXPECT_EQ(kind("fe80::1"), AddressKind::link_local);
  EXPECT_EQ(kind("0.0.0.0"), AddressKind::unusable);
  EXPECT_EQ(kind("::"), AddressKind::unusable);
  EXPECT_EQ(kind("224.0.0.1"), AddressKind::unusable);
  EXPECT_EQ(kind("255.255.255.255"), AddressKind::unusable);
  EXPECT_EQ(kind("ff02::1"), AddressKind::unusable);
  EXPECT_EQ(kind("172.32.0.1"), AddressKind::open);
  EXPECT_EQ(kind("8.8.8.8"), AddressKind::open);
  EXPECT_EQ(kind("2606:4700::1111"), AddressKind::open);
}

TEST(AddressRule, an_ipv4_address_embedded_in_ipv6_counts_as_ipv4) {
  EXPECT_EQ(kind("::ffff:127.0.0.1"), AddressKind::loopback);
  EXPECT_EQ(kind("::ffff:169.254.169.254"), AddressKind::link_local);
  EXPECT_EQ(kind("::10.0.0.1"), AddressKind::private_network);
  EXPECT_EQ(kind("64:ff9b::169.254.169.254"), AddressKind::link_local);
  EXPECT_EQ(kind("2002:7f00:1::"), AddressKind::loopback);
  EXPECT_NE(kind("64:ff9b:1::a9fe:a9fe"), AddressKind::open);
  EXPECT_NE(kind("64:ff9b:1:fffe::7f00:1"), AddressKind::open);
  EXPECT_EQ(kind("64:ff9b:2::1"), AddressKind::open);
  EXPECT_NE(kind("2001:0:7f00:1::5601:5601"), AddressKind::open);
  EXPECT_EQ(kind("2001:4860:4860::8888"), AddressKind::open);
  EXPECT_EQ(kind("::ffff:8.8.8.8"), AddressKind::open);
}

TEST(AddressRule, an_address_may_not_refer_to_a_less_public_one) {
  const auto open = AddressRule::named_by(AddressKind::open);
  EXPECT_TRUE(open.allows(AddressKind::open));
  EXPECT_FALSE(open.allows(AddressKind::loopback));
  EXPECT_FALSE(open.allows(AddressKind::private_network));
  EXPECT_FALSE(open.allows(AddressKind::link_local));

  const auto around = AddressRule::named_by(AddressKind::private_network);
  EXPECT_TRUE(around.allows(AddressKind::private_network));
  EXPECT_FALSE(around.allows(AddressKind::loopback));
  EXPECT_FALSE(around.allows(AddressKind::link_local));

  const auto here = AddressRule::named_by(AddressKind::loopback);
  EXPECT_TRUE(here.allows(AddressKind::loopback));
  EXPECT_TRUE(here.allows(AddressKind::private_network));
  EXPECT_FALSE(here.allows(AddressKind::link_local));
  EXPECT_FALSE(here.allows(AddressKind::unusable));
}

}  // namespace
}  // namespace mcpivot
