// The runner with its own files, and a server on this machine that is also its own authorization server.
#include "oauth/sign_in_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <optional>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using boost::asio::ip::tcp;
using testing::HasSubstr;
using testing::Not;

// Answers each request as the test says, and closes the connection.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& path)>;
  explicit Server(boost::asio::io_context& loop)
      : acceptor_(loop, {boost::asio::ip::address_v4::loopback(), 0}) {
    accept();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }
  Answer answer;

 private:
  struct Visit {
    explicit Visit(tcp::socket socket) : peer(std::move(socket)) {}
    tcp::socket peer;
    std::string text;
  };
  void accept() {
    acceptor_.async_accept([this](const auto& error, tcp::socket peer) {
      if (error) return;
      auto visit = std::make_shared<Visit>(std::move(peer));
      boost::asio::async_read_until(visit->peer, boost::asio::dynamic_buffer(visit->text), "\r\n\r\n",
                                    [this, visit](const auto& failed, std::size_t) {
                                      if (!failed) tell(visit);
                                    });
      accept();
    });
  }
  void tell(const std::shared_ptr<Visit>& visit) {
    const auto from = visit->text.find(' ') + 1;
    const std::string body = answer(visit->text.substr(from, visit->text.find(' ', from) - from));
    visit->text = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    boost::asio::async_write(visit->peer, boost::asio::buffer(visit->text), [visit](auto&&...) {});
  }

  tcp::acceptor acceptor_;
};

class Running : public testing::Test {
 protected:
  Running()
      : url_(*parse_url(server_.url() + "/mcp")),
        folder_path_(folder_.path()),
        other_(url_, {}, folder_path_) {}
  ~Running() override {
    if (runner_) runner_->close();
  }

  void start(std::chrono::milliseconds for_turn = SignInStore::longest_silence,
             std::chrono::milliseconds patience = std::chrono::seconds(20)) {
    runner_ = std::make_shared<SignInRunner>(
        loop_, SignInRunner::Options{
                   .sign_in = {.name = "app", .server = url_, .client = {}},
                   .fetch = {.patience = patience, .variable = [](const char*) { return nullptr; }},
                   .folder = folder_path_,
                   .login = "mcpivot login app",
                   .open = nullptr,
                   .for_turn = for_turn});
  }
  void reject(const std::string& token = {}) {
    runner_->rejected(
        {.status = 401, .challenge = "Bearer", .token = token, .address = AddressKind::loopback},
        [this](const auto& outcome) { told_ = outcome ? "" : outcome.error().words; });
  }
  template <class Condition>
  void until(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end)
      loop_.run_one_for(std::chrono::milliseconds(100));
    ASSERT_TRUE(condition());
  }
  void until_told() {
    until([this] { return told_.has_value(); });
  }
  std::string issuer_document() const {
    const std::string at = server_.url();
    return R"({"issuer":")" + at + R"(","authorization_endpoint":")" + at + R"(/a","token_endpoint":")" + at +
           R"(/t","registration_endpoint":")" + at + R"(/r","code_challenge_methods_supported":["S256"]})";
  }
  SignInRecord expired() const {
    return {.server = url_.text(),
            .resource = url_.text(),
            .issuer = *parse_issuer_metadata(issuer_document(), server_.url()),
            .client = {.id = "c1", .redirect_uri = "http://127.0.0.1:1/callback"},
            .tokens = {.access = "t1", .refresh = "r1", .expires = 1}};
  }

  host::TemporaryDirectory folder_;
  boost::asio::io_context loop_;
  Server server_{loop_};
  Url url_;
  std::string folder_path_;
  SignInStore other_;  // of another process
  std::shared_ptr<SignInRunner> runner_;
  std::optional<std::string> told_;
};

