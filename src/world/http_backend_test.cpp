// The modern era over HTTP, from the backend down to real sockets: a fake daemon checks what arrives there.
#include "world/http_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/temporary_directory.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Strings = std::vector<std::string>;

class Daemon {
 public:
  explicit Daemon(Strings options) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    options.insert(options.begin(), {FAKE_DAEMON_BINARY, "--journal", folder_ / "journal"});
    std::vector<char*> argv;
    for (std::string& option : options) argv.push_back(option.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    std::FILE* const said = ::fdopen(ends[0], "r");
    if (std::fscanf(said, "listening on %d", &port_) != 1) ADD_FAILURE() << "the daemon does not listen";
    std::fclose(said);
  }
  ~Daemon() { kill(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/mcp"; }
  // The requests it received, as "WHAT DETAILS".
  Strings journal() const {
    Strings lines;
    std::ifstream file(folder_ / "journal");
    for (std::string line; std::getline(file, line);) lines.push_back(line.substr(line.find(' ') + 1));
    return lines;
  }

 private:
  host::TemporaryDirectory folder_;
  pid_t pid_ = 0;
  int port_ = 0;
};

// A backend, and its listener.
class Talk final : public Link::Handler {
 public:
  explicit Talk(const Daemon& daemon, Era era = Era::modern) : Talk(daemon.url(), era) {}
  Talk(const std::string& url, Era era, std::shared_ptr<Authorizer> authorizer = nullptr) {
    ServerConfig config;
    config.name = "app";
    config.http.url = url;
    auto made = HttpBackend::connect(context_, config, std::move(authorizer));
    if (!made) throw std::runtime_error(made.error());
    backend = *made;
    backend->speak(era);
    backend->start(*this, [this](const Backend::Ending& how) { ending = how; });
  }
  ~Talk() override {
    backend->close();
    loop_.poll();
    backend.reset();  // its timers live in the loop, which is destroyed before it
  }

  std::shared_ptr<Backend> backend;
  Strings said;  // what the daemon said, in order
  struct Lost {
    std::string id;
    bool reached;
    std::string why;
  };
  std::vector<Lost> lost;
  std::optional<Backend::Ending> ending;
  std::function<void()> on_said;  // called with each message
  int writable = 0;

  // A modern request; `params` are its members other than _meta.
  void ask(const std::string& id, const std::string& method, const std::string& params = {}) {
    backend->link().send(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" +
                         params + (params.empty() ? "" : ",") + R"("_meta":{"progressToken":)" + id + "," +
                         meta_members(R"({"capabilities":{},"clientInfo":{"name":"t","version":"1"}})") +
                         "}}}");
  }
  void call(const std::string& id, const std::string& tool, const std::string& arguments = "{}") {
    ask(id, "tools/call", R"("name":")" + tool + R"(","arguments":)" + arguments);
  }
  void cancel(const std::string& id) {
    backend->link().send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
                         id + "}}");
  }

  // Runs the loop until this is so.
  bool wait(const std::function<bool()>& ready) {
    const auto end = steady_clock::now() + seconds(20);
    while (!ready()) {
      if (steady_clock::now() > end) return false;
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return true;
  }
  bool has_answer(const std::string& id) const { return !find(id).empty(); }
  // The response to a request.
  std::string answer(const std::string& id) {
    EXPECT_TRUE(wait([&] { return has_answer(id); })) << "no answer to " << id;
    return find(id);
  }
  bool wait_journal(const Daemon& daemon, const std::string& line) {
    return wait([&] { return std::ranges::count(daemon.journal(), line) > 0; });
  }

 private:
  std::string find(const std::string& id) const {
    for (const std::string& line : said) {
      const auto message = read_message(line);
      if (message && message->is_answer() && message->text(message->id) == id) return line;
    }
    return {};
  }

  void on_message(const Message& message) override {
    said.emplace_back(message.raw);
    if (on_said) on_said();
  }
  void on_batch(std::string_view line) override { said.emplace_back(line); }
  void on_unreadable(std::string_view line, const Refusal&) override { said.emplace_back(line); }
  void on_oversize(const Skim&, std::size_t) override {}
  void on_writable() override { ++writable; }
  void on_lost(std::string_view id, bool reached, std::string_view why) override {
    lost.push_back({std::string(id), reached, std::string(why)});
  }
  void on_broken(std::string_view) override {}
  void on_end(std::string_view why) override { backend->on_link_end(why); }

  boost::asio::io_context loop_;
  LinkContext context_{loop_};
};

std::string text_in(const std::string& answer) {
  const std::string_view content = find_member(find_member(answer, "result"), "content");
  const auto begin = content.find(R"("text":")");
  if (begin == std::string_view::npos) return answer;
  return std::string(content.substr(begin + 8, content.find('"', begin + 8) - begin - 8));
}

std::string code_in(const std::string& answer) {
  return std::string(find_member(find_member(answer, "error"), "code"));
}

const Strings modern{"--era", "modern"};

TEST(ModernHttp, requests_need_no_session_get_or_delete) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask("1", "server/discover");
  EXPECT_THAT(talk.answer("1"), HasSubstr(R"("supportedVersions":["2026-07-28"])"));
  talk.call("2", "echo", R"({"text":"hi"})");
  EXPECT_EQ(text_in(talk.answer("2")), "hi");
  talk.call("3", "events", R"({"text":"by event"})");
  EXPECT_EQ(text_in(talk.answer("3")), "by event");
  EXPECT_THAT(talk.said, Contains(HasSubstr(R"("data":"first")")));
  talk.backend->end(seconds(2));
  ASSERT_TRUE(talk.wait([&] { return talk.ending.has_value(); }));
  EXPECT_THAT(daemon.journal(),
              ElementsAre("server/discover ", R"(echo {"text":"hi"})", StartsWith("events")));
}

TEST(ModernHttp, headers_reflect_the_message_after_its_edits) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  const std::string line =
      R"({"jsonrpc":"2.0","id":"client's","method":"tools/call","params":{"name":"app__echo","arguments":{"text":"x"}}})";
  const Message message = *read_message(line);
  const std::string meta = R"(,"_meta":{)" + meta_members("{}") + "}";
  Edits edits;
  edits.replace(message.id, "5").replace(message.name, R"("echo")").insert(message.params.end() - 1, meta);
  talk.backend->link().send(message, edits.list());
  EXPECT_EQ(text_in(talk.answer("5")), "x");
}

