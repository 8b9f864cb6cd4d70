// What Tab offers, asked of mcpivot itself and then in the shells that people use.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// The words that are offered, without their descriptions.
Strings words_in(const std::string& offered) {
  Strings words = lines_in(offered);
  for (std::string& word : words) word.resize(std::min(word.size(), word.find('\t')));
  return words;
}

// The first line says what else fits; the rest are words.
Strings complete(const fs::path& directory, Strings words) {
  words.insert(words.begin(), {"complete", "--"});
  return words_in(run_mcpivot(words, directory).out);
}

Strings complete(const Strings& words) {
  const TemporaryDirectory directory;
  return complete(directory.path(), words);
}

// Where a shell is: Debian's place, as ./dev installs it.
std::string shell(const char* name) {
  for (const char* folder : {"/usr/bin/", "/bin/", "/usr/local/bin/"})
    if (fs::exists(std::string(folder) + name)) return std::string(folder) + name;
  return {};
}

std::string path_with_mcpivot() {
  return fs::path(mcpivot_binary()).parent_path().string() + ":" + std::getenv("PATH");
}

// The options in a help text.
std::set<std::string> options_in(const std::string& help) {
  std::set<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    std::istringstream names(line.substr(2, line.find(' ', 2) - 2));
    for (std::string name; std::getline(names, name, ',');) found.insert(name);
  }
  return found;
}

// The commands in mcpivot's own help.
Strings commands_in(const std::string& help) {
  Strings found;
  std::istringstream lines(help);
  bool here = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Commands")) here = true;
    if (line.empty()) continue;
    if (line.starts_with("Example")) here = false;
    if (here && line.starts_with("  ") && line[2] != ' ')
      found.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return found;
}

std::string output_of(const Strings& arguments) {
  const TemporaryDirectory directory;
  return run_mcpivot(arguments, directory.path()).out;
}

TEST(Completion, offers_commands_options_and_known_values) {
  EXPECT_THAT(complete({"st"}), ElementsAre("words", "status", "stop"));
  EXPECT_THAT(complete({"--sw"}), ElementsAre("words", "--swap"));
  EXPECT_THAT(complete({"--swap", ""}), ElementsAre("words", "overlap", "stop-first"));
  EXPECT_THAT(complete({"--swap=s"}), ElementsAre("words", "--swap=stop-first"));
  EXPECT_THAT(complete({"--compat", "mcp-"}), ElementsAre("words", "mcp-sitter"));
  EXPECT_THAT(complete({"--log-level", "d"}), ElementsAre("words", "debug"));
  EXPECT_THAT(complete({"completion", ""}), ElementsAre("words", "bash", "zsh", "fish"));
  EXPECT_THAT(complete({"install", "c"}),
              ElementsAre("words", "claude", "cursor", "codex", "claude-desktop"));
  EXPECT_THAT(complete({"install", "claude", "--scope", ""}), ElementsAre("words", "user", "project"));
  EXPECT_THAT(complete({"install", "claude", ""}), ElementsAre("words"));
  EXPECT_THAT(complete({"--config", "x", ""}), Contains("status"));
}

TEST(Completion, knows_where_files_folders_and_commands_fit) {
  EXPECT_THAT(complete({"check", ""}), ElementsAre("files"));
  EXPECT_THAT(complete({"--config", ""}), ElementsAre("files"));
  EXPECT_THAT(complete({"--cwd", ""}), ElementsAre("folders"));
  EXPECT_THAT(complete({"--", "git", "--swa"}), ElementsAre("command"));
  EXPECT_THAT(complete({"--name", "--", "--swa"}), ElementsAre("words", "--swap")) << "here it is a name";
}

TEST(Completion, does_not_offer_an_option_again_that_can_be_given_once) {
  EXPECT_THAT(complete({"--swap", "overlap", "--s"}), Not(Contains("--swap")));
  EXPECT_THAT(complete({"--env", "A=b", "--e"}), Contains("--env"));
}

TEST(Completion, offers_every_option_and_command_of_the_help) {
  const std::string help = output_of({"--help"});
  const Strings commands = commands_in(help);
  ASSERT_THAT(commands, IsSupersetOf({"check", "install", "status", "call", "man"}));
  EXPECT_THAT(complete({""}), IsSupersetOf(commands));
  ASSERT_THAT(options_in(help), IsSupersetOf({"-h", "--help", "--swap", "--max-output"}));
  EXPECT_THAT(complete({"-"}), IsSupersetOf(options_in(help)));
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    EXPECT_THAT(complete({command, "-"}), IsSupersetOf(options_in(output_of({command, "--help"}))));
  }
}

