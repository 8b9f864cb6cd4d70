// The one table of what a configuration file can contain. Parsing, hints for misspelled keys, the JSON Schema
// for editors and the reference in docs/configuration.md all come from it.
//
// Constant data. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"

namespace mcpivot {

using Texts = std::vector<std::string>;
using Names = std::map<std::string, std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// A server while it is being read, before it is known to make sense.
struct Draft {
  ServerEntry entry{};
  std::size_t type = 0;   // an index into the choices of "type"
  bool disabled = false;  // handled before the rest is read
  std::string env_file{};
  std::string command{};
  Texts args{};
  Pairs headers{};
  Texts cli{};
  CliConfig cli_config{};
};

struct WatchTarget {
  Texts* globs;
  bool* watching;
};

// What a profile can grant in addition to looking and choosing.
inline constexpr std::array<std::string_view, 3> control_grants{"build", "restart", "logs"};

// Where a value goes. The type pointed to is the value's; its KeyType says how it is written.
using Target =
    std::variant<std::monostate, bool*, std::optional<bool>*, std::string*, Texts*, std::optional<Texts>*,
                 Pairs*, Names*, std::chrono::milliseconds*, std::optional<std::chrono::milliseconds>*,
                 std::size_t*, SwapMode*, std::optional<OnSave>*, std::optional<Sharing>*, StartMode*,
                 Naming*, Front*, CallThrough*, std::optional<Era>*, std::vector<ReplayRule>*, WatchTarget,
                 std::map<std::string, Profile>*>;

enum class KeyType : std::uint8_t {
  ignored,       // known, but meaningless to us
  flag,          // true or false
  text,          // a string
  path,          // a string; relative to the file
  calls,         // the same, or "journal"
  program,       // the same if it has a slash; otherwise looked up in PATH
  texts,         // a list of strings
  command,       // a list of strings, the first of them a program
  variables,     // an object with strings; numbers, true and false are taken as text
  headers,       // an object with strings; variables are checked here, and filled in when they are sent
  globs,         // a list of globs, or one, or false for none
  replay,        // a list of "TOOL" or "TOOL:KEY=VALUE"
  tool_globs,    // a list of patterns for tool names
  answer_paths,  // a list of paths in answers
  patterns,      // a list of regular expressions
  tool_names,    // an object: from a tool's name to the one that clients see
  tool_texts,    // an object: from a tool's name to some text
  time,          // "30s", or a number of seconds
  bytes,         // "8MB", or a number
  count,         // a number
  choice,        // one of a few words
  choices,       // a list of them
  group,         // an object with keys of its own
  named          // an object: from a name to an object with keys of its own
};

// Which servers a key is for, as bits.
using Kinds = unsigned;
constexpr Kinds for_stdio = 1;
constexpr Kinds for_http = 2;
constexpr Kinds for_cli = 4;
constexpr Kinds for_all = 7;

struct Key {
  std::string_view name;
  KeyType type;
  Kinds kinds;
  std::string_view fallback;  // the default, for people; empty: none
  std::string_view words;     // what it is, for people
  Target (*in_server)(Draft&) = nullptr;
  Target (*in_file)(GatewayConfig&) = nullptr;  // for keys of the whole file, next to the servers
  Target (*in_profile)(Profile&) = nullptr;
  std::span<const std::string_view> choices{};
  std::span<const Key> keys{};                  // of a group, or of what is named
  std::span<const std::string_view> aliases{};  // what clients call it
  std::uint64_t least = 0;                      // of a size or count
  std::uint64_t most = 0;
  // It restricts something: neither an invalid value nor a misspelt key may count as not given, and nothing
  // in it is ignored.
  bool guards = false;
};

std::span<const Key> server_keys();
std::span<const Key> file_keys();  // next to the servers

// By its name or an alias; null: there is none.
const Key* find_key(std::span<const Key> keys, std::string_view name);

// What may be written, to follow "must be": "true or false", "a time like \"30s\" …".
std::string allowed_text(const Key& key);

}  // namespace mcpivot