TEST(ModernHttp, names_that_need_encoding_in_a_header_arrive) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask("1", "resources/read", R"("uri":"file:\/\/\/gr\u00fc\u00df e.txt")");
  talk.ask("2", "prompts/get", R"("name":"=?base64?x?=")");
  talk.ask("3", "prompts/get", R"("name":" a\r\nEvil: yes")");
  for (const char* id : {"1", "2", "3"}) EXPECT_THAT(talk.answer(id), HasSubstr(R"("result")"));
}

TEST(ModernHttp, marked_arguments_are_sent_in_headers_and_wrongly_marked_tools_dropped) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask("1", "tools/list");
  const std::string listed = talk.answer("1");
  Catalog catalog;
  catalog.add_page(ListKind::tools, find_member(listed, "result"));
  ASSERT_NE(catalog.find(ListKind::tools, "wrong_route"), nullptr);
  const std::string arguments = R"({"region":"Zürich","count":42,"where":{"zone":"b"},"other":null})";
  talk.call("2", "route", arguments);
  EXPECT_EQ(code_in(talk.answer("2")), "-32020") << "nobody told the link yet";
  talk.backend->learn_tools(catalog.list(ListKind::tools));
  EXPECT_EQ(catalog.find(ListKind::tools, "wrong_route"), nullptr);
  EXPECT_NE(catalog.find(ListKind::tools, "route"), nullptr);
  talk.call("3", "route", arguments);
  EXPECT_EQ(text_in(talk.answer("3")), "done");
  talk.call("4", "route", R"({"region":null})");
  EXPECT_EQ(text_in(talk.answer("4")), "done");
}

TEST(ModernHttp, a_legacy_generation_does_not_change_the_list_of_tools) {
  const Daemon daemon({});
  Talk talk(daemon, Era::legacy);
  std::vector<Item> tools{{"a", R"({"name":"a","inputSchema":{"x-mcp-header":"A"}})"}};
  talk.backend->learn_tools(tools);
  EXPECT_EQ(tools.size(), 1u);
}

