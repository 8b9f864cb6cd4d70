// Fifty clients of both eras work through `mcpivot serve` at once, while their servers are killed and
// replaced, and mcpivot itself is killed and restarted. Is everybody answered, does every session continue,
// and does no client ever see another's data? Everything a client sends contains its canary, and everything
// it receives is searched for the canaries of others.
//
// Each client is a thread with its own session; the main thread breaks things.
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "serves.h"

namespace {

using namespace harness;
namespace json = boost::json;
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Options {
  std::uint64_t seed = std::random_device()();
  long seconds = 60;
  int clients = 50;
};

constexpr const char* usage =
    "usage: crowd [--seconds N] [--clients N] [--seed S]\n\n"
    "Clients of both protocol eras work through `mcpivot serve` over HTTP, while servers are killed, stopped "
    "and\n"
    "replaced, the configuration and the tokens are rewritten, connections break, and mcpivot itself is "
    "killed\n"
    "and started again. Exit code 1: a promise was broken.\n";

const std::vector<std::string> servers = {"own", "fresh", "common", "round"};

const std::vector<std::string> clients_own = {"own", "fresh"};

// The failures, and how often each thing worked.
class Book {
 public:
  void wrong(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (wrongs_.size() < 1'000) wrongs_.push_back(what.substr(0, 1'500));
  }
  void count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
  }
  const std::vector<std::string>& wrongs() const { return wrongs_; }
  const std::map<std::string, long>& counts() const { return counts_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> wrongs_;
  std::map<std::string, long> counts_;
};

// When mcpivot is running: what fails while it isn't, or did so in the meantime, doesn't count.
class Uptime {
 public:
  void down() { ++downs_; }
  void up() { ++ups_; }
  int epoch() const { return downs_ + ups_; }
  bool is_up() const { return downs_ == ups_; }

 private:
  std::atomic<int> downs_ = 0;
  std::atomic<int> ups_ = 0;
};

class Guest {
 public:
  Guest(const Serve& serve, Book& book, const Uptime& uptime, int number, std::uint64_t seed)
      : serve_(serve),
        book_(book),
        uptime_(uptime),
        number_(number),
        era_(number % 2 == 0 ? Era::legacy : Era::modern),
        chance_(seed + static_cast<std::uint64_t>(number)),
        client_(serve, era_, bearer(token_of(number))) {}

  static std::string token_of(int number) { return "token-of-client-" + std::to_string(1'000'000 + number); }

  void work(const std::atomic<bool>& over) {
    while (!over) attempt("work", [&] { one_thing(); });
  }
  // Every server answers it again, in the session that it has.
  void finish() {
    for (const std::string& server : servers) {
      const auto until = steady_clock::now() + seconds(30);
      bool good = false;
      while (!good && steady_clock::now() < until) attempt("finish", [&] { good = echo(server); });
      if (!good) book_.wrong(name() + ": " + server + " does not answer at the end: " + last_failure_);
    }
  }

 private:
  std::string name() const {
    return "client " + std::to_string(number_) + (era_ == Era::legacy ? " (legacy)" : " (modern)");
  }
  std::string canary() const { return "canary-" + std::to_string(number_) + "-"; }
  unsigned draw(unsigned below) { return static_cast<unsigned>(chance_() % below); }

  // Every exception must come from an mcpivot that was down at that time.
  template <class Do>
  void attempt(const char* what, Do&& thing) {
    const int epoch = uptime_.epoch();
    const bool up = uptime_.is_up();
    try {
      thing();
    } catch (const std::exception& error) {
      const bool excused = !up || uptime_.epoch() != epoch;
      book_.count(excused ? "broken off because mcpivot was away" : "BROKEN OFF");
      if (!excused) book_.wrong(name() + ", " + what + ": " + error.what());
      if (!uptime_.is_up()) std::this_thread::sleep_for(milliseconds(10));
    }
    judge_heard();
  }

  // Nothing that any other client sent.
  void judge_heard() {
    std::string& heard = client_.heard;
    for (std::size_t at = heard.find("canary-"); at != std::string::npos; at = heard.find("canary-", at + 1))
      if (!heard.substr(at).starts_with(canary()))
        book_.wrong(name() + " hears of another: " + heard.substr(at < 300 ? 0 : at - 300, 600));
    heard.clear();
    client_.told.clear();
  }

  void come() {
    if (era_ == Era::modern || !client_.session.empty()) return;
    client_.initialize(number_ % 4 == 0 ? "2025-11-25" : "2025-06-18");
    book_.count("sessions begun");
  }