TEST_F(Running, waiting_for_a_silent_processs_turn_times_out) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  start(std::chrono::milliseconds(50));
  reject();
  std::optional<std::string> login;
  runner_->login({}, AddressKind::loopback, nullptr,
                 [&](const auto& outcome) { login = outcome ? "" : outcome.error().words; });
  until_told();
  EXPECT_THAT(*told_, HasSubstr("another mcpivot has been signing in or refreshing the token for 50 ms"));
  ASSERT_TRUE(login.has_value());
  EXPECT_THAT(*login, HasSubstr("continue or end it"));
}

TEST_F(Running, a_page_of_a_process_that_no_longer_waits_for_it_is_not_shown_any_more) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  other_.announce({.url = "https://i.example/a", .redirect_uri = "http://127.0.0.1:1/", .in_browser = true});
  start();
  reject();
  until([this] { return !runner_->address().empty(); });
  other_.announce({});
  until([this] { return runner_->address().empty(); });
}

TEST_F(Running, a_login_learns_that_the_process_that_shows_the_page_is_stopped) {
  tcp::acceptor silent(loop_, {boost::asio::ip::address_v4::loopback(), 0});
  const std::string end = "http://127.0.0.1:" + std::to_string(silent.local_endpoint().port()) + "/callback";
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  other_.announce({.url = "https://i.example/a", .redirect_uri = end, .in_browser = false});
  start(SignInStore::longest_silence, std::chrono::milliseconds(50));
  std::optional<std::string> login;
  runner_->login({}, AddressKind::loopback, nullptr,
                 [&](const auto& outcome) { login = outcome ? "" : outcome.error().words; });
  until([this] { return !runner_->pending().url.empty(); });
  EXPECT_EQ(runner_->paste(end + "?code=a&state=b"), SignInRunner::Pasted::taken);
  until([&] { return login.has_value(); });
  EXPECT_THAT(*login, HasSubstr("the mcpivot that asked for this sign-in doesn't answer"));
  EXPECT_THAT(*login, HasSubstr("continue or end it"));
  EXPECT_THAT(*login, Not(HasSubstr("code=a")));
}

TEST_F(Running, signing_out_during_a_refresh_stays_in_effect) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(other_.write(expired()).has_value());
  other_.end_turn();
  server_.answer = [&](const std::string& path) -> std::string {
    EXPECT_EQ(path, "/t");
    SignInRecord record = expired();
    record.tokens = {};
    EXPECT_TRUE(other_.write(record).has_value());
    return R"({"access_token":"t2","token_type":"Bearer","refresh_token":"r2"})";
  };
  start();
  reject("t1");
  until_told();
  EXPECT_THAT(*told_, HasSubstr("you signed out meanwhile"));
  EXPECT_FALSE(other_.read().signed_in());
  EXPECT_EQ(runner_->token(), "");
}

TEST_F(Running, a_configuration_that_changes_during_a_refresh_costs_no_token) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(other_.write(expired()).has_value());
  other_.end_turn();
  start();
  bool settled = false;
  server_.answer = [&](const std::string&) -> std::string {
    runner_->replace();
    runner_->when_settled([&] { settled = true; });
    EXPECT_FALSE(runner_->is_settled());
    EXPECT_EQ(other_.take_turn(), LockFile::Taken::by_another);
    return R"({"access_token":"t2","token_type":"Bearer","refresh_token":"r2"})";
  };
  reject("t1");
  until([&] { return settled; });
  ASSERT_TRUE(told_.has_value());
  EXPECT_THAT(*told_, HasSubstr("its configuration changed"));
  EXPECT_EQ(other_.read().tokens.refresh, "r2");
  EXPECT_EQ(other_.take_turn(), LockFile::Taken::yes);
}

TEST_F(Running, tokens_that_could_not_be_written_are_still_used) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(other_.write(expired()).has_value());
  other_.end_turn();
  start();
  server_.answer = [](const std::string&) -> std::string {
    return R"({"access_token":"t2","token_type":"Bearer","refresh_token":"r2","expires_in":0,"scope":")" +
           std::string(300'000, 'x') + "\"}";  // the file would be too large
  };
  reject("t1");
  until_told();
  EXPECT_EQ(runner_->token(), "t2");
  EXPECT_EQ(other_.read().tokens.access, "t1");
  server_.answer = [](const std::string& path) -> std::string {
    EXPECT_EQ(path, "/t");
    return R"({"access_token":"t3","token_type":"Bearer","refresh_token":"r3"})";
  };
  told_.reset();
  reject("t2");
  until_told();
  EXPECT_EQ(runner_->token(), "t3");
  EXPECT_EQ(other_.read().tokens.refresh, "r3");
}