TEST(ModernHttp, the_servers_own_error_passes_whatever_the_http_status) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask("1", "no/such");
  EXPECT_EQ(talk.answer("1"),
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}})");
  talk.backend->link().send(
      R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}}})");
  EXPECT_THAT(talk.answer("2"), AllOf(HasSubstr("-32022"), HasSubstr(R"("supported":["2026-07-28"])")));
  talk.call("3", "misbehave", R"({"how":"rpc error"})");  // which has no id
  EXPECT_EQ(talk.answer("3"), R"({"jsonrpc":"2.0","id":3,"error":{"code":-32099,"message":"a reason"}})");
  talk.call("4", "misbehave", R"({"how":"status","code":500})");
  EXPECT_THAT(talk.answer("4"),
              AllOf(HasSubstr("-32603"), HasSubstr("500"), HasSubstr("because I was told to")));
  talk.call("5", "echo", R"({"text":"and on"})");
  EXPECT_EQ(text_in(talk.answer("5")), "and on");
  EXPECT_FALSE(talk.ending);
  EXPECT_THAT(talk.lost, IsEmpty());
}

TEST(ModernHttp, a_response_with_another_id_is_rejected_even_if_both_are_strings) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.call(R"("bridge-1")", "misbehave", R"({"how":"other id","id":"bridge-2"})");
  EXPECT_THAT(talk.answer(R"("bridge-1")"), HasSubstr("a request that wasn't made"));
  EXPECT_FALSE(talk.has_answer(R"("bridge-2")"));
}

// How a legacy server reacts to a probe.
TEST(ModernHttp, any_rejection_of_a_probe_is_an_immediate_answer) {
  for (const Strings& options :
       {Strings{}, Strings{"--bad-request"}, Strings{"--no-session"}, Strings{"--old"},
        Strings{"--status", "400"}, Strings{"--status", "401"}, Strings{"--status", "404"},
        Strings{"--status", "405"}, Strings{"--status", "406"}, Strings{"--status", "415"}}) {
    const Daemon daemon(options);
    Talk talk(daemon);
    const auto begin = steady_clock::now();
    talk.ask("1", "server/discover");
    EXPECT_THAT(talk.answer("1"), HasSubstr(R"("error")"));
    EXPECT_LT(steady_clock::now() - begin, seconds(2));
    EXPECT_FALSE(talk.ending);
    EXPECT_THAT(daemon.journal(), Not(Contains(StartsWith("GET")))) << "nothing else is tried";
  }
}

TEST(ModernHttp, a_modern_servers_rejection_of_initialize_passes_unchanged) {
  const Daemon daemon(modern);
  Talk talk(daemon, Era::legacy);
  talk.backend->link().send(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}})");
  EXPECT_THAT(talk.answer("1"), AllOf(HasSubstr("-32022"), HasSubstr(R"("supported":["2026-07-28"])")));
  EXPECT_THAT(daemon.journal(), Not(Contains(StartsWith("GET")))) << "it is no daemon of the old transport";
  EXPECT_FALSE(talk.ending);
}

// No connection can be opened, because the daemon accepts none.
TEST(ModernHttp, a_large_call_that_is_cancelled_before_it_is_sent_makes_room) {
  boost::asio::io_context other;
  boost::asio::ip::tcp::acceptor deaf(other, {boost::asio::ip::make_address("127.0.0.1"), 0}, false);
  ASSERT_EQ(::listen(deaf.native_handle(), 0), 0);
  std::vector<boost::asio::ip::tcp::socket> queue;
  for (int i = 0; i < 4; ++i) {
    queue.emplace_back(other).open(boost::asio::ip::tcp::v4());
    queue.back().non_blocking(true);
    const auto endpoint = deaf.local_endpoint();
    ::connect(queue.back().native_handle(), endpoint.data(), static_cast<socklen_t>(endpoint.size()));
  }
  Talk talk(fmt::format("http://127.0.0.1:{}/mcp", deaf.local_endpoint().port()), Era::modern);
  talk.call("1", "t", fmt::format(R"({{"x":"{}"}})", std::string(2'000'000, 'x')));
  ASSERT_TRUE(talk.backend->link().full());
  talk.cancel("1");
  EXPECT_TRUE(talk.wait([&] { return talk.writable > 0; }));
}

TEST(ModernHttp, one_daemon_serves_both_eras) {
  const Daemon daemon({"--era", "both"});
  Talk old(daemon, Era::legacy);
  old.backend->link().send(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}})");
  EXPECT_THAT(old.answer("1"), HasSubstr("serverInfo"));
  Talk talk(daemon);
  talk.ask("1", "server/discover");
  EXPECT_THAT(talk.answer("1"), HasSubstr("supportedVersions"));
}

