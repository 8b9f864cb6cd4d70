#include "server/start_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "log/log.h"
#include "proc/user_folders.h"
#include "proc/utf8.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"
#include "watch/content_hash.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_file = 16'000'000;
constexpr std::size_t most_files = 200;

// Everything that may make a server answer differently. Values of the environment may be secrets: only this
// number is kept of them.
std::string name_of(const ServerConfig& config, const std::optional<FileFacts>& program,
                    std::string_view hello) {
  std::string all = MCPIVOT_VERSION;
  auto add = [&](std::string_view part) { all += fmt::format("\n{}:{}", part.size(), part); };
  for (const std::string& argument : config.command.argv) add(argument);
  if (config.cli)
    for (const std::string& argument : config.cli->schema_args) add("schema " + argument);
  add(config.http.url);
  for (const std::string& header : config.http.headers) add(header);
  std::error_code error;
  add(fs::absolute(config.command.cwd.empty() ? "." : config.command.cwd, error).string());
  for (const auto& [key, value] : config.command.env) add(key + "=" + value);
  if (program)
    add(fmt::format("{} {} {} {} {}", program->path, program->stamp.device, program->stamp.inode,
                    program->stamp.size, program->stamp.modified));
  for (const char* member : {"protocolVersion", "capabilities", "clientInfo"})
    add(find_member(hello, member));
  ContentHash first;
  first.feed(all);
  std::ranges::reverse(all);
  ContentHash second;
  second.feed(all);
  return fmt::format("{:016x}{:016x}.json", first.value(), second.value());
}

// The oldest go when there are too many: every build of a server leaves one behind.
void prune(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    files.emplace_back(entry->last_write_time(error), entry->path());
  if (files.size() <= most_files) return;
  std::ranges::sort(files);
  for (std::size_t i = 0; i < files.size() - most_files; ++i) fs::remove(files[i].second, error);
}

bool is_json_object(const std::string& text) {
  JsonCursor cursor(text);
  return text.starts_with('{') && cursor.value() && cursor.end() && as_utf8(text) == text;
}

bool write_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool good = true;
  while (good && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    good = written > 0;
    if (good) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::close(file) == 0 && good;
}

}  // namespace

StartCache::StartCache(const ServerConfig& config, const std::optional<FileFacts>& program,
                       std::string_view hello)
    : folder_(cache_folder()), file_(fmt::format("{}/{}", folder_, name_of(config, program, hello))) {}

std::optional<LastRun> StartCache::load() const {
  std::error_code error;
  if (folder_.empty() || fs::file_size(file_, error) > longest_file || error) return std::nullopt;
  std::ifstream file(file_, std::ios::binary);
  const std::string text{std::istreambuf_iterator(file), {}};
  // What is in it is sent as it is, so it must be what we wrote: JSON on one line, in UTF-8.
  if (text.find('\n') + 1 != text.size() || !is_json_object(text)) return std::nullopt;
  LastRun last;
  last.initialize_result = find_member(text, "initialize");
  if (!last.initialize_result.starts_with('{')) return std::nullopt;
  for (const ListKind kind : all_lists) last.catalog.add_page(kind, text);
  return last;
}

void StartCache::save(std::string_view initialize_result, const Catalog& catalog) const {
  if (folder_.empty()) return;
  std::string text = fmt::format(R"({{"initialize":{})", initialize_result);
  for (const ListKind kind : all_lists) {
    text += fmt::format(R"(,"{}":[)", words(kind).member);
    for (std::size_t i = 0; i < catalog.list(kind).size(); ++i)
      text += (i == 0 ? "" : ",") + catalog.list(kind)[i].json;
    text += "]";
  }
  text += "}\n";
  if (text.size() > longest_file) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  ::chmod(folder_.c_str(), 0700);
  // Another mcpivot may read or write the same file now.
  const std::string draft = fmt::format("{}.{}", file_, ::getpid());
  fs::remove(draft, error);
  if (write_file(draft, text) && ::rename(draft.c_str(), file_.c_str()) == 0) return prune(folder_);
  log_debug("cannot keep {}: {}", file_, std::error_code(errno, std::generic_category()).message());
  fs::remove(draft, error);
}

}  // namespace mcpivot
