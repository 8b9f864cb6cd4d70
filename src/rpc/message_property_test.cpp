// For generated messages, however they are spelled: what read_message() finds is what a full parser finds,
// and a spliced message differs from the original only in the spliced value. The reference parser is
// Boost.JSON; for whether a text is JSON at all, simdjson.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <boost/json.hpp>
#include <regex>

#include "rpc/edit.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

// A JSON text of any value, with white space and escapes wherever JSON allows them.
rc::Gen<std::string> space() {
  return rc::gen::weightedElement<std::string>({{8, ""}, {1, " "}, {1, "\t "}, {1, "\r"}});
}

rc::Gen<std::string> string_text() {
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{6, rc::gen::element<std::string>("a", "id", "tools/call", "progressToken", "x y", "é", "漢字", "😀",
                                         "/")},
       {1, rc::gen::element<std::string>("\\\"", "\\\\", "\\/", "\\n", "\\u0069", "\\u00e9",
                                         "\\ud83d\\ude00")}});
  return rc::gen::map(rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(piece)),
                      [](const auto& pieces) {
                        std::string text = "\"";
                        for (const auto& part : pieces) text += part;
                        return text + "\"";
                      });
}

rc::Gen<std::string> scalar_text() {
  return rc::gen::oneOf(string_text(),
                        rc::gen::element<std::string>("true", "false", "null", "0", "-1", "1.50", "2e3",
                                                      "-0.0E-2", "9007199254740993"));
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::vector<std::string> shuffled(std::vector<std::string> parts) {
  for (std::size_t i = parts.size(); i > 1; --i)
    std::swap(parts[i - 1], parts[*rc::gen::inRange<std::size_t>(0, i)]);
  return parts;
}

rc::Gen<std::string> value_text(int depth) {
  if (depth == 0) return scalar_text();
  const auto element = rc::gen::map(
      rc::gen::tuple(space(), value_text(depth - 1), space()),
      [](const auto& parts) { return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts); });
  const auto member = rc::gen::map(rc::gen::tuple(string_text(), space(), element), [](const auto& parts) {
    return std::get<0>(parts) + std::get<1>(parts) + ":" + std::get<2>(parts);
  });
  auto few = [](const auto& item) {
    return rc::gen::resize(3, rc::gen::container<std::vector<std::string>>(item));
  };
  return rc::gen::oneOf(scalar_text(),
                        rc::gen::map(few(element), [](const auto& parts) { return "[" + join(parts) + "]"; }),
                        rc::gen::map(few(member), [](const auto& parts) { return "{" + join(parts) + "}"; }));
}

rc::Gen<std::string> id_text() {
  return rc::gen::oneOf(string_text(), rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                                                    [](auto n) { return std::to_string(n); }));
}

// A message with its members in any order; ids, tokens and names may be there or not.
rc::Gen<std::string> message_text() {
  return rc::gen::exec([] {
    auto maybe = [] { return *rc::gen::arbitrary<bool>(); };
    auto member = [](const std::string& key, const std::string& value) {
      return *space() + "\"" + key + "\"" + *space() + ":" + *space() + value + *space();
    };
    std::vector<std::string> meta{member("other", *value_text(1))};
    if (maybe()) meta.push_back(member("progressToken", *id_text()));
    std::vector<std::string> params{member("arguments", *value_text(2))};
    if (maybe()) params.push_back(member("_meta", "{" + join(shuffled(meta)) + "}"));
    if (maybe()) params.push_back(member("name", *string_text()));
    if (maybe()) params.push_back(member("uri", *string_text()));
    if (maybe()) params.push_back(member("requestId", *id_text()));
    std::vector<std::string> top{member("jsonrpc", "\"2.0\""), member("extra", *value_text(2)),
                                 member("id", *id_text())};
    if (maybe()) {
      top.push_back(member("method", *string_text()));
      if (maybe()) top.push_back(member("params", "{" + join(shuffled(params)) + "}"));
    } else {
      top.push_back(member(maybe() ? "result" : "error", *value_text(3)));
    }
    return "{" + join(shuffled(top)) + "}";
  });
}

