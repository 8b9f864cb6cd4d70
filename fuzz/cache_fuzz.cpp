// Our own files and sockets, which may contain anything by the time they are read: a cache returns what can
// be sent verbatim, or nothing; the memory of active servers returns names; a control-socket exchange ends in
// an answer or an error message.
#include <simdjson.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "control/control_client.h"
#include "fuzz.h"
#include "gateway/active_memory.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"
#include "server/start_cache.h"
#include "world/real_files.h"

namespace {

using namespace mcpivot;
using fuzz::check;
namespace fs = std::filesystem;

// Our own home, so that no other files are touched. Removed with the process.
class Home {
 public:
  Home() {
    std::string name = "/tmp/mcpivot-fuzz-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    for (const char* variable : {"XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"})
      ::setenv(variable, folder_.c_str(), 1);
    // A save shows where the files are.
    config_.command.argv = {"/bin/server"};
    cache().save(R"({"capabilities":{}})", {});
    ActiveMemory(files_, "/c.json").save({"a"});
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (!entry.is_regular_file()) continue;
      (entry.path().filename().string().starts_with("active") ? memory_file : cache_file) = entry.path();
    }
    check(!memory_file.empty() && !cache_file.empty(), "both files are found");
    listen();
  }
  ~Home() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  RealFiles& files() { return files_; }
  StartCache cache() { return {files_, config_, std::nullopt, "{}"}; }
  int socket() const { return socket_; }
  fs::path memory_file;
  fs::path cache_file;

 private:
  void listen() {
    fs::create_directories(folder_ + "/mcpivot");
    const std::string path = folder_ + "/mcpivot/" + std::to_string(::getpid()) + ".sock";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    check(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "a socket");
    check(::listen(socket_, 8) == 0, "that is listened at");
  }
  std::string folder_;
  RealFiles files_;
  ServerConfig config_;
  int socket_ = -1;
};

Home& home() {
  static Home made;
  return made;
}

void write(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

bool can_be_sent(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.value() && cursor.end() && text.find('\n') == std::string_view::npos &&
         simdjson::validate_utf8(text.data(), text.size());
}

void check_cache(std::string_view text) {
  write(home().cache_file, text);
  const StartCache cache = home().cache();
  const auto last = cache.load();
  if (!last) return;
  check(can_be_sent(last->initialize_result), "a cached handshake can be sent");
  for (const ListKind kind : all_lists)
    for (const Item& item : last->catalog.list(kind)) check(can_be_sent(item.json), "so can an item");
  cache.save(last->initialize_result, last->catalog);
  const auto again = cache.load();
  check(again && again->initialize_result == last->initialize_result, "what is kept is loaded again");
  for (const ListKind kind : all_lists)
    check(again->catalog.list(kind) == last->catalog.list(kind), "with all its lists");
}

void check_memory(std::string_view text) {
  write(home().memory_file, text);
  ActiveMemory memory(home().files(), "/c.json");
  const auto active = memory.active();
  check(active.has_value(), "a file that is there is read");
  memory.save(*active);
  check(ActiveMemory(home().files(), "/c.json").active() == active, "and says the same again");
}

void check_control(std::string_view text) {
  if (text.size() > 100'000) return;
  auto clients = ControlClient::connect_all();
  check(clients.size() == 1, "a running mcpivot is found");
  const int probe = ::accept(home().socket(), nullptr, nullptr);
  const int talk = ::accept(home().socket(), nullptr, nullptr);
  check(::write(talk, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "it speaks");
  ::shutdown(talk, SHUT_WR);
  try {
    clients.front().ask("status", nullptr, [](const boost::json::object&) {});
  } catch (const ControlError& error) {
    check(*error.what() != '\0', "an error has words");
  }
  ::close(probe);
  ::close(talk);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cache(text);
  check_memory(text);
  check_control(text);
  return 0;
}