  // The answer, after answering everything the server asks on the way. Nothing: a 503, to be retried later.
  std::optional<json::object> call(const std::string& tool, const json::object& arguments) {
    come();
    json::object params = {
        {"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", canary() + "token"}}}};
    for (int round = 0; round < 4; ++round) {
      Connection connection = client_.send("tools/call", params);
      const auto answer = answer_on(connection);
      if (!answer) return std::nullopt;
      const json::value* result = answer->if_contains("result");
      if (result == nullptr || !result->as_object().contains("inputRequests")) return answer;
      json::object responses;
      for (const auto& [key, question] : result->at("inputRequests").as_object())
        responses[key] = response_to(question.as_object());
      params["inputResponses"] = responses;
      if (const json::value* state = result->as_object().if_contains("requestState"))
        params["requestState"] = *state;
    }
    return std::nullopt;
  }

  json::value response_to(const json::object& question) const {
    if (question.at("method") == "roots/list") return {{"roots", json::array()}};
    return {{"action", "accept"}, {"content", {{"text", canary()}}}};
  }

  std::optional<json::object> answer_on(Connection& connection) {
    struct Kept {  // whatever happens
      WebClient& client;
      Connection& connection;
      ~Kept() { client.heard += connection.heard(); }
    };
    const Kept kept{client_, connection};
    const Deadline deadline = in(seconds(30));
    const Reply head = connection.read_head(deadline);
    if (head.status == 503) {
      book_.count("503");
      std::this_thread::sleep_for(milliseconds(20));  // as Retry-After wants it, if less
      return std::nullopt;
    }
    if (head.is_stream()) {
      while (auto message = connection.read_message(deadline)) {
        if (!message->contains("method")) return *message;
        if (message->contains("id")) {
          const Reply taken = client_.answer(*message, response_to(*message));
          // The server that asked may be gone, but the session isn't.
          if (taken.status != 202) book_.wrong(name() + ": an answer gets " + std::to_string(taken.status));
        }
      }
      throw std::runtime_error("the stream ended without an answer: " + connection.heard());
    }
    const std::string length = head.header("Content-Length");
    while (connection.heard().size() < head.head.size() + std::stoul(length)) connection.wait(deadline);
    const std::string body = connection.heard().substr(head.head.size());
    if (head.status == 404 && era_ == Era::legacy)
      book_.wrong(name() + ": a session that is good gets 404: " + body);
    return json::parse(body).as_object();
  }

  // Failures say what happened, and to what.
  void judge(const std::string& what, const json::object& answer) {
    const std::string text = json::serialize(answer);
    const bool failed = answer.contains("error") || text.contains(R"("isError":true)");
    book_.count(what + (failed ? ", failed with a reason" : ", good"));
    if (!failed) return;
    last_failure_ = text;
    if (std::ranges::none_of(std::array{"mcpivot", "nknown tool", "several clients share this server"},
                             [&](const char* reason) { return text.contains(reason); }))
      book_.wrong(name() + ", " + what + " fails without a reason: " + text);
  }

  bool echo(const std::string& server) {
    const std::string text = canary() + std::to_string(++said_);
    const auto answer = call(server + "__echo", {{"text", text}});
    if (!answer) return false;
    judge("echo", *answer);
    if (answer->contains("error") || json::serialize(*answer).find(R"("isError":true)") != std::string::npos)
      return false;
    if (own_text(*answer).find(text) == std::string::npos)
      book_.wrong(name() + " said " + text + " and got " + json::serialize(*answer));
    return true;
  }

  void tool(const std::string& what, const std::string& tool, const json::object& arguments) {
    if (const auto answer = call(tool, arguments)) judge(what, *answer);
  }

  void one_thing() {
    come();
    const std::string& server = servers[draw(static_cast<unsigned>(servers.size()))];
    const bool alone = server == "own" || server == "fresh";
    const bool asks_in_rounds = server == "fresh" || server == "round";
    switch (draw(20)) {
      case 0:
        return tool("stderr", server + "__stderr", {{"text", canary() + "stderr"}});
      case 1:
        return tool("log", server + "__log", {{"level", "error"}, {"text", canary() + "log"}});
      case 2:
        return tool("notify", server + "__notify",
                    {{"method", "notifications/custom"}, {"params", {{"text", canary() + "custom"}}}});
      case 3:
        return tool("progress", server + "__sleep", {{"ms", draw(400)}, {"steps", 4}});
      case 4:
        if (!alone && draw(4) != 0) return;
        return tool("crash", server + "__crash", {{"stderr", canary() + "last words"}});
      case 5:
        return tool("big", server + "__big", {{"bytes", 1'000 + draw(500'000)}});
      case 6:
      case 7:
        if (asks_in_rounds) return tool("rounds", server + "__require", one_round());
        return tool("ask", server + "__ask",
                    {{"method", "elicitation/create"}, {"params", {{"message", canary() + "question"}}}});
      case 8:
        return tool("status", "pivot_status", {});
      case 9:
        return tool("search", "pivot_search", {{"query", "echo a text"}});
      case 10:
        return list();
      case 11:
        return listen();
      case 12:
        return leave_a_call(server);
      case 13:
        if (draw(6) != 0) return;
        return start_over();
      default:
        echo(server);
    }
  }

  json::object one_round() const {
    return json::parse(
               R"({"rounds":[{"inputRequests":{"q":{"method":"elicitation/create","params":{"message":")" +
               canary() +
               R"(question","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s"}]})")
        .as_object();
  }

  void list() {
    Connection connection = client_.send("tools/list");
    if (const auto answer = answer_on(connection)) judge("list", *answer);
  }

  // The session's own stream, for a while.
  void listen() {
    if (era_ == Era::modern) return;
    come();
    Connection hears = client_.listen();
    echo("own");
    try {
      hears.read_message(in(milliseconds(50)));
    } catch (const std::exception&) {  // there may be nothing to hear
    }
    client_.heard += hears.heard();
    book_.count("listened");
  }

  // The connection breaks; a legacy call continues, a modern one is cancelled.
  void leave_a_call(const std::string& server) {
    come();
    Connection call = client_.send_call(server + "__sleep", {{"ms", 300}});
    if (draw(2) == 0) call.close();
    book_.count("calls left");
  }

  void start_over() {
    if (era_ == Era::modern || client_.session.empty()) return;
    struct Forgotten {  // even if the answer is lost: it may have been ended
      WebClient& client;
      ~Forgotten() { client.session.clear(); }
    } const forgotten{client_};
    const Reply ended = client_.end();
    if (ended.status != 204) book_.wrong(name() + ": DELETE gets " + std::to_string(ended.status));
    if (ended.status == 204 && client_.notify("notifications/initialized").status != 404)
      book_.wrong(name() + ": a session that was ended goes on");
    book_.count("sessions ended");
  }

  const Serve& serve_;
  Book& book_;
  const Uptime& uptime_;
  const int number_;
  const Era era_;
  std::mt19937_64 chance_;
  WebClient client_;
  long said_ = 0;
  std::string last_failure_;
};

