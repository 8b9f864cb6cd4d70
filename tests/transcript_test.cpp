// Plays every file in transcripts/; each is one test, named after its file. What a transcript doesn't
// mention must not happen: an extra line, in either direction, fails it.
#include "transcript.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness.h"

namespace harness {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

// A named pipe into or out of the fake server, past mcpivot. Opened for both, so it neither waits nor ends.
class Fifo {
 public:
  explicit Fifo(const fs::path& path) : path_(path) {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("cannot make " + path.native());
    fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  }
  ~Fifo() { close(fd_); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const fs::path& path() const { return path_; }

  void write_line(const std::string& line) const {
    const std::string bytes = line + "\n";
    if (write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("the server does not take what it should send");
  }

  std::optional<std::string> read_line(Deadline deadline) {
    std::size_t end = 0;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      const auto left = deadline - std::chrono::steady_clock::now();
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      pollfd readable = {fd_, POLLIN, 0};
      if (poll(&readable, 1, static_cast<int>(std::max(0L, ms))) <= 0) return std::nullopt;
      std::array<char, 65536> chunk{};
      const ssize_t got = read(fd_, chunk.data(), chunk.size());
      if (got > 0) buffer_.append(chunk.data(), static_cast<std::size_t>(got));
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return line;
  }

 private:
  fs::path path_;
  int fd_ = -1;
  std::string buffer_;
};

// Requests that mcpivot may also make on its own, and that a transcript doesn't have to mention on the
// server's side.
bool may_be_passed_over(const std::string& line) {
  static const std::set<std::string, std::less<>> methods = {
      "initialize",     "notifications/initialized", "ping", "tools/list", "prompts/list",
      "resources/list", "resources/templates/list"};
  boost::system::error_code error;
  const json::value message = json::parse(line, error);
  if (error || !message.is_object()) return false;
  const json::value* method = message.get_object().if_contains("method");
  return method && method->is_string() && methods.contains(std::string_view(method->get_string()));
}

class Player {
 public:
  explicit Player(const Transcript& transcript)
      : transcript_(transcript),
        tap_(directory_.path() / "tap"),
        inject_(directory_.path() / "inject"),
        client_({.options = transcript.options, .server = server_arguments()}) {}

  void play() {
    if (transcript_.handshake) client_.initialize(*transcript_.handshake);
    for (const TranscriptLine& line : transcript_.lines) {
      play_line(line);
      if (testing::Test::HasFailure()) return;
    }
    expect_nothing_more();
  }

 private:
  bool mentions(Step step) const {
    return std::ranges::any_of(transcript_.lines,
                               [&](const TranscriptLine& line) { return line.step == step; });
  }

  std::vector<std::string> server_arguments() const {
    std::vector<std::string> arguments = transcript_.server;
    if (mentions(Step::server_receives)) arguments.insert(arguments.end(), {"--tap", tap_.path()});
    if (mentions(Step::server_sends)) arguments.insert(arguments.end(), {"--inject", inject_.path()});
    return arguments;
  }

  void play_line(const TranscriptLine& line) {
    switch (line.step) {
      case Step::client_sends:
        return client_.child().send_line(expand(line.text, captures_));
      case Step::server_sends:
        return inject_.write_line(expand(line.text, captures_));
      case Step::client_receives:
        return compare(line, client_.child().read_line(soon()));
      case Step::server_receives:
        return compare_server(line);
    }
  }

  void compare(const TranscriptLine& line, const std::optional<std::string>& got) {
    if (got && matches(line.text, *got, captures_)) return;
    ADD_FAILURE_AT(transcript_.file.c_str(), line.number)
        << "expected: " << line.text << "\n     got: " << got.value_or("nothing") << "\n"
        << client_.child().stderr_text();
  }

  void compare_server(const TranscriptLine& line) {
    std::optional<std::string> got = tap_.read_line(soon());
    while (got && may_be_passed_over(*got) && !matches(line.text, *got, captures_))
      got = tap_.read_line(soon());
    compare(line, got);
  }

  void expect_nothing_more() {
    Child& child = client_.child();
    child.close_stdin();
    while (const auto line = child.read_line(soon())) fail_at_end("the client got one more line: " + *line);
    const std::optional<int> status = child.wait_exit(soon());
    if (!status) return fail_at_end("mcpivot does not end after EOF");
    if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
      fail_at_end("mcpivot ended with status " + std::to_string(*status) + "\n" + child.stderr_text());
    if (!mentions(Step::server_receives)) return;
    while (const auto line = tap_.read_line(std::chrono::steady_clock::now()))
      if (!may_be_passed_over(*line)) fail_at_end("the server got one more line: " + *line);
  }

  void fail_at_end(const std::string& what) const {
    ADD_FAILURE_AT(transcript_.file.c_str(), transcript_.lines.back().number) << "after the end: " << what;
  }

  const Transcript& transcript_;
  TemporaryDirectory directory_;
  Fifo tap_;
  Fifo inject_;
  Client client_;
  Captures captures_;
};

std::vector<fs::path> transcript_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TRANSCRIPT_DIRECTORY))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class TranscriptTest : public testing::TestWithParam<fs::path> {};

TEST_P(TranscriptTest, plays) {
  const Transcript transcript = read_transcript(GetParam());
  ASSERT_FALSE(transcript.lines.empty());
  Player(transcript).play();
}

INSTANTIATE_TEST_SUITE_P(transcripts, TranscriptTest, testing::ValuesIn(transcript_files()),
                         [](const testing::TestParamInfo<fs::path>& file) {
                           return file.param.stem().native();
                         });

TEST(TranscriptFormat, a_placeholder_keeps_its_first_value) {
  Captures captures;
  EXPECT_TRUE(matches(R"({"id":<any:a>,"x":<any>})", R"({"id":7,"x":[1]})", captures));
  EXPECT_EQ(expand("<any:a>|<any:a><hex:0d>", captures), "7|7\r");
  EXPECT_TRUE(matches(R"({"id":<any:a>})", R"({"id":7})", captures));
  EXPECT_FALSE(matches(R"({"id":<any:a>})", R"({"id":8})", captures));
}

}  // namespace
}  // namespace harness
