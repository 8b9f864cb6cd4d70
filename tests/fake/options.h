// What a test tells the fake server to do. A single table of options serves the command line, the script
// file and --help, so that the three cannot disagree.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fake {

// The moment of a requested death. `calls` counts answered tool calls.
enum class DieAt {
  never,
  start,
  before_initialize,
  after_initialize,
  initialized,
  discover,
  tools_list,
  calls
};

struct Options {
  std::vector<std::string> arguments;  // the command line as given
  int life = 1;                        // counted in --lives, from 1

  std::string name = "fake";
  std::string version = "1.0.0";
  std::string instructions;
  std::optional<boost::json::value> protocol;   // its handshake names it, whatever was requested
  std::set<std::string> without;                // capabilities that it doesn't have
  std::set<std::string> only;                   // the default tools that it has; empty: all
  boost::json::array tools;                     // added ones
  std::map<std::string, std::string> describe;  // tool name to another description
  std::multimap<std::string, std::string> hints;
  std::vector<std::string> prompts;    // added ones
  std::vector<std::string> resources;  // added ones
  std::size_t page = 0;                // entries in a page of a list; 0: one page

  DieAt die_at = DieAt::never;
  int die_after_calls = 0;
  std::string die_how = "1";  // an exit code or a signal's name
  std::set<std::string> hold;
  std::map<std::string, std::chrono::milliseconds> delay;
  std::map<std::string, std::string> refuse;
  std::map<std::string, std::string> answers;
  bool ignore_term = false;
  bool ignore_eof = false;
  std::string fork;  // "plain" or "stubborn"
  long stderr_flood = 0;

  std::string era = "legacy";  // or "modern", or "both": the first message decides
  bool deaf = false;           // ignores messages of the other era, without even an error
  std::string listen;          // what is wrong with its subscriptions/listen; empty: nothing

  std::string garbage;
  bool early = false;
  bool crlf = false;
  bool id_last = false;
  bool float_ids = false;
  bool twice = false;
  bool unknown_id = false;

  std::string journal;
  std::string tap;
  std::string inject;
};

// Prints to stderr and exits with 2 when an option is wrong; prints the help and exits with 0 for --help.
Options read_options(int argc, char** argv);

}  // namespace fake
