#include "server/start_cache.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/hash.h"
#include "base/utf8.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// Everything that may make a server answer differently. Headers and values of the environment may be secrets:
// only their SHA-256 is kept.
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
  return sha256(all) + ".json";
}

bool is_json_object(const std::string& text) {
  JsonCursor cursor(text);
  return text.starts_with('{') && cursor.value() && cursor.end() && as_utf8(text) == text;
}

}  // namespace

StartCache::StartCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program,
                       std::string_view hello)
    : files_(files), name_(name_of(config, program, hello)) {}

std::optional<LastRun> StartCache::load() const {
  const auto text = files_.load(Files::Shelf::cache, name_);
  // What is in it is sent as it is, so it must be what we wrote: JSON on one line, in UTF-8.
  if (!text || text->find('\n') + 1 != text->size() || !is_json_object(*text)) return std::nullopt;
  LastRun last;
  last.initialize_result = find_member(*text, "initialize");
  if (!last.initialize_result.starts_with('{')) return std::nullopt;
  for (const ListKind kind : all_lists) last.catalog.add_page(kind, *text);
  return last;
}

void StartCache::save(std::string_view initialize_result, const Catalog& catalog) const {
  std::string text = fmt::format(R"({{"initialize":{})", initialize_result);
  for (const ListKind kind : all_lists) {
    text += fmt::format(R"(,"{}":[)", words(kind).member);
    for (std::size_t i = 0; i < catalog.list(kind).size(); ++i)
      text += (i == 0 ? "" : ",") + catalog.list(kind)[i].json;
    text += "]";
  }
  text += "}\n";
  files_.save(Files::Shelf::cache, name_, text);
}

}  // namespace mcpivot
