// The table of options, and the order in which script, lives and command line override each other.
#include "options.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace fake {
namespace {

namespace json = boost::json;

struct Option {
  const char* name;
  const char* argument;  // nullptr for a flag
  const char* help;
  void (*apply)(Options&, const std::string&);
};

std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw std::runtime_error("'" + text + "' is not KEY=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void insert_each(std::set<std::string>& into, const std::string& comma_separated) {
  std::istringstream stream(comma_separated);
  for (std::string word; std::getline(stream, word, ',');) into.insert(word);
}

json::value tool_from(const std::string& text) {
  if (text.starts_with('{')) return json::parse(text);
  return json::object{{"name", text},
                      {"description", "An added tool; answers with its name, life and arguments."},
                      {"inputSchema", {{"type", "object"}}}};
}

void set_die_at(Options& o, const std::string& when) {
  static const std::map<std::string, DieAt> moments = {
      {"start", DieAt::start},
      {"before-initialize", DieAt::before_initialize},
      {"after-initialize", DieAt::after_initialize},
      {"initialized", DieAt::initialized},
      {"tools-list", DieAt::tools_list},
      {"discover", DieAt::discover},
  };
  if (const auto found = moments.find(when); found != moments.end()) {
    o.die_at = found->second;
  } else {
    o.die_at = DieAt::calls;
    o.die_after_calls = std::stoi(when);
  }
}

void set_fork(Options& o, const std::string& kind) {
  if (kind != "plain" && kind != "stubborn") throw std::runtime_error("'" + kind + "' is no kind of fork");
  o.fork = kind;
}

void set_era(Options& o, const std::string& era) {
  if (era != "legacy" && era != "modern" && era != "both")
    throw std::runtime_error("'" + era + "' is no era");
  o.era = era;
}

void set_listen(Options& o, const std::string& how) {
  if (how != "refuse" && how != "hold" && how != "end")
    throw std::runtime_error("'" + how + "' is no way to listen");
  o.listen = how;
}

using Text = const std::string&;

constexpr auto option_table = std::to_array<Option>({
    {"die", "WHEN",
     "dies at WHEN: start, before-initialize, after-initialize (its answer), initialized, discover or\n"
     "tools-list (asked for), or a number: after that many answered tool calls",
     set_die_at},
    {"how", "HOW", "how it dies: an exit code (1) or a signal's name (SIGSEGV)",
     [](Options& o, Text t) { o.die_how = t; }},
    {"hold", "METHODS", "never answers these methods (comma-separated; repeatable)",
     [](Options& o, Text t) { insert_each(o.hold, t); }},
    {"delay", "METHOD=MS", "answers METHOD after MS milliseconds, and others meanwhile (repeatable)",
     [](Options& o, Text t) {
       const auto [method, ms] = key_and_value(t);
       o.delay[method] = std::chrono::milliseconds(std::stol(ms));
     }},
    {"refuse", "METHOD=TEXT", "answers METHOD with the error -32000 and this message (repeatable)",
     [](Options& o, Text t) { o.refuse.insert(key_and_value(t)); }},
    {"answer", "METHOD=JSON", "answers METHOD with this result (repeatable)",
     [](Options& o, Text t) { o.answers.insert(key_and_value(t)); }},
    {"era", "ERA",
     "the protocol era that it has: legacy (up to 2025-11-25, the default), modern (2026-07-28), or\n"
     "both: it takes that of its first message, for good",
     set_era},
    {"deaf", nullptr, "says nothing to requests of the other era; else it refuses them",
     [](Options& o, Text) { o.deaf = true; }},
    {"listen", "HOW",
     "what it does with subscriptions/listen: refuse, hold (never acknowledges), or end (at once)",
     set_listen},
    {"garbage", "TEXT", "prints TEXT as a line to stdout before its first message",
     [](Options& o, Text t) { o.garbage = t; }},
    {"early", nullptr,
     "sends tools/list_changed before its initialize answer, and roots/list with id 0 once initialized",
     [](Options& o, Text) { o.early = true; }},
    {"page", "N", "lists come in pages of N", [](Options& o, Text t) { o.page = std::stoul(t); }},
    {"without", "WORDS",
     "lacks these capabilities: tools, prompts, resources, subscribe, logging, completions",
     [](Options& o, Text t) { insert_each(o.without, t); }},
    {"only", "TOOLS", "has only these of the default tools (\"none\": none)",
     [](Options& o, Text t) { insert_each(o.only, t); }},
    {"tool", "NAME|JSON",
     "has one more tool: a name, or the whole object for tools/list, which may redescribe a default\n"
     "tool (repeatable)",
     [](Options& o, Text t) { o.tools.push_back(tool_from(t)); }},
    {"describe", "TOOL=TEXT", "gives TOOL another description (repeatable)",
     [](Options& o, Text t) { o.describe.insert(key_and_value(t)); }},
    {"hint", "TOOL=HINT", "annotates TOOL with a true HINT, such as readOnlyHint (repeatable)",
     [](Options& o, Text t) { o.hints.insert(key_and_value(t)); }},
    {"prompt", "NAME", "has one more prompt (repeatable)",
     [](Options& o, Text t) { o.prompts.push_back(t); }},
    {"resource", "URI", "has one more resource (repeatable)",
     [](Options& o, Text t) { o.resources.push_back(t); }},
    {"name", "NAME", "its name in serverInfo (fake)", [](Options& o, Text t) { o.name = t; }},
    {"version", "VERSION", "its version in serverInfo (1.0.0)", [](Options& o, Text t) { o.version = t; }},
    {"protocol", "JSON", "its handshake names this protocol version, which may be anything; \"null\": none",
     [](Options& o, Text t) { o.protocol = json::parse(t); }},
    {"instructions", "TEXT", "its instructions", [](Options& o, Text t) { o.instructions = t; }},
    {"ignore-term", nullptr, "ignores SIGTERM", [](Options& o, Text) { o.ignore_term = true; }},
    {"ignore-eof", nullptr, "goes on after EOF on stdin", [](Options& o, Text) { o.ignore_eof = true; }},
    {"fork", "KIND",
     "forks a grandchild at start, in its process group, that sleeps forever with the same pipes open;\n"
     "KIND is plain, or stubborn: it ignores SIGTERM, SIGINT and SIGHUP",
     set_fork},
    {"stderr-flood", "N", "writes N lines to stderr at start",
     [](Options& o, Text t) { o.stderr_flood = std::stol(t); }},
    {"crlf", nullptr, "ends its lines with CRLF", [](Options& o, Text) { o.crlf = true; }},
    {"id-last", nullptr, "writes the id as the last key", [](Options& o, Text) { o.id_last = true; }},
    {"float-ids", nullptr, "writes an integer id 1 as 1.0 in its answers",
     [](Options& o, Text) { o.float_ids = true; }},
    {"twice", nullptr, "answers each tool call twice", [](Options& o, Text) { o.twice = true; }},
    {"unknown-id", nullptr, "answers a request that nobody made before each answer to a tool call",
     [](Options& o, Text) { o.unknown_id = true; }},
    {"journal", "FILE", "appends \"LIFE TOOL ARGUMENTS\" to FILE for each tool call that it executes",
     [](Options& o, Text t) { o.journal = t; }},
    {"tap", "FILE", "copies each line that it receives to FILE, as it came; a FIFO will do",
     [](Options& o, Text t) { o.tap = t; }},
    {"inject", "FIFO", "writes each line that it reads from FIFO to stdout, as it is",
     [](Options& o, Text t) { o.inject = t; }},
});

void print_help() {
  std::fputs(
      "usage: fake_server [OPTION…]\n\n"
      "A small MCP server on stdio that misbehaves as told, for tests.\n\n"
      "  --script FILE             reads options from a JSON object whose keys are option names without "
      "dashes\n"
      "                            (a flag is true, an array repeats); the key \"lives\" is an array of "
      "such\n"
      "                            objects, entry n for life n, the last one for all later lives\n"
      "  --lives FILE              counts this server's lives in FILE: the life is one more than it says\n"
      "  --life N | N+             what follows holds in life N only, or from life N on\n",
      stdout);
  for (const Option& option : option_table) {
    const std::string left = std::string("--") + option.name + (option.argument ? " " : "") +
                             (option.argument ? option.argument : "");
    std::string help = option.help;
    for (std::size_t at = 0; (at = help.find('\n', at)) != std::string::npos; at += 29)
      help.replace(at, 1, "\n" + std::string(28, ' '));
    std::printf("  %-25s %s\n", left.c_str(), help.c_str());
  }
  std::fputs(
      "\nThe command line overrides the script. tools/list describes the tools; prompts/*, resources/*, "
      "logging\n"
      "and completion answer as a proper server's do, and any other method is answered with -32601.\n",
      stdout);
}

const Option& find_option(std::string_view name) {
  for (const Option& option : option_table)
    if (name == option.name) return option;
  throw std::runtime_error("no option '" + std::string(name) + "'");
}

// Reads, raises and writes the counter under a lock: two lives may begin at once.
int next_life(const std::string& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || flock(fd, LOCK_EX) != 0) throw std::runtime_error("cannot open " + file);
  std::array<char, 16> buffer{};
  const ssize_t got = pread(fd, buffer.data(), buffer.size() - 1, 0);
  const int life = 1 + (got > 0 ? std::stoi(buffer.data()) : 0);
  const std::string text = std::to_string(life) + "\n";
  if (pwrite(fd, text.data(), text.size(), 0) < 0) throw std::runtime_error("cannot write " + file);
  close(fd);
  return life;
}

