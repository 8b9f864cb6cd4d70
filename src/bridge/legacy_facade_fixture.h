// A LegacyFacade under test, with the test playing the generation and the server.
//
// One thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bridge/legacy_facade.h"
#include "bridge/legacy_facade_ends.h"

namespace mcpivot {

inline constexpr std::string_view all_capabilities =
    R"({"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}})";
inline constexpr std::string_view stamp_of_all =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"})";

class LegacyFacadeTest : public testing::Test {
 protected:
  explicit LegacyFacadeTest(std::string_view hello = all_capabilities) : facade(ends, std::string(hello)) {}
  ~LegacyFacadeTest() override { EXPECT_TRUE(ends.readable); }

  // What the generation sends, with its edits: its own id in place of the client's.
  void client(std::string_view line) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line << ": " << message.error().reason;
    facade.from_client(*message, {});
  }
  void server(std::string_view line) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line << ": " << message.error().reason;
    facade.from_server(*message);
  }
  void answer(std::string_view id, std::string_view result) {
    server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result));
  }
  void client_answers(std::string_view id, std::string_view result) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result));
  }
  void client_refuses(std::string_view id, std::string_view words) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-1,"message":"{}"}}}})", id, words));
  }
  // Calls a tool under this id of the generation's.
  void call(int id = 7) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","id":{0},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{0}}}}}}})",
        id));
  }
  void cancel(int id = 7) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})", id));
  }
  // The server asks for this before it answers the request that it knows by this id.
  void require(std::string_view id, std::string_view requests, std::string_view state = R"("s")") {
    answer(id, fmt::format(R"({{"resultType":"input_required","inputRequests":{},"requestState":{}}})",
                           requests, state));
  }
  std::string down() { return ends.next_down(); }
  std::string up() { return ends.next_up(); }
  std::string error_words() { return string_value(at(up(), {"error", "message"})); }

  static constexpr std::string_view elicit = R"({"method":"elicitation/create","params":{"message":"m"}})";
  static constexpr std::string_view sample =
      R"({"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}})";
  static constexpr std::string_view roots = R"({"method":"roots/list"})";

  LegacyFacadeEnds ends;
  LegacyFacade facade;
};

}  // namespace mcpivot