TEST_F(Running, a_waiting_process_uses_the_token_that_the_other_one_refreshed) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  SignInRecord record = expired();
  ASSERT_TRUE(other_.write(record).has_value());
  other_.announce({.url = "https://i.example/a", .redirect_uri = "http://127.0.0.1:1/", .in_browser = true});
  start();
  reject("t1");
  record.tokens.access = "t2";
  ASSERT_TRUE(other_.write(record).has_value());
  until_told();
  EXPECT_EQ(*told_, "");
  EXPECT_EQ(runner_->token(), "t2");
  EXPECT_EQ(runner_->describe().find("waiting for you"), std::string::npos);
  EXPECT_TRUE(other_.has_turn());
}

TEST_F(Running, other_processes_learn_that_the_server_took_a_fresh_token) {
  SignInRecord record = expired();
  record.trial.of = TokenTrial::Of::users_token;
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  ASSERT_TRUE(other_.write(record).has_value());
  start();
  runner_->accepted("t1");
  EXPECT_TRUE(other_.read().trial.runs()) << "only the one that has the turn writes";
  other_.end_turn();
  start();
  runner_->accepted("t0");
  EXPECT_TRUE(other_.read().trial.runs());
  runner_->accepted("t1");
  EXPECT_FALSE(other_.read().trial.runs());
  EXPECT_EQ(other_.read().tokens.refresh, "r1");
  EXPECT_EQ(other_.take_turn(), LockFile::Taken::yes);
}

TEST_F(Running, callers_waiting_for_a_sign_in_learn_that_its_configuration_changed) {
  ASSERT_EQ(other_.take_turn(), LockFile::Taken::yes);
  other_.announce({.url = "https://i.example/a", .redirect_uri = "http://127.0.0.1:1/", .in_browser = true});
  start();
  std::optional<std::string> over;
  runner_->on_over([&](const std::string& trouble) { over = trouble; });
  reject();
  runner_->replace();
  until_told();
  EXPECT_THAT(*told_, HasSubstr("its configuration changed"));
  ASSERT_TRUE(over.has_value());
  EXPECT_THAT(*over, HasSubstr("call again"));
}

TEST_F(Running, a_pasted_url_of_another_sign_in_is_recognized) {
  server_.answer = [&](const std::string& path) -> std::string {
    if (path == "/r") return R"({"client_id":"c1"})";
    if (path == "/t") return R"({"access_token":"t2","token_type":"Bearer"})";
    return path.find("protected-resource") == std::string::npos
               ? issuer_document()
               : R"({"authorization_servers":[")" + server_.url() + "\"]}";
  };
  start();
  EXPECT_EQ(runner_->paste("http://127.0.0.1/"), SignInRunner::Pasted::elsewhere);
  reject();
  until([&] { return !runner_->pending().url.empty(); });
  const std::string redirect = runner_->pending().redirect_uri;
  EXPECT_EQ(runner_->paste("http://127.0.0.1/"), SignInRunner::Pasted::elsewhere);
  EXPECT_EQ(runner_->paste(redirect + "?code=a&state=b"), SignInRunner::Pasted::stale);
  const std::string page = runner_->pending().url;
  const auto state = only_field(parse_form(std::string_view(page).substr(page.find('?') + 1)), "state");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(runner_->paste(redirect + "?code=a&state=" + *state), SignInRunner::Pasted::taken);
  until([&] { return !runner_->token().empty(); });
  EXPECT_EQ(runner_->token(), "t2");
}

}  // namespace
}  // namespace mcpivot
