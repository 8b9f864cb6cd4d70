#include "link/address_rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace mcpivot {
namespace {

namespace ip = boost::asio::ip;

AddressKind kind_of_v4(const ip::address_v4& address) {
  const std::uint32_t number = address.to_uint();
  auto within = [&](std::uint32_t net, int bits) { return number >> (32 - bits) == net >> (32 - bits); };
  if (within(0x7f000000, 8)) return AddressKind::loopback;
  if (within(0xa9fe0000, 16)) return AddressKind::link_local;
  if (within(0x0a000000, 8) || within(0xac100000, 12) || within(0xc0a80000, 16) || within(0x64400000, 10))
    return AddressKind::private_network;
  // "This" network, protocol assignments, benchmarks, multicast, reserved and broadcast.
  if (within(0, 8) || within(0xc0000000, 24) || within(0xc6120000, 15) || number >= 0xe0000000)
    return AddressKind::unusable;
  return AddressKind::open;
}

std::optional<ip::address_v4> v4_within(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  auto at = [&](std::size_t i) {
    return ip::address_v4({bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]});
  };
  if (address.is_v4_mapped()) return at(12);
  constexpr std::array<unsigned char, 12> nat64{0, 0x64, 0xff, 0x9b};
  if (std::ranges::equal(nat64, std::span(bytes).first(12))) return at(12);
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return at(2);  // 6to4
  const bool low = std::ranges::all_of(std::span(bytes).first(12), [](auto byte) { return byte == 0; });
  if (low && !address.is_loopback() && !address.is_unspecified()) return at(12);  // v4-compatible
  return {};
}

}  // namespace

AddressKind kind_of(const ip::address& address) {
  if (address.is_v4()) return kind_of_v4(address.to_v4());
  const ip::address_v6 v6 = address.to_v6();
  if (const auto v4 = v4_within(v6)) return kind_of_v4(*v4);
  if (v6.is_loopback()) return AddressKind::loopback;
  if (v6.is_link_local()) return AddressKind::link_local;
  const auto bytes = v6.to_bytes();
  // Where a local NAT64 prefix leads isn't known here, and Teredo hides its IPv4 address.
  constexpr std::array<unsigned char, 6> local_nat64{0, 0x64, 0xff, 0x9b, 0, 1};
  if (std::ranges::equal(local_nat64, std::span(bytes).first(6))) return AddressKind::private_network;
  constexpr std::array<unsigned char, 4> teredo{0x20, 1, 0, 0};
  if (std::ranges::equal(teredo, std::span(bytes).first(4))) return AddressKind::unusable;
  if ((bytes[0] & 0xfe) == 0xfc || v6.is_site_local()) return AddressKind::private_network;
  if (v6.is_unspecified() || v6.is_multicast()) return AddressKind::unusable;
  return AddressKind::open;
}

std::string_view name_of(AddressKind kind) {
  switch (kind) {
    case AddressKind::open:
      return "a public address";
    case AddressKind::private_network:
      return "an address of a private network";
    case AddressKind::loopback:
      return "an address of this machine";
    case AddressKind::link_local:
      return "a link-local address";
    case AddressKind::unusable:
      break;
  }
  return "not the address of a host";
}

AddressRule AddressRule::named_by(AddressKind who) {
  const auto open = static_cast<unsigned>(AddressKind::open);
  const auto own = static_cast<unsigned>(who == AddressKind::unusable ? AddressKind::open : who);
  const auto around = static_cast<unsigned>(AddressKind::private_network);
  return AddressRule(open | own | (who == AddressKind::loopback ? around : 0));
}

}  // namespace mcpivot
