#include "cli/man_page.h"

#include <fmt/format.h>

#include <sstream>

#include "cli/command_help.h"

namespace mcpivot {
namespace {

constexpr const char* name_and_what =
    "mcpivot \\- replace running MCP servers while the AI client stays connected";

// What isn't in the help.
constexpr const char* the_rest = R"(.SH SIGNALS
.TP
.B SIGHUP
Restart every server as a new generation, after a build if it has one.
.TP
.BR SIGTERM ", " SIGINT
Stop mcpivot and every process that it started.
The end of its standard input does the same.
.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
The command failed.
.TP
.B 2
The command line was wrong.
.SH ENVIRONMENT
.TP
.B NO_COLOR
If set, output isn't colored. Output that doesn't go to a terminal never is.
.TP
.BR XDG_CONFIG_HOME ", " XDG_STATE_HOME ", " XDG_CACHE_HOME ", " XDG_DATA_HOME ", " XDG_RUNTIME_DIR
Where the files below are.
.SH FILES
.TP
.I mcpivot.json
The servers of a project, in its folder.
.TP
.I $XDG_CONFIG_HOME/mcpivot/mcpivot.json
The user's own servers.
.TP
.I $XDG_STATE_HOME/mcpivot/
Logs, and what
.B mcpivot install
did.
.TP
.I $XDG_CACHE_HOME/mcpivot/
What servers answered last time,
so that clients don't have to wait for them to start.
.TP
.I $XDG_RUNTIME_DIR/mcpivot/
The control sockets of running mcpivots.
)";

// Escaped so that roff shows it unchanged: on one line, hyphens as typed, nothing read as a request.
std::string roff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      // A sequence of UTF-8, by its number.
      const int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
      unsigned code = byte & (0x3FU >> more);
      for (int k = 0; k < more && i + 1 < text.size(); ++k)
        code = (code << 6) | (static_cast<unsigned char>(text[++i]) & 0x3FU);
      out += fmt::format("\\[u{:04X}]", code);
    } else if (byte == '\\') {
      out += "\\e";
    } else if (byte == '-') {
      out += "\\-";
    } else if (byte == '\'') {
      out += "\\(aq";
    } else if (byte == '`') {
      out += "\\(ga";
    } else if (byte == '^') {
      out += "\\(ha";
    } else if (byte == '~') {
      out += "\\(ti";
    } else if (byte == '\n') {
      out += ' ';
    } else {
      if (byte == '.' && out.empty()) out += "\\&";
      out += text[i];
    }
  }
  return out;
}

// Prose, in lines short enough for roff checkers.
std::string prose(const std::string& text) {
  constexpr std::size_t longest = 80;
  std::string out;
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::string shown = roff(word);
    if (!line.empty() && line.size() + 1 + shown.size() > longest) {
      out += line + "\n";
      line.clear();
    }
    line += line.empty() ? shown : " " + shown;
  }
  return out + line;
}

// "\fB\-f\fR, \fB\-\-lines\fR \fIN\fR"
std::string names(const CLI::Option& option) {
  if (option.get_positional()) return "\\fI" + roff(option.get_name(true)) + "\\fR";
  std::string text;
  auto add = [&](const std::string& name) {
    text += (text.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (const std::string value = value_name(option); !value.empty()) text += " \\fI" + roff(value) + "\\fR";
  return text;
}

std::string entry(const CLI::Option& option) {
  return fmt::format(".TP\n{}\n{}\n", names(option), prose(option.get_description()));
}

std::string options_in(const CLI::App& app, const std::string& group) {
  std::string text;
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == group) text += entry(*option);
  return text;
}

// Verbatim lines, such as examples.
std::string as_typed(const std::string& text) {
  std::string out = ".nf\n";
  for (const std::string& line : CLI::detail::split(text, '\n'))
    out += line.empty() ? ".sp\n" : roff(line) + "\n";
  return out + ".fi\n";
}

std::string usage_lines(const CLI::App& app) {
  std::string text;
  for (const std::string& line : usage_of(app)) text += (text.empty() ? "" : ".br\n") + roff(line) + "\n";
  return text;
}

std::string command(const CLI::App& app) {
  std::string text = fmt::format(".SS {}\n{}.PP\n{}.\n", roff(app.get_name()), usage_lines(app),
                                 prose(app.get_description()));
  for (const CLI::Option* option : app.get_options())
    if (option != app.get_help_ptr()) text += entry(*option);
  if (!app.get_footer().empty()) text += ".PP\n" + as_typed(app.get_footer().substr(1));
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".\\\" Written by \"mcpivot man\".\n.TH MCPIVOT 1 \"\" \"mcpivot {}\" \"User Commands\"\n"
      ".SH NAME\n{}\n.SH SYNOPSIS\n{}.SH DESCRIPTION\n{}\n",
      version, name_and_what, usage_lines(app), prose(app.get_description()));
  for (const std::string& group : app.get_groups()) {
    const std::string options = options_in(app, group);
    if (options.empty()) continue;
    text += group == "Options" ? ".SH OPTIONS\n" : fmt::format(".SS {}\n", roff(group));
    text += options;
  }
  std::string group;
  for (const CLI::App* one :
       app.get_subcommands([](const CLI::App* some) { return !some->get_group().empty(); })) {
    if (one->get_group() != group) {
      group = one->get_group();
      std::string title = group;
      for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      text += fmt::format(".SH {}\n", roff(title));
    }
    text += command(*one);
  }
  text += the_rest;
  text += ".SH EXAMPLES\n" + as_typed(app.get_footer().substr(1));
  return text;
}

}  // namespace mcpivot