TEST(ModernHttp, a_cancellation_only_closes_the_connection_of_its_request) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.call("1", "hold");
  talk.call("2", "hold", R"({"stream":1})");
  ASSERT_TRUE(talk.wait_journal(daemon, "hold {}"));
  ASSERT_TRUE(talk.wait([&] { return !talk.said.empty(); })) << "progress";
  talk.cancel("2");
  ASSERT_TRUE(talk.wait_journal(daemon, "closed hold"));
  EXPECT_FALSE(talk.has_answer("1")) << "the other goes on";
  talk.cancel("1");
  ASSERT_TRUE(talk.wait([&] { return std::ranges::count(daemon.journal(), "closed hold") == 2; }));
  talk.cancel("77");  // matches no request
  talk.call("3", "echo", R"({"text":"on"})");
  EXPECT_EQ(text_in(talk.answer("3")), "on");
  EXPECT_THAT(talk.lost, IsEmpty());
  EXPECT_THAT(daemon.journal(),
              AllOf(Not(Contains(HasSubstr("cancelled"))), Not(Contains(HasSubstr("refused")))));
}

TEST(ModernHttp, a_request_may_be_cancelled_while_its_stream_is_being_read) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.on_said = [&] { talk.cancel("1"); };
  talk.call("1", "events");  // a notification and the answer, in one piece
  ASSERT_TRUE(talk.wait([&] { return !talk.said.empty(); }));
  talk.call("2", "echo");
  talk.answer("2");
  EXPECT_FALSE(talk.has_answer("1"));
  EXPECT_THAT(talk.lost, IsEmpty());
}

TEST(ModernHttp, a_notification_is_posted_and_a_response_is_not) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.backend->link().send(R"({"jsonrpc":"2.0","method":"notifications/other","params":{"a":1}})");
  talk.backend->link().send(R"({"jsonrpc":"2.0","id":"q","result":{}})");
  ASSERT_TRUE(talk.wait_journal(daemon, R"(notifications/other {"a":1})"));
  talk.call("1", "echo");
  talk.answer("1");
  EXPECT_THAT(daemon.journal(), ElementsAre(StartsWith("notifications/other"), StartsWith("echo")));
}

TEST(ModernHttp, a_subscription_delivers_what_it_asked_for_until_the_server_ends_it) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask(R"("bridge-1")", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})");
  ASSERT_TRUE(talk.wait([&] { return !talk.said.empty(); }));
  EXPECT_THAT(talk.said.front(), AllOf(HasSubstr("acknowledged"), HasSubstr("bridge-1")));
  for (const char* id : {"1", "2"}) {
    talk.call(id, "change");
    EXPECT_EQ(text_in(talk.answer(id)), "1");
  }
  ASSERT_TRUE(talk.wait([&] {
    return std::ranges::count_if(talk.said, [](const std::string& line) {
             return line.find("tools/list_changed") != std::string::npos;
           }) == 2;
  }));
  talk.call("3", "misbehave", R"({"how":"end listens"})");
  EXPECT_THAT(talk.answer(R"("bridge-1")"), HasSubstr(R"("resultType":"complete")"));
  EXPECT_THAT(talk.lost, IsEmpty());
}

TEST(ModernHttp, a_broken_subscription_is_reported_as_lost_and_can_be_reopened) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.ask("1", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})");
  ASSERT_TRUE(talk.wait([&] { return !talk.said.empty(); }));
  talk.call("2", "misbehave", R"({"how":"break listens"})");
  ASSERT_TRUE(talk.wait([&] { return !talk.lost.empty(); }));
  EXPECT_EQ(talk.lost.front().id, "1");
  EXPECT_TRUE(talk.lost.front().reached);
  talk.ask("3", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})");
  ASSERT_TRUE(talk.wait([&] {
    return std::ranges::count_if(talk.said, [](const std::string& line) {
             return line.find("acknowledged") != std::string::npos;
           }) == 2;
  }));
  talk.cancel("3");
  EXPECT_TRUE(talk.wait_journal(daemon, "closed listen"));
  EXPECT_FALSE(talk.ending);
}

