// A legacy client and a modern server that send anything, with the bridge between them: what is sent either
// way can be parsed, a request is answered at most once, and once both sides answer what they are asked,
// everything is answered.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bridge/legacy_facade.h"
#include "fuzz.h"
#include "mcp/era.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace {

using namespace mcpivot;
using fuzz::check;

constexpr std::string_view methods[] = {"tools/call",
                                        "prompts/get",
                                        "resources/read",
                                        "tools/list",
                                        "initialize",
                                        "ping",
                                        "logging/setLevel",
                                        "resources/subscribe",
                                        "resources/unsubscribe",
                                        "x",
                                        "completion/complete",
                                        "prompts/list"};
constexpr std::string_view params[] = {
    R"({"name":"t","uri":"a","level":"info"})",
    R"({"name":"t","uri":"b","_meta":{"progressToken":1},"level":"x"})",
    R"({"capabilities":{"roots":{},"sampling":{},"elicitation":{"url":{},"form":{}}},"protocolVersion":"2025-06-18"})",
    R"({"uri":"a","_META":1,"inputResponses":{},"RequestState":2,"task":{}})",
    R"({"_meta":{"io.modelcontextprotocol/logLevel":1,"a":2,"IO.modelcontextprotocol/clientInfo":3}})",
    R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"uri":"a"})",
    "{}",
    "[]"};
constexpr std::string_view results[] = {
    R"({"resultType":"complete","content":[],"structuredContent":1})",
    R"({"resultType":"input_required","requestState":"s"})",
    R"({"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"roots/list"}}})",
    R"({"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}},"b":{"method":"sampling/createMessage","params":{}}}})",
    R"({"resultType":"input_required","inputRequests":{}})",
    R"({"resultType":"input_required"})",
    R"({"resultType":"task"})",
    R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true}}})",
    R"({"tools":[{"outputSchema":{"type":"array"},"name":"a"},{"name":"b","outputSchema":1}]})",
    "1"};

bool is_json(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.value() && cursor.end();
}

class Play final : public Bridge::Ends {
 public:
  Play(const std::uint8_t* data, std::size_t size)
      : bytes_(data, size), facade_(*this, bytes_.ConsumeBool() ? std::string(params[2]) : std::string()) {}

