// Where HTTP clients connect, as the user writes it: "127.0.0.1:7420", "[::1]:7420", "localhost:7420",
// "*:7420" or "unix:/run/mcpivot.sock".
//
// Plain data. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace mcpivot {

struct ListenAddress {
  enum class Kind : std::uint8_t {
    ip,
    localhost,   // 127.0.0.1 and ::1
    everywhere,  // all addresses of this machine
    unix_socket,
  };
  Kind kind = Kind::localhost;
  std::string host{};      // an IP address, without brackets
  std::uint16_t port = 0;  // 0: the system chooses one
  std::string path{};      // of a Unix socket

  // Only programs on this machine can connect.
  bool is_local() const;
  // As the user writes it.
  std::string text() const;
};

// "127.0.0.1:7420", "[::1]:7420"
std::string with_port(std::string_view host, std::uint16_t port);

// The error says what is wrong with the text, and what to write.
std::expected<ListenAddress, std::string> parse_listen_address(std::string_view text);

}  // namespace mcpivot
