// What an installation did, kept under $XDG_STATE_HOME/mcpivot, so that it can be undone: to the byte if
// nobody else wrote to the files since, and otherwise entry by entry. It may hold secrets that stood in the
// client's file, and so is its user's alone.
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
  std::string spelling{};  // in the client's file; empty: another client of ours had it
  std::string value{};     // in mcpivot's configuration; empty: one like it was there already
};

// One entry of ours in a client's file.
struct InstallRecord {
  std::string client{};
  std::string scope{};
  std::string name{};
  std::string file{};               // the client's, behind all links
  std::string config{};             // mcpivot's, likewise
  std::string made_state_folder{};  // the outermost folder that was made for what is remembered; empty: none
  std::vector<MovedServer> moved{};
};

// A file before the first and after the last time we wrote to it. There is one record for each file, not for
// each entry: a client's file may have several entries of ours, and all clients share one configuration. If
// each entry kept its own "before", the order of uninstalls would decide what is left over.
struct FileRecord {
  std::string path{};  // behind all links
  std::optional<std::string> before{};
  std::string after{};
  bool exact = true;               // nobody else wrote in between: `before` is what to go back to
  std::string made_folder{};       // the outermost folder that was made for it; empty: none
  bool made_list = false;          // the client's list of servers is ours
  std::vector<MovedServer> put{};  // into mcpivot's configuration, by any entry
};

// Empty: there is no home.
std::string records_folder();
// Where the record about our entry in a client's file stands. The file is that behind all links.
std::string record_path(const std::string& client, const std::string& file, const std::string& name);

// Where the record about a file stands.
std::string file_record_path(const std::string& file);

std::string record_text(const InstallRecord& record);
std::string record_text(const FileRecord& record);
// Nothing: it isn't such a record.
std::optional<InstallRecord> parse_record(const std::string& text);
std::optional<FileRecord> parse_file_record(const std::string& text);

// Of all entries.
std::vector<InstallRecord> all_records();

}  // namespace mcpivot
