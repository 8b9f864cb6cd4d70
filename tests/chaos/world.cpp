#include "world.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace chaos {
namespace {

namespace fs = std::filesystem;

constexpr std::array stdio_servers = {"alpha", "beta", "gamma", "extra", "shape"};

// The program of a process, even if its file was replaced since.
std::string program_of(pid_t pid) {
  std::error_code failed;
  std::string name = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed).filename();
  if (const auto deleted = name.find(" (deleted)"); deleted != std::string::npos) name.resize(deleted);
  return name;
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

// A user namespace, and in it a mount namespace that nothing else sees; root needs only the second.
std::string leave_the_namespace() {
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  if (unshare(CLONE_NEWNS) == 0) return {};
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return std::string("unshare: ") + std::strerror(errno);
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user << ' ' << user << " 1";
  std::ofstream("/proc/self/gid_map") << group << ' ' << group << " 1";
  return {};
}

}  // namespace

World::World(const Programs& programs, bool journal)
    : programs_(programs), mark_("MCPIVOT_CHAOS=" + directory_.path().native()) {
  // Every process that is started from here has this in its environment.
  setenv("MCPIVOT_CHAOS", folder().c_str(), 1);
  fs::create_directory(folder() / "programs");
  for (const char* server : stdio_servers) fs::copy_file(programs_.server, folder() / "programs" / server);
  fs::copy_file(programs_.cli, folder() / "programs" / "cli");
  write_file(
      "build.sh",
      "if [ -e broken-$1 ]; then rm broken-$1; echo $1.cpp:7: error: broken on purpose >&2; exit 1; fi\n"
      "cp programs/alpha programs/$1.new && mv programs/$1.new programs/$1\n");
  describe_cli(0);
  make_small_disk();
  daemon_port_ = harness::free_port();
  start_daemon();
  write_config();
  environment_ = harness::private_folders(folder());
  for (auto& [name, value] : environment_)
    if (name == "XDG_STATE_HOME" || name == "XDG_CACHE_HOME" || name == "XDG_RUNTIME_DIR")
      value = folder() / "small" / fs::path(value).filename();
  std::vector<std::string> command{programs_.pivot, "--config", folder() / "mcpivot.json"};
  if (journal) command.emplace_back("--journal");
  pivot_ = std::make_unique<harness::Child>(command, environment_, folder());
  start_ = std::chrono::steady_clock::now();
}

std::optional<std::string> World::ask(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{programs_.pivot};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const harness::Outcome outcome =
      harness::run_to_end(command, environment_, folder(), std::chrono::seconds(30));
  if (outcome.exit_code != 0) return {};
  return outcome.out;
}

World::~World() {
  terminals_.clear();
  pivot_.reset();
  daemon_.reset();
  for (const pid_t pid : leftovers()) kill(pid, SIGKILL);
  if (has_small_disk()) umount2((folder() / "small").c_str(), MNT_DETACH);
}

void World::make_small_disk() {
  const fs::path disk = folder() / "small";
  fs::create_directory(disk);
  why_no_disk_ = leave_the_namespace();
  if (!why_no_disk_.empty()) return;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (mount("tmpfs", disk.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=0700") != 0)
    why_no_disk_ = std::string("mount: ") + std::strerror(errno);
}

long World::now() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_)
      .count();
}

void World::after(long milliseconds, std::function<void()> deed) {
  deeds_.emplace(now() + milliseconds, std::move(deed));
}

long World::next_deed() const {
  return deeds_.empty() ? LONG_MAX : deeds_.begin()->first;
}

void World::do_due() {
  while (!deeds_.empty() && deeds_.begin()->first <= now()) {
    const auto deed = std::move(deeds_.begin()->second);
    deeds_.erase(deeds_.begin());
    deed();
  }
}

std::vector<pid_t> World::processes(const std::string& server) const {
  std::vector<pid_t> found;
  for (const pid_t pid : harness::descendants_of(pivot_->pid()))
    if (program_of(pid) == server) found.push_back(pid);
  return found;
}

bool World::signal(const std::string& server, int number) const {
  bool any = false;
  for (const pid_t pid : processes(server)) any = kill(pid, number) == 0 || any;
  return any;
}

void World::replace_program(const std::string& server) const {
  const fs::path program = folder() / "programs" / server;
  const fs::path fresh = program.native() + ".new";
  fs::copy_file(programs_.server, fresh, fs::copy_options::overwrite_existing);
  fs::rename(fresh, program);
}

void World::start_daemon() {
  if (daemon_) return;
  daemon_ = std::make_unique<harness::Child>(
      std::vector<std::string>{programs_.daemon, "--port", std::to_string(daemon_port_), "--journal",
                               folder() / "journal-daemon", "--life", std::to_string(++daemon_life_)});
}

void World::move_daemon() {
  kill_daemon();
  daemon_port_ = harness::free_port();
  start_daemon();
  write_config();
}

void World::write_file(const std::string& name, const std::string& text) const {
  const fs::path fresh = folder() / (name + ".new");
  std::ofstream(fresh, std::ios::binary) << text;
  fs::rename(fresh, folder() / name);
}

