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

// A file before and after, to see whether it is still as we left it.
struct WrittenFile {
  std::string path{};  // behind all links
  std::optional<std::string> before{};
  std::string after{};
  bool exact = true;  // `before` is what to go back to
};

struct InstallRecord {
  std::string client{};
  std::string scope{};
  std::string name{};         // of our entry
  WrittenFile file{};         // the client's
  std::string made_folder{};  // the outermost folder that was made for it; empty: none
  bool made_list = false;
  WrittenFile config{};              // mcpivot's
  std::string made_config_folder{};  // the same for that one
  std::string made_state_folder{};   // and for what is remembered
  std::vector<MovedServer> moved{};
};

// Empty: there is no home.
std::string records_folder();
// Where the record about our entry in a client's file stands. The file is that behind all links.
std::string record_path(const std::string& client, const std::string& file, const std::string& name);

std::string record_text(const InstallRecord& record);
// Nothing: it is no record.
std::optional<InstallRecord> parse_record(const std::string& text);

// All that are there.
std::vector<InstallRecord> all_records();

}  // namespace mcpivot
