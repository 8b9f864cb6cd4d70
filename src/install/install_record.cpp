#include "install/install_record.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"
#include "base/user_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t longest_record = 128UL * 1024 * 1024;

std::string text_of(const json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

// Older versions kept more than the path here.
std::string path_of(const json::object& object, std::string_view key) {
  const json::value& value = object.at(key);
  return value.is_object() ? text_of(value.as_object(), "path") : std::string(value.as_string());
}

json::array moved_array(const std::vector<MovedServer>& servers) {
  json::array array;
  for (const MovedServer& server : servers)
    array.push_back({{"name", server.name}, {"spelling", server.spelling}, {"value", server.value}});
  return array;
}

std::vector<MovedServer> read_moved(const json::value& array) {
  std::vector<MovedServer> servers;
  for (const json::value& server : array.as_array())
    servers.push_back({text_of(server.as_object(), "name"), text_of(server.as_object(), "spelling"),
                       text_of(server.as_object(), "value")});
  return servers;
}

}  // namespace

std::string records_folder() {
  const std::string state = state_folder();
  return state.empty() ? state : state + "/installed";
}

std::string record_path(const std::string& client, const std::string& file, const std::string& name) {
  return fmt::format("{}/{}-{:016x}.json", records_folder(), client, content_hash(file + '\n' + name));
}

std::string file_record_path(const std::string& file) {
  return fmt::format("{}/file-{:016x}.json", records_folder(), content_hash(file));
}

std::string record_text(const InstallRecord& record) {
  return json::serialize(json::object{{"client", record.client},
                                      {"scope", record.scope},
                                      {"name", record.name},
                                      {"file", record.file},
                                      {"config", record.config},
                                      {"made_state_folder", record.made_state_folder},
                                      {"moved", moved_array(record.moved)}}) +
         "\n";
}

std::string record_text(const FileRecord& record) {
  json::object object{{"path", record.path},           {"after", record.after},
                      {"exact", record.exact},         {"made_folder", record.made_folder},
                      {"made_list", record.made_list}, {"put", moved_array(record.put)}};
  if (record.before) object["before"] = *record.before;
  return json::serialize(object) + "\n";
}

std::optional<InstallRecord> parse_record(const std::string& text) try {
  const json::value value = json::parse(text);
  const json::object& object = value.as_object();
  InstallRecord record{.client = text_of(object, "client"),
                       .scope = text_of(object, "scope"),
                       .name = text_of(object, "name"),
                       .file = path_of(object, "file"),
                       .config = path_of(object, "config"),
                       .moved = read_moved(object.at("moved"))};
  // Older versions did not remember this.
  if (object.contains("made_state_folder")) record.made_state_folder = text_of(object, "made_state_folder");
  return record;
} catch (const std::exception&) {
  return std::nullopt;
}

std::optional<FileRecord> parse_file_record(const std::string& text) try {
  const json::value value = json::parse(text);
  const json::object& object = value.as_object();
  FileRecord record{.path = text_of(object, "path"),
                    .after = text_of(object, "after"),
                    .exact = object.at("exact").as_bool(),
                    .made_folder = text_of(object, "made_folder"),
                    .made_list = object.at("made_list").as_bool(),
                    .put = read_moved(object.at("put"))};
  if (object.contains("before")) record.before = text_of(object, "before");
  return record;
} catch (const std::exception&) {
  return std::nullopt;
}

std::vector<InstallRecord> all_records() {
  std::vector<InstallRecord> records;
  std::error_code error;
  for (fs::directory_iterator at(records_folder(), error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".json") continue;
    if (const auto text = read_small_file(at->path().string(), longest_record))
      if (auto record = parse_record(*text)) records.push_back(std::move(*record));
  }
  return records;
}

}  // namespace mcpivot
