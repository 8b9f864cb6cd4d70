// A legacy server presented as a modern one, between a generation and a server that send anything at any
// time. Everything that leaves it can be parsed, no modern request has a second or an unwanted answer,
// nothing of a round reaches the server, and in the end, once the server has answered everything and no
// client has returned for long enough, every request and every question has its answer.
#include <fmt/format.h>

#include <map>
#include <set>

#include "bridge/modern_facade.h"
#include "fuzz.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace {

using namespace mcpivot;
using fuzz::check;

constexpr int most_steps = 150;

constexpr const char* able_server =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{}},"serverInfo":{}})";
constexpr const char* methods[] = {
    "tools/call",           "prompts/get", "resources/read",  "tools/list",          "x/y",
    "subscriptions/listen", "ping",        "server/discover", "resources/subscribe", "resources/unsubscribe",
    "logging/setLevel",     "initialize"};
constexpr const char* questions[] = {"elicitation/create", "sampling/createMessage", "roots/list", "ping",
                                     "z"};
constexpr const char* question_params[] = {"{}", R"({"mode":"url","url":"u"})", "[1]"};
constexpr const char* capabilities[] = {R"({"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}})",
                                        R"({"elicitation":{}})", "{}", "null"};
constexpr const char* params[] = {
    R"(,"name":"t","arguments":{"a":1})", R"(,"uri":"f:/a")", "", R"(,"task":{},"name":"t")",
    R"(,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["f:/a"]})"};
constexpr const char* results[] = {"{}", R"({"resultType":"input_required","inputRequests":{}})",
                                   R"({"contents":[],"ttlMs":1})", "null", able_server};
constexpr const char* errors[] = {
    R"({"code":-32002,"message":""})",
    R"({"code":-32042,"message":""})",
    R"({"code":-32042,"message":"","data":{"elicitations":[{"url":"u"},{"mode":"url","url":"v"}]}})",
    R"({"code":1,"message":""})",
    "{}",
    "3"};
constexpr const char* responses[] = {R"({"action":"accept","content":{},"roots":[]})",
                                     R"({"action":"decline"})", R"({"error":{}})", "null"};
constexpr const char* news[] = {
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})",
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_META":{}}})",
    R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":[1]})",
    R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"f:/a/b","_meta":{}}})",
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}})",
    R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":7}})"};

class SetClock : public Clock {
 public:
  Time now() const override { return now_; }
  Date date() const override { return {}; }
  void pass(std::chrono::milliseconds time) { now_ += time; }

 private:
  Time now_{std::chrono::hours(1)};
};

class Play : public Bridge::Ends {
 public:
  explicit Play(FuzzedDataProvider& data)
      : data_(data), facade_(*this, clock_, data.ConsumeBool() ? able_server : "", std::chrono::minutes(1)) {}

  void run() {
    while (data_.remaining_bytes() > 0 && steps_ < most_steps) step();
    settle();
    clock_.pass(std::chrono::hours(1));
    facade_.expire();
    check(facade_.idle(), "what nobody comes back for is given up");
    settle();
    for (const auto& [id, request] : requests_)
      check(request.ended || request.listens, "every request has an answer");
    check(open_questions_.empty(), "every question has an answer");
  }

 private:
  struct Request {
    bool ended = false;
    bool listens = false;
  };

  void step() {
    ++steps_;
    switch (data_.ConsumeIntegralInRange(0, 11)) {
      case 0:
      case 1:
        return ask_modern();
      case 2:
        return ask_legacy();
      case 3:
        return retry();
      case 4:
        return answer();
      case 5:
      case 6:
        return question();
      case 7:
        return cancel();
      case 8:
        return lose();
      case 9:
        return notify();
      case 10:
        clock_.pass(std::chrono::seconds(data_.ConsumeIntegralInRange(0, 40)));
        return facade_.expire();
      default:
        return raw();
    }
  }

  template <std::size_t size>
  const char* one_of(const char* const (&texts)[size]) {
    return texts[data_.ConsumeIntegralInRange<std::size_t>(0, size - 1)];
  }
  // One of these, or an empty text.
  template <class Texts>
  std::string some(const Texts& texts) {
    if (texts.empty()) return {};
    return *std::next(texts.begin(), data_.ConsumeIntegralInRange<std::ptrdiff_t>(
                                         0, static_cast<std::ptrdiff_t>(texts.size()) - 1));
  }

