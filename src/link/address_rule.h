// Which addresses mcpivot may connect to when somebody else chose the URL: a document that names
// 169.254.169.254 or a router's page must not make mcpivot go there. The address of the actual connection is
// checked, whatever the name resolved to.
//
// Plain data. Any thread.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <string_view>

namespace mcpivot {

enum class AddressKind : std::uint8_t {
  open = 1,             // the Internet
  private_network = 2,  // 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7, 64:ff9b:1::/48
  loopback = 4,
  link_local = 8,  // 169.254.0.0/16 and fe80::/10: cloud metadata services live there
  unusable = 16,   // unspecified, multicast, broadcast, reserved, Teredo
};

// An IPv4 address within an IPv6 one (mapped, compatible, NAT64, 6to4) counts as itself.
AddressKind kind_of(const boost::asio::ip::address& address);

// "a private address"
std::string_view name_of(AddressKind kind);

class AddressRule {
 public:
  static AddressRule anywhere() { return AddressRule(0x1f); }
  // For a URL that a host with such an address gave us. A host on this machine may also point to the network
  // around it; no other may point to an address less public than its own.
  static AddressRule named_by(AddressKind who);

  bool allows(AddressKind kind) const { return (kinds_ & static_cast<unsigned>(kind)) != 0; }
  AddressRule only(AddressKind kind) const { return AddressRule(kinds_ & static_cast<unsigned>(kind)); }

 private:
  explicit AddressRule(unsigned kinds) : kinds_(kinds) {}
  unsigned kinds_;
};

}  // namespace mcpivot
