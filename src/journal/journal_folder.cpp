#include "journal/journal_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "base/secret.h"
#include "base/user_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

bool all_of(std::string_view text, std::string_view of) {
  return !text.empty() && text.find_first_not_of(of) == std::string_view::npos;
}

struct File {
  std::string path;
  JournalName name;
  std::chrono::system_clock::time_point written;
  std::uint64_t bytes = 0;
};

constexpr const char* parts[] = {"", "-wal", "-shm"};

std::chrono::system_clock::time_point time_of(const timespec& time) {
  using namespace std::chrono;
  return system_clock::time_point(
      duration_cast<system_clock::duration>(seconds(time.tv_sec) + nanoseconds(time.tv_nsec)));
}

std::vector<File> files_in(const std::string& folder) {
  std::vector<File> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const auto name = JournalName::read(entry.path().filename().string());
    if (!name) continue;
    File file{.path = entry.path().string(), .name = *name, .written = {}};
    for (const char* part : parts) {
      struct stat found{};
      if (::stat((file.path + part).c_str(), &found) != 0) continue;
      file.bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
      file.written = std::max(file.written, time_of(found.st_mtim));
    }
    files.push_back(std::move(file));
  }
  // Sorts the files of a session by part, and the sessions of a day by when they were last written.
  std::ranges::sort(files, [](const File& a, const File& b) {
    if (a.name.day != b.name.day || a.name.session == b.name.session) return a.name < b.name;
    return std::pair(a.written, a.name.session) < std::pair(b.written, b.name.session);
  });
  return files;
}

}  // namespace

std::string JournalName::file() const {
  return part == 1 ? fmt::format("{}-{}.db", day, session) : fmt::format("{}-{}-{}.db", day, session, part);
}

std::optional<JournalName> JournalName::read(std::string_view file) {
  if (!file.ends_with(".db") || file.size() < 18 || file[4] != '-' || file[7] != '-' || file[10] != '-')
    return {};
  file.remove_suffix(3);
  JournalName name{.day = std::string(file.substr(0, 10)), .session = {}};
  if (!all_of(file.substr(0, 4), "0123456789")) return {};
  std::string_view rest = file.substr(11);
  if (const auto dash = rest.find('-'); dash != std::string_view::npos) {
    const std::string_view part = rest.substr(dash + 1);
    if (!all_of(part, "0123456789") || part.size() > 6) return {};
    name.part = std::stoi(std::string(part));
    rest = rest.substr(0, dash);
  }
  if (!all_of(rest, "0123456789abcdef")) return {};
  name.session = rest;
  return name;
}

std::string journal_folder() {
  const std::string state = state_folder();
  return state.empty() ? state : state + "/journal";
}

std::vector<std::string> journals_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (File& file : files_in(folder)) paths.push_back(std::move(file.path));
  return paths;
}

std::string new_session(const std::string& folder) {
  const std::vector<File> files = files_in(folder);
  for (std::size_t digits = 4;; ++digits) {
    std::string session = random_text().substr(0, std::min<std::size_t>(digits, 32));
    const auto is_taken = [&](const File& file) { return file.name.session == session; };
    // A name of only digits would look like a call's number.
    if (!all_of(session, "0123456789") && std::ranges::none_of(files, is_taken)) return session;
    if (digits > 8) digits = 8;
  }
}

std::string day_of(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d", &local)};
}

std::size_t delete_old_journals(const std::string& folder, const JournalLimits& limits,
                                const std::string& own, std::chrono::system_clock::time_point now) {
  std::vector<File> files = files_in(folder);
  std::ranges::stable_sort(files, {}, &File::written);
  std::uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  std::size_t deleted = 0;
  for (const File& file : files) {
    if (file.path == own) continue;
    if (now - file.written <= limits.age && bytes <= limits.bytes) continue;
    for (const char* part : parts) ::unlink((file.path + part).c_str());
    bytes -= file.bytes;
    ++deleted;
  }
  return deleted;
}

}  // namespace mcpivot