TEST(ModernHttp, subscriptions_and_calls_do_not_use_up_each_others_connections) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  int next = 1;
  auto listen = [&] {
    talk.ask(std::to_string(next++), "subscriptions/listen", R"("notifications":{"toolsListChanged":true})");
  };
  auto times = [&](const std::string& line) { return std::ranges::count(daemon.journal(), line); };
  for (int i = 0; i < 8; ++i) listen();
  for (int i = 0; i < 128; ++i) talk.call(std::to_string(next++), "hold");
  ASSERT_TRUE(talk.wait([&] { return times("hold {}") == 128; })) << times("hold {}");
  listen();
  ASSERT_TRUE(talk.wait([&] { return times(R"(listen {"toolsListChanged":true})") == 9; }));
  talk.call(std::to_string(next), "echo");
  talk.cancel("20");
  EXPECT_THAT(talk.answer(std::to_string(next)), HasSubstr("result")) << "it waited for a connection";
}

TEST(ModernHttp, a_broken_stream_is_lost_and_not_resumed) {
  const Daemon daemon(modern);
  Talk talk(daemon);
  talk.call("1", "misbehave", R"({"how":"cut"})");
  ASSERT_TRUE(talk.wait([&] { return talk.lost.size() == 1; }));
  talk.call("2", "misbehave", R"({"how":"resume"})");  // its events have ids
  ASSERT_TRUE(talk.wait([&] { return talk.lost.size() == 2; }));
  talk.call("3", "misbehave", R"({"how":"resume","cleanly":true})");
  ASSERT_TRUE(talk.wait([&] { return talk.lost.size() == 3; }));
  for (const Talk::Lost& lost : talk.lost) EXPECT_TRUE(lost.reached);
  EXPECT_THAT(daemon.journal(), Not(Contains(StartsWith("GET"))));
  EXPECT_FALSE(talk.ending);
}

TEST(ModernHttp, when_a_daemon_dies_the_link_ends_and_knows_which_requests_arrived) {
  Daemon daemon(modern);
  Talk talk(daemon);
  Link& link = talk.backend->link();
  talk.call("1", "hold", R"({"stream":1})");
  const std::uint64_t held = link.position();
  EXPECT_FALSE(link.reached(held)) << "there is no connection yet";
  ASSERT_TRUE(talk.wait([&] { return !talk.said.empty(); }));
  EXPECT_TRUE(link.reached(held));
  talk.ask("2", "subscriptions/listen", R"("notifications":{})");
  ASSERT_TRUE(talk.wait_journal(daemon, "listen {}"));
  daemon.kill();
  ASSERT_TRUE(talk.wait([&] { return talk.ending.has_value(); }));
  EXPECT_TRUE(talk.ending->unreachable);
  talk.call("3", "echo");
  EXPECT_FALSE(link.reached(link.position()));
  EXPECT_TRUE(link.reached(held));
}

TEST(ModernHttp, a_redirected_request_keeps_its_headers) {
  const Daemon daemon({"--era", "modern", "--redirect", "/elsewhere"});
  Talk talk(daemon);
  talk.call("1", "echo", R"({"text":"there"})");
  EXPECT_EQ(text_in(talk.answer("1")), "there");
}

// An authorizer whose token is wrong for a while, and that has no other one then.
class Forgetful final : public Authorizer {
 public:
  const std::string& token() override { return now; }
  bool concerns(const Rejection& rejection) const override { return rejection.status == 401; }
  void rejected(const Rejection&, Then then) override { waiting.push_back(std::move(then)); }
  void accepted(const std::string&) override {}
  void refuse() { std::exchange(waiting, {}).front()(std::unexpected(Refusal{})); }

  std::string now = "right";
  std::vector<Then> waiting;
};

TEST(LegacyHttp, a_rejected_stream_is_reopened_once_the_daemon_accepts_a_call) {
  const Daemon daemon({"--header", "Authorization: Bearer right"});
  const auto authorizer = std::make_shared<Forgetful>();
  Talk talk(daemon.url(), Era::legacy, authorizer);
  Link& link = talk.backend->link();
  link.send(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
  EXPECT_THAT(talk.answer("1"), HasSubstr(R"("result")"));
  authorizer->now = "wrong";
  link.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  for (int refusals = 0; refusals < 2; ++refusals) {  // of the notification, and of the stream
    ASSERT_TRUE(talk.wait([&] { return !authorizer->waiting.empty(); }));
    authorizer->refuse();
  }
  EXPECT_THAT(daemon.journal(), Not(Contains(StartsWith("GET"))));
  authorizer->now = "right";
  link.send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  EXPECT_THAT(talk.answer("2"), HasSubstr(R"("result")"));
  EXPECT_TRUE(talk.wait([&] {
    return std::ranges::any_of(daemon.journal(),
                               [](const std::string& line) { return line.starts_with("GET"); });
  }));
}

}  // namespace
}  // namespace mcpivot
