#include "proc/port_holder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/utf8.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_command = 100;

// The inodes of the sockets that listen on it, from a table like /proc/net/tcp.
void add_listeners(const char* table, std::uint16_t port, std::set<std::string>& inodes) {
  constexpr std::string_view listening = "0A";
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // the header line
  while (std::getline(file, line)) {
    std::istringstream words(line);
    using Words = std::istream_iterator<std::string>;
    const std::vector<std::string> fields((Words(words)), Words());
    if (fields.size() < 10 || fields[3] != listening) continue;
    const std::string& address = fields[1];
    const std::string_view digits = std::string_view(address).substr(address.rfind(':') + 1);
    std::uint16_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (number == port) inodes.insert(fields[9]);
  }
}

bool holds_any(const fs::path& process, const std::set<std::string>& inodes) {
  std::error_code error;
  for (fs::directory_iterator entry(process / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry->path(), gone);
    constexpr std::string_view begin = "socket:[";
    if (target.starts_with(begin) && target.ends_with(']') &&
        inodes.contains(target.substr(begin.size(), target.size() - begin.size() - 1)))
      return true;
  }
  return false;
}

std::string command_line(const fs::path& process) {
  std::string text = read_beginning(process / "cmdline", 2 * longest_command);
  while (text.ends_with('\0')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return as_utf8(text.size() > longest_command ? text.substr(0, longest_command) + "..." : text);
}

}  // namespace

std::optional<PortHolder> port_holder(std::uint16_t port) {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_listeners(table, port, inodes);
  if (inodes.empty()) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    PortHolder holder;
    const auto [last, bad] = std::from_chars(name.data(), name.data() + name.size(), holder.pid);
    if (bad != std::errc() || last != name.data() + name.size() || !holds_any(entry->path(), inodes))
      continue;
    holder.command = command_line(entry->path());
    return holder;
  }
  return PortHolder{};
}

}  // namespace mcpivot
