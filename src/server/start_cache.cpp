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
                    std::initializer_list<std::string_view> more) {
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
  for (const std::string_view part : more) add(part);
  return sha256(all);
}

// Its content is sent unchanged, so it must be what we wrote: JSON on one line, in UTF-8.
bool is_ours(const std::string& text) {
  if (text.find('\n') + 1 != text.size()) return false;
  JsonCursor cursor(text);
  return text.starts_with('{') && cursor.value() && cursor.end() && as_utf8(text) == text;
}

}  // namespace

StartCache::StartCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program,
                       std::string_view hello, Era era)
    : files_(files),
      name_((config.for_many
                 ? name_of(config, program, {"one of many", hello, text(era)})
                 : name_of(config, program,
                           {find_member(hello, "protocolVersion"), find_member(hello, "capabilities"),
                            find_member(hello, "clientInfo"), text(era)})) +
            ".json"),
      anyones_name_(config.for_many ? std::string()
                                    : name_of(config, program, {"anyone", text(era)}) + ".any.json") {}

std::optional<LastRun> StartCache::load(const std::string& name) const {
  if (name.empty()) return std::nullopt;
  const auto text = files_.load(Files::Shelf::cache, name);
  if (!text || !is_ours(*text)) return std::nullopt;
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
  if (!anyones_name_.empty()) files_.save(Files::Shelf::cache, anyones_name_, text);
}

EraCache::EraCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program)
    : files_(files), name_(name_of(config, program, {}) + ".eras.json"), for_many_(config.for_many) {}

Eras EraCache::load() const {
  const auto text = files_.load(Files::Shelf::cache, name_);
  if (!text || !is_ours(*text)) return {};
  const auto verdict = [&](Era era) -> std::optional<bool> {
    const std::string_view value = find_member(*text, mcpivot::text(era));
    if (value != "true" && value != "false") return std::nullopt;
    return value == "true";
  };
  return {.legacy = verdict(Era::legacy),
          .modern = verdict(Era::modern),
          .discovered = std::string(for_many_ ? std::string_view() : find_member(*text, "discovered"))};
}

void EraCache::save(const Eras& eras) const {
  std::string members;
  const auto add = [&](std::string_view key, std::string_view value) {
    members += fmt::format(R"({}"{}":{})", members.empty() ? "" : ",", key, value);
  };
  if (eras.legacy) add(text(Era::legacy), *eras.legacy ? "true" : "false");
  if (eras.modern) add(text(Era::modern), *eras.modern ? "true" : "false");
  if (!eras.discovered.empty() && !for_many_) add("discovered", eras.discovered);
  files_.save(Files::Shelf::cache, name_, fmt::format("{{{}}}\n", members));
}

}  // namespace mcpivot