void apply_value(Options& options, const Option& option, const json::value& value) {
  if (const auto* array = value.if_array()) {
    for (const json::value& each : *array) apply_value(options, option, each);
  } else if (const auto* flag = value.if_bool()) {
    if (*flag) option.apply(options, "");
  } else if (const auto* text = value.if_string()) {
    option.apply(options, std::string(*text));
  } else {
    option.apply(options, json::serialize(value));
  }
}

void apply_object(Options& options, const json::object& object) {
  for (const auto& [key, value] : object)
    if (key != "lives") apply_value(options, find_option(key), value);
}

void apply_script(Options& options, const std::string& file) {
  const std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file);
  std::ostringstream text;
  text << stream.rdbuf();
  const json::value script = json::parse(text.str());
  apply_object(options, script.as_object());
  if (const auto* lives = script.as_object().if_contains("lives")) {
    const json::array& entries = lives->as_array();
    if (entries.empty()) return;
    const auto index = std::min(static_cast<std::size_t>(options.life), entries.size()) - 1;
    apply_object(options, entries[index].as_object());
  }
}

bool life_fits(int life, const std::string& range) {
  return range.ends_with('+') ? life >= std::stoi(range) : life == std::stoi(range);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs split_arguments(const std::vector<std::string>& arguments) {
  static const std::set<std::string> own = {"script", "lives", "life"};
  Pairs pairs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--")) throw std::runtime_error("'" + arguments[i] + "' is no option");
    const std::string name = arguments[i].substr(2);
    if (!own.contains(name) && !find_option(name).argument) {
      pairs.emplace_back(name, "");
    } else {
      if (i + 1 == arguments.size()) throw std::runtime_error("--" + name + " needs a value");
      pairs.emplace_back(name, arguments[++i]);
    }
  }
  return pairs;
}

Options parse(std::vector<std::string> arguments) {
  Options options;
  const Pairs pairs = split_arguments(arguments);
  options.arguments = std::move(arguments);
  for (const auto& [name, value] : pairs)
    if (name == "lives") options.life = next_life(value);
  for (const auto& [name, value] : pairs)
    if (name == "script") apply_script(options, value);
  bool active = true;
  for (const auto& [name, value] : pairs) {
    if (name == "life") active = life_fits(options.life, value);
    if (active && name != "script" && name != "lives" && name != "life")
      find_option(name).apply(options, value);
  }
  return options;
}

}  // namespace

Options read_options(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (const std::string& argument : arguments) {
    if (argument != "--help") continue;
    print_help();
    std::exit(0);
  }
  try {
    return parse(std::move(arguments));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake_server: %s; see --help\n", error.what());
    std::exit(2);
  }
}

}  // namespace fake
