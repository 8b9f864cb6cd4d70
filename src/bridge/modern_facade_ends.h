// A modern facade between two ends that record what they are given, for tests: one line per message, with its
// edits applied. Anything that arrives there and isn't a message is a failure.
//
// One thread.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/modern_facade.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

using Lines = std::vector<std::string>;

class SetClock : public Clock {
 public:
  Time now() const override { return now_; }
  Date date() const override { return {}; }
  void pass(std::chrono::milliseconds time) { now_ += time; }

 private:
  Time now_{std::chrono::hours(1)};
};

class WrittenEnds : public Bridge::Ends {
 public:
  using Bridge::Ends::to_server;
  void to_server(const Message& message, std::span<const Edit> edits) override {
    down.push_back(checked(spliced(message.raw, edits)));
  }
  void to_server(std::string_view line) override { down.push_back(checked(std::string(line))); }
  void to_client(const Message& message, std::span<const Edit> edits) override {
    up.push_back(checked(spliced(message.raw, edits)));
    if (on_up) on_up(up.back());
  }
  void keep_log(std::string_view line) override { logs.emplace_back(line); }
  void wake_bridge(std::chrono::milliseconds) override {}
  std::string secret() override { return fmt::format("secret{}", ++secrets); }

  Lines up, down, logs;
  int secrets = 0;
  std::function<void(const std::string&)> on_up;  // the generation sends the next thing at once

 private:
  static std::string checked(std::string line) {
    EXPECT_TRUE(read_message(line)) << line;
    return line;
  }
};

// Capabilities of clients.
constexpr std::string_view everything =
    R"({"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}})";
// The answer of a server with every capability.
constexpr std::string_view able_server =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{}},"serverInfo":{"name":"s","version":"1"}})";

// The members of a modern request's _meta, and what may be added to them.
inline std::string modern_meta(std::string_view capabilities = everything, std::string_view more = "") {
  return fmt::format(
      R"({{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}{}}})",
      capabilities, more);
}
inline std::string modern_request(std::string_view id, std::string_view method, std::string_view params = "",
                                  const std::string& meta = modern_meta()) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"_meta":{}{}{}}}}})", id, method,
                     meta, params.empty() ? "" : ",", params);
}

class Stage {
 public:
  explicit Stage(std::string_view initialize_result = able_server)
      : facade(ends, clock, std::string(initialize_result)) {}

  void from_client(const std::string& line, std::uint64_t client = 1) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line;
    facade.from_client(*message, {}, client);
  }
  void from_server(const std::string& line) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line;
    facade.from_server(*message);
  }
  // What has arrived since the last call.
  Lines up() { return std::exchange(ends.up, {}); }
  Lines down() { return std::exchange(ends.down, {}); }

  // A call whose way to the server doesn't matter to the test.
  void call(int id, const std::string& meta = modern_meta(), std::uint64_t client = 1) {
    from_client(modern_request(std::to_string(id), "tools/call", R"("name":"t","arguments":{"a":1})", meta),
                client);
    ends.down.clear();
  }
  void ask(std::string_view id, std::string_view params = R"({"message":"Who?","requestedSchema":{}})") {
    from_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"elicitation/create","params":{}}})", id, params));
  }
  // The retry of call().
  void retry(int id, std::string_view state, std::string_view responses = "",
             const std::string& meta = modern_meta(), std::uint64_t client = 1) {
    from_client(
        modern_request(std::to_string(id), "tools/call",
                       fmt::format(R"("name":"t","arguments":{{"a":1}},"requestState":"{}"{}{})", state,
                                   responses.empty() ? "" : R"(,"inputResponses":)", responses),
                       meta),
        client);
  }

  SetClock clock;
  WrittenEnds ends;
  ModernFacade facade;
};

// A member of an answer's result or error, as JSON text.
inline std::string result_of(const std::string& line, std::string_view key) {
  const Message message = *read_message(line);
  return std::string(find_member(message.text(message.result), key));
}
inline std::string error_of(const std::string& line, std::string_view key) {
  const Message message = *read_message(line);
  return std::string(find_member(message.text(message.error), key));
}
inline std::string id_of(const std::string& line) {
  const Message message = *read_message(line);
  return std::string(message.text(message.id));
}

// A result of a server, and what becomes of it; and a response to a question.
inline const std::string done = R"({"content":[]})";
inline const std::string done_now = R"({"resultType":"complete","content":[]})";
constexpr std::string_view accepted = R"({"action":"accept","content":{"n":1}})";

inline std::string progress(std::string_view token, std::string_view value) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{},"progress":{}}}}})",
      token, value);
}
inline std::string meta_with_token(int token) {
  return modern_meta(everything, fmt::format(R"(,"progressToken":{})", token));
}
inline void expect_refused(Stage& stage, std::string_view id) {
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), id);
  EXPECT_EQ(error_of(up[0], "code"), "-32602");
  EXPECT_TRUE(stage.down().empty());
}

}  // namespace mcpivot
