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

json::object written(const WrittenFile& file) {
  json::object object{{"path", file.path}, {"after", file.after}, {"exact", file.exact}};
  if (file.before) object["before"] = *file.before;
  return object;
}

std::string text_of(const json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

WrittenFile read_written(const json::object& object) {
  WrittenFile file{.path = text_of(object, "path"), .after = text_of(object, "after")};
  file.exact = object.at("exact").as_bool();
  if (object.contains("before")) file.before = text_of(object, "before");
  return file;
}

}  // namespace

std::string records_folder() {
  const std::string state = state_folder();
  return state.empty() ? state : state + "/installed";
}

std::string record_path(const std::string& client, const std::string& file, const std::string& name) {
  return fmt::format("{}/{}-{:016x}.json", records_folder(), client, content_hash(file + '\n' + name));
}

std::string record_text(const InstallRecord& record) {
  json::array moved;
  for (const MovedServer& server : record.moved)
    moved.push_back({{"name", server.name}, {"spelling", server.spelling}, {"value", server.value}});
  return json::serialize(json::object{{"client", record.client},
                                      {"scope", record.scope},
                                      {"name", record.name},
                                      {"made_folder", record.made_folder},
                                      {"made_list", record.made_list},
                                      {"file", written(record.file)},
                                      {"config", written(record.config)},
                                      {"made_config_folder", record.made_config_folder},
                                      {"made_state_folder", record.made_state_folder},
                                      {"moved", std::move(moved)}}) +
         "\n";
}

std::optional<InstallRecord> parse_record(const std::string& text) try {
  const json::value value = json::parse(text);
  const json::object& object = value.as_object();
  InstallRecord record{.client = text_of(object, "client"),
                       .scope = text_of(object, "scope"),
                       .name = text_of(object, "name"),
                       .file = read_written(object.at("file").as_object()),
                       .made_folder = text_of(object, "made_folder"),
                       .made_list = object.at("made_list").as_bool(),
                       .config = read_written(object.at("config").as_object())};
  // Older versions did not remember these.
  if (object.contains("made_config_folder"))
    record.made_config_folder = text_of(object, "made_config_folder");
  if (object.contains("made_state_folder")) record.made_state_folder = text_of(object, "made_state_folder");
  for (const json::value& server : object.at("moved").as_array())
    record.moved.push_back({text_of(server.as_object(), "name"), text_of(server.as_object(), "spelling"),
                            text_of(server.as_object(), "value")});
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