class Site {
 public:
  Site(const Options& options, Book& book)
      : options_(options), book_(book), chance_(options.seed), port_(free_port()) {
    for (const std::string& server : servers) fs::copy_file(fake_server_binary(), program(server));
    write_config(0);
    write_tokens(0);
    serve_.emplace(Strings{"--config", folder_.path() / "mcpivot.json", "--token-file",
                           folder_.path() / "tokens", "--session-idle", "5s", "--drain", "2s"},
                   Strings{}, Strings{"127.0.0.1:" + std::to_string(port_)});
  }

  void run() {
    std::vector<std::unique_ptr<Guest>> guests;
    for (int i = 0; i < options_.clients; ++i)
      guests.push_back(std::make_unique<Guest>(*serve_, book_, uptime_, i, options_.seed));
    std::atomic<bool> over = false;
    const auto in_threads = [&](auto what) {
      std::vector<std::jthread> threads;
      for (const auto& guest : guests) threads.emplace_back([&guest, what] { what(*guest); });
      return threads;
    };
    {
      const auto threads = in_threads([&](Guest& guest) { guest.work(over); });
      struct End {  // even if something is thrown: the threads are waited for
        std::atomic<bool>& over;
        ~End() { over = true; }
      } const end_of_work{over};
      const auto until = steady_clock::now() + seconds(options_.seconds);
      while (steady_clock::now() < until) {
        wait(milliseconds(150 + chance_() % 300));
        strike();
      }
      go_on();
    }
    {
      const auto threads = in_threads([](Guest& guest) { guest.finish(); });
      wait(milliseconds(100));
    }
    guests.clear();
    end();
  }

 private:
  fs::path program(const std::string& server) const { return folder_.path() / ("program-" + server); }

  void write_config(unsigned edition) const {
    json::object entries;
    for (const std::string& server : servers) {
      json::array arguments;
      if (server == "fresh" || server == "round") arguments = {"--era", "modern"};
      entries[server] = {{"command", program(server).string()},
                         {"args", arguments},
                         {"active", true},
                         {"sharing", server == "common" || server == "round" ? "shared" : "per-client"},
                         {"timeouts", {{"start", "5s"}, {"call", "5s"}, {"queue", "10s"}, {"drain", "1s"}}},
                         {"env", {{"EDITION", server == "own" ? edition : 0}}}};
    }
    private_file(folder_.path() / "mcpivot.json", json::serialize(json::object{{"mcpServers", entries}}));
  }
  void write_tokens(unsigned edition) const {
    std::string lines = "nobody token-of-nobody-" + std::to_string(1'000'000 + edition) + "\n";
    for (int i = 0; i < options_.clients; ++i)
      lines += "client" + std::to_string(i) + " " + Guest::token_of(i) + "\n";
    private_file(folder_.path() / "tokens", lines);
  }