void World::write_config() const {
  const auto time = [](long milliseconds) { return quoted(std::to_string(milliseconds) + "ms"); };
  const std::string timeouts = R"("timeouts": {"start": )" + time(limits::start) + R"(, "call": )" +
                               time(limits::call) + R"(, "drain": )" + time(limits::drain) +
                               R"(, "queue": )" + time(limits::queue) + R"(, "build": )" +
                               time(limits::build) + "}";
  const auto program = [&](const std::string& name, const std::string& more) {
    return quoted(name) + R"(: {"command": "programs/)" + name + R"(", "args": ["--journal", ")" +
           (folder() / ("journal-" + name)).native() + R"(", "--hint", "state=readOnlyHint", "--era", ")" +
           (is_modern(name) ? "modern" : "legacy") + R"("], )" + more + timeouts + "}";
  };
  std::string text = R"({"mcpServers": {)";
  text +=
      program("alpha", R"("active": true, "env": {"EDITION": ")" + std::to_string(alpha_edition) + "\"}, ");
  text += ",\n" + program("beta", R"("active": true, "build": "sh build.sh beta", )");
  text += ",\n" + program("gamma", R"("swap": "stop-first", "build": "sh build.sh gamma", )");
  if (extra_server) text += ",\n" + program("extra", R"("active": true, )");
  const auto daemon = [&](const std::string& name) {
    return quoted(name) + R"(: {"active": true, "url": "http://127.0.0.1:)" + std::to_string(daemon_port_) +
           R"(/mcp", )" + timeouts + "}";
  };
  const auto cli = [&](const std::string& name) {
    return quoted(name) + R"(: {"active": true, "cli": ["programs/cli", "schema.json"], "cwd": ".",)" +
           R"( "watch": ["schema.json"], )" + timeouts + "}";
  };
  text += ",\n" + daemon("daemon") + ",\n" + cli("cli") + ",\n";
  text += shape == Shape::program ? program("shape", R"("active": true, )")
          : shape == Shape::cli   ? cli("shape")
                                  : daemon("shape");
  text += "}}\n";
  write_file("mcpivot.json", text);
}

void World::describe_cli(unsigned edition) const {
  const std::string journal = (folder() / "journal-cli").native();
  const auto tool = [](const std::string& name, const std::string& parameter, const std::string& words) {
    return R"({"name": ")" + name + R"(", "description": "Does it.", "parameters": {"properties": {")" +
           parameter + R"(": {"type": "string"}}}, "cli_command": [)" + words + "]}";
  };
  write_file("schema.json", R"({"tools": [)" +
                                tool("record", "token", R"("record", ")" + journal + R"(", "{token}")") +
                                ", " + tool("die", "signal", R"("die", "{signal}")") + ", " +
                                tool("flood", "bytes", R"("flood", "{bytes}")") + ", " +
                                tool("edition" + std::to_string(edition), "x", R"("print", "{x}")") + "]}\n");
}

void World::fill_disk() const {
  const int file =
      open((folder() / "small" / "filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string block(4096, 'f');
  for (std::size_t size = block.size(); size > 0; size /= 2)
    while (write(file, block.data(), size) > 0) {
    }
  close(file);
}

void World::empty_disk() const {
  std::error_code ignored;
  fs::remove(folder() / "small" / "filler", ignored);
}

void World::open_terminal(const std::vector<std::string>& arguments, long milliseconds,
                          std::function<void()> on_late) {
  // Nobody reads what it prints, and a pipe that nobody reads would block it forever.
  std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$@\" >/dev/null", "sh", programs_.pivot};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const long number = ++next_terminal_;
  terminals_[number] = std::make_unique<harness::Child>(command, environment_, folder());
  after(milliseconds, [this, number, on_late = std::move(on_late)] {
    const auto terminal = terminals_.find(number);
    if (terminal == terminals_.end()) return;
    if (!terminal->second->wait_exit(std::chrono::steady_clock::now())) on_late();
    terminals_.erase(terminal);
  });
}

void World::limit_descriptors(std::size_t more) const {
  rlimit limit{};
  if (prlimit(pivot_->pid(), RLIMIT_NOFILE, nullptr, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(harness::open_fds(pivot_->pid()) + more, limit.rlim_max);
  prlimit(pivot_->pid(), RLIMIT_NOFILE, &limit, nullptr);
}

void World::free_descriptors() const {
  rlimit limit{};
  if (prlimit(pivot_->pid(), RLIMIT_NOFILE, nullptr, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  prlimit(pivot_->pid(), RLIMIT_NOFILE, &limit, nullptr);
}

std::map<std::string, int> World::executed() const {
  std::map<std::string, int> counts;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (!entry.path().filename().native().starts_with("journal-")) continue;
    // A token is "t" and a number between quotes, or a line of its own.
    std::istringstream lines(harness::content_of(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      const auto key = line.find(R"("token":"t)");
      if (key != std::string::npos)
        ++counts[line.substr(key + 9, line.find('"', key + 9) - key - 9)];
      else if (line.starts_with('t'))
        ++counts[line];
    }
  }
  return counts;
}

std::vector<pid_t> World::leftovers() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    if (pid == getpid() || (daemon_ && pid == daemon_->pid()) || !harness::process_alive(pid)) continue;
    if (harness::content_of(entry.path() / "environ").find(mark_) != std::string::npos) found.push_back(pid);
  }
  return found;
}

void World::heal() {
  terminals_.clear();
  // Faults that would end later end now: otherwise, a server that stopped reading would never read again.
  for (const auto& [at, deed] : std::exchange(deeds_, {})) deed();
  free_descriptors();
  empty_disk();
  for (const char* server : stdio_servers) signal(server, SIGCONT);
  if (daemon_) kill(daemon_->pid(), SIGCONT);
  start_daemon();
  extra_server = false;
  shape = Shape::program;
  write_config();
  describe_cli(0);
  std::error_code ignored;
  for (const char* server : stdio_servers) fs::remove(folder() / (std::string("broken-") + server), ignored);
  pivot_->pause_reading(false);
}

}  // namespace chaos