TEST(Completion, the_man_page_has_every_option_and_command_of_the_help) {
  std::string page = output_of({"man"});
  std::erase(page, '\\');
  const std::string help = output_of({"--help"});
  auto has = [&](const std::string& text, const std::string& part) {
    for (const std::string& option : options_in(text))
      EXPECT_THAT(part, HasSubstr("fB" + option + "fR")) << option;
  };
  has(help, page.substr(0, page.find(".SH COMMANDS")));
  for (const std::string& command : commands_in(help)) {
    SCOPED_TRACE(command);
    const auto start = page.find(".SS " + command + "\n");
    ASSERT_NE(start, std::string::npos);
    const std::string text = output_of({command, "--help"});
    const std::string part = page.substr(start, page.find("\n.S", start + 1) - start);
    EXPECT_THAT(part, HasSubstr("mcpivot " + command));
    has(text, part + "fB-hfR, fB--helpfR");  // explained once, at the top
  }
}

TEST(Completion, the_man_page_is_valid_for_man_and_its_linters) {
  const TemporaryDirectory directory;
  const fs::path page = directory.path() / "mcpivot.1";
  std::ofstream(page) << output_of({"man"});
  int readers = 0;
  for (const Strings& reader : {Strings{"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"},
                                Strings{"groff", "-ww", "-man", "-z"}, Strings{"mandoc", "-Tlint"}}) {
    const std::string program = shell(reader[0].c_str());
    if (program.empty()) continue;
    Strings command{program};
    command.insert(command.end(), reader.begin() + 1, reader.end());
    command.push_back(page);
    const Outcome read = run_to_end(command);
    std::string trouble;
    for (const std::string& line : lines_in(read.out))
      // It deliberately has no date: the same source makes the same page.
      if (reader[0] == "mandoc" && line.find("missing date") == std::string::npos) trouble += line + "\n";
    EXPECT_EQ(trouble + read.err, "") << reader[0];
    ++readers;
  }
  EXPECT_GT(readers, 0) << "there is no man, groff or mandoc; ./dev test installs them";
}

TEST(Completion, offers_running_servers_and_their_tools) {
  Client client({.config = R"({"mcpServers": {"alpha": {"command": "${FAKE}", "active": true},
                               "beta": {"command": "${FAKE}"}}})"});
  client.initialize();
  client.request("tools/list");
  EXPECT_THAT(complete(client.directory(), {"logs", ""}), ElementsAre("words", "alpha", "beta"));
  EXPECT_THAT(complete(client.directory(), {"activate", "b"}), ElementsAre("words", "beta"));
  EXPECT_THAT(complete(client.directory(), {"call", "alpha__ech"}), ElementsAre("words", "alpha__echo"));
  EXPECT_THAT(complete(client.directory(), {"tools", "alpha"}),
              testing::IsSupersetOf({"alpha", "alpha__echo"}));
  EXPECT_THAT(complete(client.directory(), {"call", "alpha__sleep", ""}),
              ElementsAre("words", "ms=", "steps="));
  EXPECT_THAT(complete(client.directory(), {"call", "alpha__sleep", "ms=1", "s"}),
              ElementsAre("words", "steps="));
  EXPECT_THAT(complete(client.directory(), {"status", "--instance", ""}),
              ElementsAre("words", std::to_string(client.child().pid())));
}

TEST(Completion, does_not_wait_for_a_mcpivot_that_is_stuck) {
  Client client({.config = R"({"mcpServers": {"alpha": {"command": "${FAKE}"}}})"});
  client.initialize();
  client.child().signal(SIGSTOP);
  EXPECT_THAT(complete(client.directory(), {"logs", ""}), ElementsAre("words"));
  client.child().signal(SIGCONT);
}

