// What an installation did, kept under $XDG_STATE_HOME/mcpivot, so that it can be undone: to the byte if
// nobody else wrote to the files since, otherwise entry by entry. It may contain secrets from the client's
// file, so only its user can read it.
//
// One thread.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace mcpivot {

struct MovedServer {
  std::string name{};
  std::string spelling{};  // in the client's file; empty: it came from another client
  std::string value{};     // in mcpivot's configuration; empty: the same one was there already
};

// One entry of ours in a client's file.
struct InstallRecord {
  std::string client{};
  std::string scope{};
  std::string name{};
  std::string file{};               // the client's, links resolved
  std::string config{};             // mcpivot's, likewise
  std::string made_state_folder{};  // the outermost folder that was created for the records; empty: none
  std::vector<MovedServer> moved{};
};

// A file before the first and after the last time we wrote to it. There is one record for each file, not for
// each entry: a client's file may have several entries of ours, and all clients share one configuration. If
// each entry had its own "before", what is left over would depend on the order of uninstalls.
struct FileRecord {
  std::string path{};  // links resolved
  std::optional<std::string> before{};
  std::string after{};
  bool exact = true;               // nobody else wrote in between: `before` can be restored
  std::string made_folder{};       // the outermost folder that was created for it; empty: none
  bool made_list = false;          // we created the client's list of servers
  std::vector<MovedServer> put{};  // added to mcpivot's configuration, by any entry
};

// Empty: there is no home directory.
std::string records_folder();
// The path of the record about our entry in a client's file, whose links must be resolved.
std::string record_path(const std::string& client, const std::string& file, const std::string& name);

// The path of the record about a file.
std::string file_record_path(const std::string& file);

std::string record_text(const InstallRecord& record);
std::string record_text(const FileRecord& record);
// Nothing: it isn't such a record.
std::optional<InstallRecord> parse_record(const std::string& text);
std::optional<FileRecord> parse_file_record(const std::string& text);

// Of all entries.
std::vector<InstallRecord> all_records();

}  // namespace mcpivot