// What a full parser finds at this path, or null.
const json::value* at(const json::value& root, std::initializer_list<std::string_view> path) {
  const json::value* value = &root;
  for (const auto key : path) {
    if (!value->is_object()) return nullptr;
    value = value->as_object().if_contains(json::string_view(key.data(), key.size()));
    if (value == nullptr) return nullptr;
  }
  return value;
}

void agree(const Message& message, Span found, const json::value* expected) {
  RC_ASSERT(static_cast<bool>(found) == (expected != nullptr));
  if (expected != nullptr) RC_ASSERT(json::parse(std::string(message.text(found))) == *expected);
}

RC_GTEST_PROP(MessageProperty, finds_what_a_full_parser_finds, ()) {
  const std::string line = *message_text();
  const json::value parsed = json::parse(line);
  const auto message = read_message(line);
  RC_ASSERT(message.has_value());
  agree(*message, message->id, at(parsed, {"id"}));
  agree(*message, message->method, at(parsed, {"method"}));
  agree(*message, message->params, at(parsed, {"params"}));
  agree(*message, message->result, at(parsed, {"result"}));
  agree(*message, message->error, at(parsed, {"error"}));
  agree(*message, message->name, at(parsed, {"params", "name"}));
  agree(*message, message->uri, at(parsed, {"params", "uri"}));
  agree(*message, message->request_id, at(parsed, {"params", "requestId"}));
  agree(*message, message->progress_token, at(parsed, {"params", "_meta", "progressToken"}));
}

RC_GTEST_PROP(MessageProperty, splicing_an_id_changes_only_the_id, ()) {
  const std::string line = *message_text();
  const std::string id = *id_text();
  const auto message = read_message(line);
  RC_ASSERT(message.has_value());
  const std::string changed =
      spliced(line, Edits().replace(message->progress_token, id).replace(message->id, id).list());
  json::value expected = json::parse(line);
  expected.as_object()["id"] = json::parse(id);
  if (message->progress_token) expected.at("params").at("_meta").at("progressToken") = json::parse(id);
  RC_ASSERT(json::parse(changed) == expected);
  const auto again = read_message(changed);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->text(again->id) == id);
  // With the old values put back, the bytes are the same.
  const std::string back =
      spliced(changed, Edits()
                           .replace(again->progress_token, message->text(message->progress_token))
                           .replace(again->id, message->text(message->id))
                           .list());
  RC_ASSERT(back == line);
}

// Any text, valid or not: we accept as JSON what simdjson accepts.
RC_GTEST_PROP(MessageProperty, accepts_the_same_json_as_simdjson, ()) {
  std::string text = *value_text(3);
  const auto damage = *rc::gen::inRange(0, 4);
  if (damage > 0 && !text.empty()) {
    const auto where = *rc::gen::inRange<std::size_t>(0, text.size());
    const char byte = *rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', 'u', '0', '-', '.', 'e', ' ',
                                        '\x01', '\x80');
    if (damage == 1) text[where] = byte;
    if (damage == 2) text.insert(where, 1, byte);
    if (damage == 3) text.erase(where, 1);
  }
  if (text.find("\\ud83d") != std::string::npos || text.find("\\ude00") != std::string::npos)
    return;  // half a surrogate pair: simdjson refuses it, JSON does not
  if (std::regex_search(text, std::regex("[0-9]e[0-9]{3}")))
    return;  // 9e07199254740993 is larger than any double: simdjson refuses it, JSON does not
  if (text.find_first_not_of(" \t\r") == std::string::npos) return;
  simdjson::dom::parser parser;
  const bool expected = parser.parse(text).error() == simdjson::SUCCESS;
  JsonCursor cursor(text);
  const bool read = cursor.value() && cursor.end() && simdjson::validate_utf8(text);
  RC_ASSERT(read == expected);
}

}  // namespace
}  // namespace mcpivot
