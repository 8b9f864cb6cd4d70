// What shells offer when TAB is pressed. The shells' scripts are short and contain no options: they ask
// `mcpivot complete -- WORD...`, which uses the same description of the command line as the parser, so a
// script never lags behind the program.
//
// One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mcpivot {

// Looks up the names of running things; `kind` is SERVER, TOOL, both with a "|", PID, ID (of a session), or
// "ARGUMENT TOOL" for a tool's arguments.
using NameSource = std::function<std::vector<std::string>(const std::string& kind)>;

// What the last of the words could become. The first line says what else fits: "words" (nothing), "files",
// "folders" or "command" (we are within a server's own command line). Each further line is a word and, after
// a tab, its meaning.
std::string completions(const CLI::App& app, const std::vector<std::string>& words, const NameSource& names);

std::vector<std::string> shells();
std::string completion_script(const std::string& shell);
extern const char* const completion_footer;  // how to use the scripts

}  // namespace mcpivot