// A shell on its own terminal, with someone typing into it.
class Typist {
 public:
  explicit Typist(const Strings& command, const Environment& environment, const fs::path& directory) {
    const winsize size{.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    if (::openpty(&keys_, &screen_, nullptr, nullptr, &size) != 0) throw std::runtime_error("no terminal");
    ::fcntl(keys_, F_SETFD, FD_CLOEXEC);
    ::fcntl(keys_, F_SETFL, O_NONBLOCK);
    child_.emplace(command, environment, directory, Stdio{.in = screen_, .out = screen_, .err = screen_});
  }
  ~Typist() {
    child_.reset();
    ::close(keys_);
    ::close(screen_);
  }
  Typist(const Typist&) = delete;
  Typist& operator=(const Typist&) = delete;

  void type(std::string_view text) const {
    EXPECT_EQ(::write(keys_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Waits until that is on the screen, after what was waited for before.
  bool shows(std::string_view text) {
    return wait_until(
        [&] {
          std::array<char, 4096> piece{};
          const ssize_t count = ::read(keys_, piece.data(), piece.size());
          if (count > 0) shown_.append(piece.data(), static_cast<std::size_t>(count));
          const auto found = shown_.find(text, seen_);
          if (found != std::string::npos) seen_ = found + text.size();
          return found != std::string::npos;
        },
        soon());
  }
  const std::string& shown() const { return shown_; }

 private:
  int keys_ = -1;
  int screen_ = -1;
  std::string shown_;
  std::size_t seen_ = 0;
  std::optional<Child> child_;
};

// Types into a shell in which the program is a function that prints its arguments: what Tab made of them.
void try_by_hand(Typist& typist, const std::string& preparation) {
  ASSERT_TRUE(typist.shows("ready>")) << typist.shown();
  typist.type(preparation + "; mcpivot() { printf '<%s>' \"$@\"; }\n");
  struct Step {
    const char* typed;
    const char* added;
    const char* given;
  };
  for (const Step& step :
       {Step{"--swap sto", "p-first", "<--swap><stop-first>"}, Step{"--swap=ov", "erlap", "<--swap=overlap>"},
        Step{"install claude-d", "esktop", "<install><claude-desktop>"},
        Step{"install claude --dry", "-run", "<install><claude><--dry-run>"},
        Step{"check only-o", "ne.json", "<check><only-one.json>"},
        Step{"--cwd a-fol", "der", "<--cwd><a-folder"},
        Step{"--name x -- only-o", "ne.json", "<--name><x><--><only-one.json>"}}) {
    ASSERT_TRUE(typist.shows("ready>")) << typist.shown();
    typist.type(std::string("mcpivot ") + step.typed + "\t");
    ASSERT_TRUE(typist.shows(step.added)) << step.typed << ": " << typist.shown();
    typist.type("\n");
    ASSERT_TRUE(typist.shows(step.given)) << step.typed << ": " << typist.shown();
  }
}

void make_files(const fs::path& directory) {
  std::ofstream(directory / "only-one.json") << "{}";
  fs::permissions(directory / "only-one.json", fs::perms::owner_all);
  fs::create_directory(directory / "a-folder");
}

Environment shell_environment(const fs::path& directory) {
  Environment environment = private_folders(directory);
  for (const auto& [name, value] :
       {std::pair{"PATH", path_with_mcpivot()}, {"TERM", "vt100"}, {"PS1", "ready>"}, {"LC_ALL", "C.UTF-8"}})
    environment.emplace_back(name, value);
  return environment;
}

TEST(Completion, works_in_bash) {
  const std::string bash = shell("bash");
  ASSERT_NE(bash, "") << "there is no bash";
  const TemporaryDirectory directory;
  make_files(directory.path());
  Typist typist({bash, "--noprofile", "--norc", "-i"}, shell_environment(directory.path()), directory.path());
  // A command is completed from PATH where bash has nothing more specific.
  try_by_hand(typist, "PATH=$PATH:.; eval \"$(mcpivot completion bash)\"");
}

TEST(Completion, works_in_zsh) {
  const std::string zsh = shell("zsh");
  ASSERT_NE(zsh, "") << "there is no zsh; ./dev test installs it";
  const TemporaryDirectory directory;
  make_files(directory.path());
  Typist typist({zsh, "-f", "-i"}, shell_environment(directory.path()), directory.path());
  try_by_hand(typist,
              "PATH=$PATH:.; autoload -U compinit; compinit -u -D; "
              "eval \"$(mcpivot completion zsh)\"");
}

TEST(Completion, works_in_fish) {
  const std::string fish = shell("fish");
  ASSERT_NE(fish, "") << "there is no fish; ./dev test installs it";
  const TemporaryDirectory directory;
  make_files(directory.path());
  auto offered = [&](const std::string& line) {
    const Outcome said =
        run_to_end({fish, "-N", "-c", "mcpivot completion fish | source; complete -C '" + line + "'"},
                   shell_environment(directory.path()), directory.path());
    EXPECT_EQ(said.err, "");
    return words_in(said.out);
  };
  EXPECT_THAT(offered("mcpivot --swap "), ElementsAre("overlap", "stop-first"));
  EXPECT_THAT(offered("mcpivot --swap=o"), ElementsAre("--swap=overlap"));
  EXPECT_THAT(offered("mcpivot sta"), ElementsAre("status"));
  EXPECT_THAT(offered("mcpivot check only"), ElementsAre("only-one.json"));
  EXPECT_THAT(offered("mcpivot --config=only"), ElementsAre("--config=only-one.json"));
  EXPECT_THAT(offered("mcpivot --cwd a-f"), ElementsAre("a-folder/"));
  EXPECT_THAT(offered("mcpivot --name x -- cat only"), ElementsAre("only-one.json"));
}

}  // namespace
}  // namespace harness