  void ask_modern(const std::string& more = "") {
    const std::string method = one_of(methods);
    modern(fmt::format(
        R"({{"jsonrpc":"2.0","id":0,"method":"{}","params":{{{}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}{}{}}}{}}}}})",
        method, more, one_of(capabilities), data_.ConsumeBool() ? R"(,"progressToken":0)" : "",
        data_.ConsumeBool() ? R"(,"io.modelcontextprotocol/logLevel":"info")" : "", one_of(params)));
  }
  void ask_legacy() {
    modern(fmt::format(R"({{"jsonrpc":"2.0","id":0,"method":"{}","params":{{"a":0{}}}}})", one_of(methods),
                       one_of(params)));
  }
  void retry() {
    const std::string state = some(states_);
    const std::string key = some(keys_);
    if (state.empty() || data_.ConsumeBool())
      return ask_modern(
          fmt::format(R"("requestState":"{}","inputResponses":{{"{}":{}}},)", state, key, one_of(responses)));
    // The same request again, as a good client does it.
    const std::string& first = asked_with_.at(state);
    const Message message = *read_message(first);
    std::string line = first;
    std::string members = fmt::format(R"("requestState":"{}","inputResponses":{{)", state);
    std::set<std::string> wanted = keys_of_.at(state);
    for (const std::string& each : wanted)
      members += fmt::format(R"({}"{}":{})", members.ends_with('{') ? "" : ",", each, one_of(responses));
    modern(line.insert(message.params.begin + 1, members + "},"), first);
  }

  // Gives it an id, as the generation does. `first`: what it would be without a round.
  void modern(const std::string& line, const std::string& first = "") {
    const auto message = read_message(line);
    if (!message || message->kind != Kind::request) return;
    const std::int64_t id = ++last_id_;
    if (message->version) {
      requests_[id].listens = message->known == Method::listen;
      lines_[id] = first.empty() && !message->request_state ? line : first;
    }
    const IdText text(id);
    Edits edits;
    edits.replace(message->id, text.view()).replace(message->progress_token, text.view());
    facade_.from_client(*message, edits.list(), data_.ConsumeIntegralInRange(0, 7) == 0 ? 2 : 1);
  }