  void run() {
    while (bytes_.remaining_bytes() > 0) step();
    // Now both sides do what they should.
    for (int rounds = 0; !(at_server_.empty() && listens_.empty() && at_client_.empty()); ++rounds) {
      check(rounds < 10'000, "it comes to an end");
      if (!listens_.empty()) {
        acknowledge(*listens_.begin(), R"({"resourceSubscriptions":["a","b"]})");
      } else if (!at_client_.empty()) {
        client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", *at_client_.begin()));
      } else {
        server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", *at_server_.begin()));
      }
    }
    check(open_.empty(), "every request is answered");
  }

 private:
  void to_server(const Message& message, std::span<const Edit> edits) override {
    sent(spliced(message.raw, edits));
  }
  void to_server(std::string_view line) override { sent(std::string(line)); }
  void keep_log(std::string_view) override {}
  void wake_bridge(std::chrono::milliseconds) override {}
  std::string secret() override { return "secret"; }

  // For looking at a finding: MCPIVOT_TRACE=1.
  static void trace(const char* way, std::string_view line) {
    static const bool wanted = std::getenv("MCPIVOT_TRACE") != nullptr;
    if (wanted) fmt::print(stderr, "{} {}\n", way, line);
  }

  void sent(const std::string& line) {
    trace("  ->", line);
    const auto message = read_message(line);
    check(message.has_value(), "what goes to the server can be read");
    const std::string id(message->text(message->id));
    if (message->kind == Kind::request) {
      const std::string_view meta = message->text(message->meta);
      check(!find_member(meta, meta_key::version).empty(), "a request says which version it is of");
      check(at_server_.insert(id).second && !listens_.contains(id), "and has an id of its own");
      if (message->known == Method::listen) {
        at_server_.erase(id);
        listens_.insert(id);
      }
    } else if (message->known == Method::cancelled) {
      const std::string gone(message->text(message->request_id));
      at_server_.erase(gone);
      listens_.erase(gone);
    }
  }

  void to_client(const Message& raw, std::span<const Edit> edits) override {
    const std::string line = spliced(raw.raw, edits);
    trace("<-", line);
    const auto message = read_message(line);
    check(message.has_value(), "what goes to the client can be read");
    const std::string id(message->text(message->id));
    if (message->kind == Kind::request) {
      check(id.starts_with("\"ask-"), "only the facade asks");
      check(at_client_.insert(id).second, "and nothing twice");
    } else if (message->known == Method::cancelled) {
      check(at_client_.erase(std::string(message->text(message->request_id))) == 1,
            "only open questions are cancelled");
    } else if (message->is_answer()) {
      const bool open = open_.erase(own_id(id)) == 1;
      check(open || line == said_, "a request is answered once, and by nobody else when it is not open");
    }
  }

  void client(const std::string& line) {
    const auto message = read_message(line);
    if (!message) return;
    trace("client:", line);
    if (message->kind == Kind::request) open_.insert(own_id(message->text(message->id)));
    if (message->is_answer()) at_client_.erase(std::string(message->text(message->id)));
    said_.clear();
    facade_.from_client(*message, {});
  }
  void server(const std::string& line) {
    const auto message = read_message(line);
    if (!message) return;
    trace("server:", line);
    if (message->is_answer()) {
      at_server_.erase(std::string(message->text(message->id)));
      listens_.erase(std::string(message->text(message->id)));
    }
    if (message->known == Method::cancelled) listens_.erase(std::string(message->text(message->request_id)));
    said_ = line;
    facade_.from_server(*message);
  }
  void acknowledge(std::string id, std::string_view filter) {
    listens_.erase(id);
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"{}":{}}},"notifications":{}}}}})",
        meta_key::subscription, id, filter));
  }

  // One of these, or what the input says.
  template <std::size_t size>
  std::string pick(const std::string_view (&from)[size]) {
    const auto index = bytes_.ConsumeIntegralInRange<std::size_t>(0, size);
    if (index < size) return std::string(from[index]);
    std::string text = bytes_.ConsumeRandomLengthString(200);
    return is_json(text) ? text : "{}";
  }
  std::string one_of(const std::set<std::string>& ids) {
    if (ids.empty()) return R"("none")";
    return *std::next(ids.begin(), bytes_.ConsumeIntegralInRange<std::ptrdiff_t>(0, std::ssize(ids) - 1));
  }
  std::string some_id() {
    switch (bytes_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return one_of(at_server_);
      case 1:
        return one_of(listens_);
      case 2:
        return one_of(at_client_);
      default:
        return std::string(IdText(bytes_.ConsumeIntegralInRange<std::int64_t>(1, last_ + 1)).view());
    }
  }

  void step() {
    switch (bytes_.ConsumeIntegralInRange(0, 13)) {
      case 0:
      case 1:
      case 2: {
        const auto method = methods[bytes_.ConsumeIntegralInRange<std::size_t>(0, std::size(methods) - 1)];
        const std::string text = bytes_.ConsumeBool() ? pick(params) : std::string();
        return client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}"{}{}}})", ++last_, method,
                                  text.empty() ? "" : R"(,"params":)", text));
      }
      case 3:
      case 4:
        return server(
            fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", one_of(at_server_), pick(results)));
      case 5:
        return server(fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"m","data":{{"uri":"a"}}}}}})",
            some_id(), bytes_.ConsumeBool() ? -32602 : -32601));
      case 6:
        return client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", some_id(), pick(results)));
      case 7:
        return client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":"m"}}}})",
                                  one_of(at_client_)));
      case 8: {
        const std::int64_t id = bytes_.ConsumeIntegralInRange<std::int64_t>(1, last_ + 1);
        open_.erase(id);
        return client(fmt::format(
            R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})", id));
      }
      case 9:
        return acknowledge(some_id(), bytes_.ConsumeBool() ? R"({"toolsListChanged":true})"
                                                           : R"({"resourceSubscriptions":["a"]})");
      case 10: {
        const std::string id = some_id();
        at_server_.erase(id);
        listens_.erase(id);
        const std::string known = facade_.lost(id);
        check(known.empty() || own_id(known) != 0, "what is lost is one of the generation's");
        if (!known.empty()) open_.erase(own_id(known));
        return;
      }
      case 11:
        return server(fmt::format(
            R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{},"total":1e2}}}})",
            some_id(), bytes_.ConsumeFloatingPoint<float>()));
      case 12:
        facade_.expire();
        return client(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
      default:
        // Anything at all.
        if (bytes_.ConsumeBool()) return server(bytes_.ConsumeRandomLengthString(300));
        return server(fmt::format(
            R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"a","_meta":{{"a":1,"{}":{}}}}}}})",
            meta_key::subscription, some_id()));
    }
  }

  FuzzedDataProvider bytes_;
  LegacyFacade facade_;
  std::int64_t last_ = 0;            // id of a request
  std::set<std::int64_t> open_;      // requests of the client
  std::set<std::string> at_server_;  // what the server was asked, but for
  std::set<std::string> listens_;    // listens that aren't acknowledged
  std::set<std::string> at_client_;  // questions
  std::string said_;                 // what the server sent last
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Play(data, size).run();
  return 0;
}