  // Reads what mcpivot prints in the meantime.
  void wait(milliseconds time) { serve_->child().wait_stderr("what it never prints", in(time)); }

  std::vector<pid_t> processes(const std::vector<std::string>& of = servers) {
    std::vector<pid_t> found;
    for (const pid_t pid : descendants_of(serve_->child().pid()))
      for (const std::string& server : of)
        if (runs_program(pid, program(server))) found.push_back(pid);
    return found;
  }

  void signal_one(int number) {
    const auto all = processes();
    if (all.empty()) return;
    const pid_t pid = all[chance_() % all.size()];
    ::kill(pid, number);
    if (number == SIGSTOP) stopped_.push_back(pid);
  }
  void go_on() {
    for (const pid_t pid : std::exchange(stopped_, {})) ::kill(pid, SIGCONT);
  }

  void restart(int number) {
    uptime_.down();
    serve_->child().signal(number);
    if (!serve_->child().wait_exit(in(seconds(20)))) book_.wrong("mcpivot does not end");
    serve_->start();
    uptime_.up();
  }

  void strike() {
    go_on();
    const auto fault = [&](const char* what) { book_.count(std::string("fault: ") + what); };
    switch (chance_() % 12) {
      case 0:
      case 1:
        fault("kill -9 of a server");
        return signal_one(SIGKILL);
      case 2:
        fault("SIGSEGV of a server");
        return signal_one(SIGSEGV);
      case 3:
        fault("SIGSTOP of a server");
        return signal_one(SIGSTOP);
      case 4:
      case 5: {
        fault("a program replaced");
        const std::string& server = servers[chance_() % servers.size()];
        const fs::path fresh = program(server).native() + ".new";
        fs::copy_file(fake_server_binary(), fresh);
        return fs::rename(fresh, program(server));
      }
      case 6:
        fault("SIGHUP");
        return serve_->child().signal(SIGHUP);
      case 7:
        fault("the configuration changed");
        return write_config(++edition_);
      case 8:
        fault("the tokens changed");
        return write_tokens(++edition_);
      case 9:
        fault("half a request");
        return Connection(serve_->address()).send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le");
      case 10:
        fault("kill -9 of mcpivot");
        return restart(SIGKILL);
      default:
        fault("SIGTERM of mcpivot");
        return restart(SIGTERM);
    }
  }

  // All clients have left, and nothing of theirs remains.
  void end() {
    const bool none_left = wait_until(
        [&] {
          wait(milliseconds(50));
          return processes(clients_own).empty();
        },
        in(seconds(30)));
    if (!none_left)
      book_.wrong(std::to_string(processes(clients_own).size()) +
                  " servers of clients that are gone still run");
    const std::size_t open = open_fds(serve_->child().pid());
    if (open > 60) book_.wrong(std::to_string(open) + " descriptors are open, though nobody is there");
    const auto last = processes();
    serve_->child().signal(SIGTERM);
    const auto status = serve_->child().wait_exit(in(seconds(20)));
    if (!status || *status != 0)
      book_.wrong("SIGTERM ends mcpivot with status " + (status ? std::to_string(*status) : "none"));
    if (!wait_gone(last)) book_.wrong("mcpivot has ended, and a server goes on");
  }

  const Options& options_;
  Book& book_;
  std::mt19937_64 chance_;
  TemporaryDirectory folder_;
  int port_;
  Uptime uptime_;
  std::optional<Serve> serve_;
  std::vector<pid_t> stopped_;
  unsigned edition_ = 0;
};

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& name = arguments[i];
    if (name == "--help" || name == "-h") {
      std::cout << usage;
      std::exit(0);
    }
    if (i + 1 == arguments.size()) throw std::runtime_error("no option " + name + ", or it has no value");
    const std::string& value = arguments[i + 1];
    if (name == "--seconds") {
      options.seconds = std::stol(value);
    } else if (name == "--clients") {
      options.clients = std::stoi(value);
    } else if (name == "--seed") {
      options.seed = std::stoull(value);
    } else {
      throw std::runtime_error("no option " + name);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = read_options({argv + 1, argv + argc});
    std::cout << "crowd: seed " << options.seed << ", " << options.clients << " clients, " << options.seconds
              << " s" << std::endl;
    Book book;
    Site(options, book).run();
    for (const auto& [what, times] : book.counts()) std::cout << "  " << what << ": " << times << "\n";
    std::size_t shown = 0;
    for (const std::string& wrong : book.wrongs())
      if (++shown <= 10) std::cout << "BROKEN  " << wrong << "\n";
    if (shown > 10) std::cout << "… and " << shown - 10 << " more\n";
    std::cout << (book.wrongs().empty() ? "no promise was broken\n" : "");
    return book.wrongs().empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "crowd: " << error.what() << "\n";
    return 2;
  }
}