  void answer() {
    const std::string id =
        data_.ConsumeBool() ? some(server_open_) : std::to_string(data_.ConsumeIntegral<std::uint8_t>());
    if (id.empty()) return;
    answer(id, data_.ConsumeBool() ? fmt::format(R"("result":{})", one_of(results))
                                   : fmt::format(R"("error":{})", one_of(errors)));
  }
  void answer(const std::string& id, const std::string& body) {
    server_open_.erase(id);
    from_server(fmt::format(R"({{"jsonrpc":"2.0","id":{},{}}})", id, body));
  }
  void question() {
    const std::string id = fmt::format(R"("q{}")", ++last_question_);
    open_questions_.insert(id);
    from_server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, one_of(questions),
                            one_of(question_params)));
  }
  void cancel() {
    if (data_.ConsumeBool()) {
      const std::string id = some(open_questions_);
      if (id.empty()) return;
      open_questions_.erase(id);
      return from_server(cancellation(id, ""));
    }
    const std::int64_t id = data_.ConsumeIntegralInRange<std::int64_t>(1, last_id_ + 1);
    const std::string line = cancellation(std::to_string(id), "");
    if (requests_.contains(id)) requests_[id].ended = true;
    facade_.from_client(*read_message(line), {}, 1);
  }
  void lose() {
    const std::string id = some(server_open_);
    if (id.empty()) return;
    server_open_.erase(id);
    const std::string known = facade_.lost(id);
    if (known.empty()) return;
    const auto request = requests_.find(own_id(known));
    if (request == requests_.end()) return;
    // Others were told of the loss first, and this one may have been cancelled meanwhile.
    check(!answered_.contains(request->first), "what is lost had no answer");
    request->second.ended = true;
  }
  void notify() {
    if (data_.ConsumeBool()) return from_server(one_of(news));
    from_server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":1}}}})",
        data_.ConsumeIntegral<std::uint8_t>()));
  }
  // Anything that is a message.
  void raw() {
    const bool server = data_.ConsumeBool();
    const std::string line = data_.ConsumeRandomLengthString();
    const auto message = read_message(line);
    if (!message || line.find('q') != std::string::npos) return;
    if (!server && message->kind == Kind::request) return modern(line);
    if (server) return from_server(line);
    if (message->known != Method::cancelled) facade_.from_client(*message, {}, 1);
  }

  void from_server(const std::string& line) {
    if (const auto message = read_message(line)) facade_.from_server(*message);
  }
  // The server answers everything that it has been asked.
  void settle() {
    while (!server_open_.empty()) {
      const std::string id = *server_open_.begin();
      answer(id,
             fmt::format(R"("result":{})", id.find("initialize") != std::string::npos ? able_server : "{}"));
    }
  }

  void to_server(const Message& message, std::span<const Edit> edits) override {
    sent_down(spliced(message.raw, edits));
  }
  void to_server(std::string_view line) override { sent_down(std::string(line)); }
  void sent_down(const std::string& line) {
    const auto message = read_message(line);
    check(message.has_value(), "what the server gets can be read");
    const std::string id(message->text(message->id));
    if (message->kind == Kind::request) {
      check(!message->version || !message->request_state, "no requestState reaches the server");
      server_open_.insert(id);
    } else if (message->known == Method::cancelled) {
      server_open_.erase(std::string(message->text(message->request_id)));
    } else if (message->is_answer() && id.starts_with(R"("q)")) {
      check(open_questions_.erase(id) == 1, "a question has one answer");
    }
  }
  void to_client(const Message& said, std::span<const Edit> edits) override {
    const std::string line = spliced(said.raw, edits);
    const auto message = read_message(line);
    check(message.has_value(), "what the client gets can be read");
    if (message->kind == Kind::request) open_questions_.erase(std::string(message->text(message->id)));
    if (!message->is_answer()) return;
    const std::int64_t id = own_id(message->text(message->id));
    const auto request = requests_.find(id);
    if (request == requests_.end()) return;
    check(!request->second.ended, "a request has one answer");
    request->second.ended = true;
    answered_.insert(id);
    const std::string_view result = message->text(message->result);
    if (message->kind == Kind::result)
      check(!find_member(result, "resultType").empty(), "a modern result says what it is");
    const std::string state = string_value(find_member(result, "requestState"));
    if (!state.empty() && !lines_[id].empty()) {
      states_.insert(state);
      asked_with_[state] = lines_[id];
      keys_of_[state] = keys_in(find_member(result, "inputRequests"));
      keys_.insert(keys_of_[state].begin(), keys_of_[state].end());
    }
    // It may ask the next thing immediately.
    if (depth_ < 2 && data_.remaining_bytes() > 0 && data_.ConsumeIntegralInRange(0, 9) == 0) {
      ++depth_;
      step();
      --depth_;
    }
  }
  void keep_log(std::string_view line) override {
    check(line.find('\n') == std::string_view::npos, "a log message is one line");
  }
  void wake_bridge(std::chrono::milliseconds) override {}
  std::string secret() override { return fmt::format("s{}", ++secrets_); }

  static std::set<std::string> keys_in(std::string_view object) {
    std::set<std::string> keys;
    JsonCursor cursor(object);
    cursor.object([&](const JsonCursor::Key& key) {
      keys.emplace(key.text);
      return cursor.value();
    });
    return keys;
  }

  FuzzedDataProvider& data_;
  SetClock clock_;
  int steps_ = 0;
  int depth_ = 0;
  int secrets_ = 0;
  int last_question_ = 0;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, Request> requests_;  // the modern ones
  std::set<std::int64_t> answered_;
  std::map<std::int64_t, std::string> lines_;
  std::set<std::string> server_open_, open_questions_, states_, keys_;
  std::map<std::string, std::string> asked_with_;
  std::map<std::string, std::set<std::string>> keys_of_;
  ModernFacade facade_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider provider(data, size);
  Play(provider).run();
  return 0;
}
