#include "cli/login.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>

#include "base/duration_text.h"
#include "base/text.h"
#include "cli/say.h"
#include "config/config_file.h"
#include "config/credentials.h"
#include "proc/shared_descriptor.h"
#include "world/sign_ins.h"

namespace mcpivot {
namespace {

int complain(const std::string& words) {
  std::fprintf(stderr, "mcpivot: %s\n", words.c_str());
  return 1;
}

bool is_url(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

// The server that is meant; the error is a sentence.
std::expected<ServerConfig, std::string> find_server(const LoginCommand& command) {
  if (is_url(command.server)) {
    const auto url = parse_url(command.server);
    if (!url) return std::unexpected(url.error());
    ServerConfig server;
    server.name = url->authority();
    server.http.url = command.server;
    server.http.oauth = command.oauth;
    server.http.cacert = command.cacert;
    server.http.insecure = command.insecure;
    return server;
  }
  if (command.oauth != OauthConfig{})
    return std::unexpected(
        "options for the OAuth client need a URL; for a server in a config file, set them there, in "
        "\"oauth\"");
  if (!command.cacert.empty() || command.insecure)
    return std::unexpected(
        "--cacert and --insecure need a URL; for a server in a config file, set them there");
  const auto file = find_config(command.file);
  if (!file) return std::unexpected(file.error());
  const LoadedConfig loaded = load_config(*file);
  const auto& servers = loaded.gateway.servers;
  const auto found =
      std::ranges::find(servers, command.server, [](const ServerEntry& one) { return one.server.name; });
  if (found == servers.end())
    return std::unexpected(
        fmt::format("there is no server \"{}\" in {}; give another file with --config, or the "
                    "server's URL",
                    command.server, *file));
  if (!found->server.is_daemon())
    return std::unexpected(fmt::format(
        "\"{}\" is a program on this machine; only a server with a URL has a sign-in", command.server));
  return found->server;
}

std::expected<SignInRunner::Options, std::string> options_for(const LoginCommand& command) {
  const auto server = find_server(command);
  if (!server) return std::unexpected(server.error());
  const auto credentials = Credentials::from_headers(server->http.headers, own_variable);
  if (credentials && credentials->has("Authorization"))
    return std::unexpected(
        fmt::format("\"{}\" has a header Authorization in its configuration, which is used as it "
                    "is; remove that header to sign in instead",
                    server->name));
  auto options = sign_in_options(*server);
  if (!options)
    return std::unexpected(fmt::format("there is no folder to keep the sign-in of \"{}\" in", server->name));
  return std::move(*options);
}

// Reads what the user pastes, line by line, for as long as there is a terminal or a pipe.
class Pasted {
 public:
  Pasted(boost::asio::io_context& loop, SignInRunner& runner) : in_(loop), runner_(runner) {
    boost::system::error_code error;
    const int own = stdin_.duplicate();
    in_.assign(own, error);  // not of every kind: /dev/null can't be waited for
    if (!error)
      read();
    else if (own >= 0)
      ::close(own);
  }
  void close() {
    boost::system::error_code ignored;
    in_.close(ignored);
  }

 private:
  void read() {
    boost::asio::async_read_until(in_, boost::asio::dynamic_buffer(text_, 64 * 1024), '\n',
                                  [this](const boost::system::error_code& error, std::size_t size) {
                                    if (error) return;
                                    take(std::string(trimmed(std::string_view(text_).substr(0, size))));
                                    text_.erase(0, size);
                                    read();
                                  });
  }
  void take(const std::string& line) {
    if (line.empty()) return;
    const auto pasted = runner_.paste(line);
    if (pasted == SignInRunner::Pasted::taken) return;
    const std::string& end = runner_.pending().redirect_uri;
    if (pasted == SignInRunner::Pasted::stale)
      say("That address is of another sign-in: open the address above, and paste the one where it ends.");
    else if (end.empty())
      say("There is nothing to paste yet: wait for the address to open.");
    else
      say(fmt::format("That isn't the address that the browser was sent to: it begins with {}?", end));
    std::fflush(stdout);
  }

  SharedDescriptor stdin_{STDIN_FILENO};
  boost::asio::posix::stream_descriptor in_;
  SignInRunner& runner_;
  std::string text_;
};

void show(const PendingSignIn& pending) {
  say(fmt::format(
      "{}:\n\n  {}\n\n"
      "If the browser is on another machine, it ends at an address that begins with\n{} and can't be "
      "opened there. Paste that address here:",
      pending.in_browser ? "Sign in on the page that your browser shows. If it shows none, open this address"
                         : "Open this address in a browser and sign in",
      pending.url, pending.redirect_uri));
  std::fflush(stdout);
}

constexpr std::chrono::seconds longest_goodbye{2};
constexpr std::chrono::seconds for_tokens{5};
constexpr std::string_view ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr int most_redirects = 5;

// Sends a request without a token, and follows redirects within the server's origin, as the link does.
void ask(Fetcher& fetcher, const Url& url, int redirects, const Fetcher::Then& then) {
  fetcher.fetch({.url = url,
                 .method = "POST",
                 .accept = "application/json, text/event-stream",
                 .content_type = "application/json",
                 .body = std::string(ping),
                 .head_only = true},
                [&fetcher, url, redirects, then](const std::expected<FetchAnswer, std::string>& answer) {
                  if (answer && answer->status / 100 == 3 && redirects > 0)
                    if (const auto to = resolve_reference(url, answer->location); to && to->same_origin(url))
                      return ask(fetcher, *to, redirects - 1, then);
                  then(answer);
                });
}

// False: another mcpivot has had the turn for too long. One that has announced a page waits for its user, and
// notices when the record is changed.
bool wait_for_turn(SignInStore& store) {
  const auto until = std::chrono::steady_clock::now() + SignInStore::longest_silence;
  boost::asio::io_context loop(1);
  boost::asio::steady_timer timer(loop);
  while (store.take_turn() == LockFile::Taken::by_another && !store.shows_page()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    timer.expires_after(std::chrono::milliseconds(100));
    timer.wait();
  }
  return true;
}

}  // namespace

int login_command(const LoginCommand& command) {
  auto options = options_for(command);
  if (!options) return complain(options.error());
  ::signal(SIGPIPE, SIG_IGN);
  if (command.no_browser) options->open = nullptr;
  boost::asio::io_context loop(1);
  const std::string name = options->sign_in.name;
  const Url url = options->sign_in.server;
  Fetcher fetcher(loop, options->fetch);
  const auto runner = std::make_shared<SignInRunner>(loop, std::move(*options));
  Pasted pasted(loop, *runner);
  int exit_code = 1;
  bool interrupted = false;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  boost::asio::steady_timer too_late(loop);
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    interrupted = true;
    exit_code = 128 + signal;
    // An answer with new tokens that nobody reads would be a sign-in that is lost.
    if (!runner->is_settled()) complain("ending, when the authorization server has answered");
    too_late.expires_after(for_tokens);
    too_late.async_wait([&](const boost::system::error_code&) { loop.stop(); });
    runner->when_settled([&] { loop.stop(); });
  });
  const auto done = [&](const std::expected<void, Authorizer::Refusal>& outcome) {
    exit_code =
        outcome ? 0 : complain(fmt::format("signing in to \"{}\" failed: {}", name, outcome.error().words));
    if (outcome) say(fmt::format("{}: {}", name, record_line(runner->record())));
    // The browser still gets its last page, below.
    loop.stop();
  };
  // A request without a token: the server's answer says how to sign in.
  ask(fetcher, url, most_redirects, [&](const std::expected<FetchAnswer, std::string>& answer) {
    if (!answer) {
      complain(answer.error());
      return loop.stop();
    }
    runner->login(parse_challenge(answer->www_authenticate), answer->from, show, done);
  });
  loop.run();
  runner->close();
  fetcher.close();
  pasted.close();
  signals.cancel();
  if (!interrupted) {  // all that is left to do is the last page for the browser
    loop.restart();
    loop.run_for(longest_goodbye);
  }
  return exit_code;
}

int logout_command(const LoginCommand& command) {
  const auto options = options_for(command);
  if (!options) return complain(options.error());
  SignInStore store(options->sign_in.server, options->sign_in.client, options->folder);
  const SignInRecord before = store.read();
  // The registration goes as well: the authorization server may have forgotten it.
  if (before.signed_in() || !before.client.id.empty()) {
    if (!wait_for_turn(store))
      return complain(
          fmt::format("\"{}\" isn't signed out: another mcpivot has been signing in or refreshing the token "
                      "for {}; if it is stopped, continue or end it, then try again",
                      options->sign_in.name, duration_text(SignInStore::longest_silence)));
    SignInRecord record = store.read();
    record.tokens = {};
    record.asked = record.needed = {};
    record.client = {};
    record.trial = {};
    if (const auto written = store.write(record); !written) return complain(written.error());
    store.end_turn();
  }
  say(fmt::format(
      "{}: {}", options->sign_in.name,
      before.signed_in() ? "signed out; its tokens are no longer on this machine" : "signed out already"));
  return 0;
}

}  // namespace mcpivot
