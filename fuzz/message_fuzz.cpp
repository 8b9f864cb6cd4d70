// Reading a message, compared with Boost.JSON: what is read is what a full parser finds, what is rejected has
// a reason, and an edit changes what it should and nothing else.
#include <simdjson.h>

#include <algorithm>
#include <boost/json.hpp>

#include "fuzz.h"
#include "mcp/catalog.h"
#include "mcp/initialize.h"
#include "mcp/notice.h"
#include "rpc/answers.h"
#include "rpc/edit.h"
#include "rpc/json_cursor.h"
#include "rpc/json_string.h"
#include "rpc/message.h"
#include "rpc/request_table.h"

namespace {

using namespace mcpivot;
using fuzz::check;
namespace json = boost::json;

// Not good: it isn't valid JSON. Unsure: a number is too large for a double, which is still valid JSON.
struct Parsed {
  bool good = false;
  bool unsure = false;
  json::value value;
};
Parsed parse(std::string_view text) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = JsonCursor::max_depth;
  Parsed parsed;
  parsed.value = json::parse(text, error, {}, options);
  // To Boost, 0e999 is not a number, and so is not like itself.
  parsed.unsure = error == json::error::exponent_overflow || parsed.value != parsed.value;
  parsed.good = !error && !parsed.unsure;
  return parsed;
}

const json::value* at(const json::value& root, std::initializer_list<std::string_view> path) {
  const json::value* value = &root;
  for (const auto key : path) {
    if (!value->is_object()) return nullptr;
    value = value->as_object().if_contains(key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

bool is_id(const json::value& value) {
  return value.is_string() || value.is_number();
}

void agrees(const Message& message, Span found, const json::value* expected, const char* promise) {
  check(static_cast<bool>(found) == (expected != nullptr), promise);
  if (expected != nullptr) check(parse(message.text(found)).value == *expected, promise);
}

void check_members(const Message& message, const json::value& value) {
  agrees(message, message.id, at(value, {"id"}), "the id is the one that a full parser finds");
  agrees(message, message.method, at(value, {"method"}), "so is the method");
  agrees(message, message.params, at(value, {"params"}), "so are the params");
  agrees(message, message.result, at(value, {"result"}), "so is the result");
  agrees(message, message.error, at(value, {"error"}), "so is the error");
  if (message.is_answer()) return;
  agrees(message, message.name, at(value, {"params", "name"}), "so is params.name");
  agrees(message, message.uri, at(value, {"params", "uri"}), "so is params.uri");
  const auto* request_id = at(value, {"params", "requestId"});
  agrees(message, message.request_id, request_id != nullptr && is_id(*request_id) ? request_id : nullptr,
         "so is params.requestId");
  const auto* token = message.known == Method::progress ? at(value, {"params", "progressToken"})
                                                        : at(value, {"params", "_meta", "progressToken"});
  agrees(message, message.progress_token, token != nullptr && is_id(*token) ? token : nullptr,
         "so is the progress token");
  check(message.task == (at(value, {"params", "task"}) != nullptr), "so is params.task");
}

void check_splice(const Message& message, json::value expected) {
  if (!message.id) return;
  const std::string changed =
      spliced(message.raw, Edits().replace(message.progress_token, "77").replace(message.id, "\"x\"").list());
  expected.as_object()["id"] = "x";
  if (message.progress_token) {
    auto& params = expected.as_object()["params"].as_object();
    (message.known == Method::progress ? params : params["_meta"].as_object())["progressToken"] = 77;
  }
  check(parse(changed).value == expected, "a splice changes id and token alone");
  const auto again = read_message(changed);
  check(again.has_value(), "a spliced message is a message");
  const auto back = spliced(changed, Edits()
                                         .replace(again->progress_token, message.text(message.progress_token))
                                         .replace(again->id, message.text(message.id))
                                         .list());
  fuzz::check_same(back, message.raw, "the old values put back give the same bytes");
}

void check_notice(const Message& message, json::value expected) {
  if (!message.is_answer()) return;
  const NoticeInAnswer notice(message, "N\n\"1\"", R"({"outputSchema":{}})");
  Edits edits;
  notice.add_to(edits);
  const std::string changed = spliced(message.raw, edits.list());
  const Parsed parsed = parse(changed);
  check(parsed.good, "an answer with a notice is JSON");
  check(read_message(changed).has_value(), "and a message");
  if (edits.list().empty()) return;
  if (message.kind == Kind::error) {
    auto& words = expected.as_object()["error"].as_object()["message"];
    words = "N\n\"1\"\n\n" + std::string(words.as_string());
  } else {
    auto& result = expected.as_object()["result"].as_object();
    auto& content = result["content"].as_array();
    content.insert(content.begin(), json::object{{"type", "text"}, {"text", "N\n\"1\""}});
    json::value* structured = result.if_contains("structuredContent");
    // One that says so itself keeps its own word: the last one of the same name counts.
    if (structured != nullptr && structured->is_object() && !structured->as_object().contains("_mcpivot"))
      structured->as_object()["_mcpivot"] = "N\n\"1\"";
  }
  check(parsed.value == expected, "and the notice is all that was added");
}

// Whether an object has a duplicate key, in any spelling: then parsers differ in what they see.
bool has_twins(const json::value& value, std::string_view text) {
  if (text.starts_with('[')) {
    JsonCursor cursor(text);
    bool twins = false;
    std::size_t index = 0;
    cursor.array([&] {
      Span where;
      if (!cursor.value(where)) return false;
      twins = twins || has_twins(value.as_array().at(index++), where.of(text));
      return true;
    });
    return twins;
  }
  if (!text.starts_with('{')) return false;
  JsonCursor cursor(text);
  std::size_t count = 0;
  bool twins = false;
  std::vector<std::pair<std::string, Span>> members;
  cursor.object([&](const JsonCursor::Key& key) {
    Span where;
    ++count;
    if (!cursor.value(where)) return false;
    members.emplace_back(unescape(key.text), where);
    return true;
  });
  if (count != value.as_object().size()) return true;
  for (const auto& [key, where] : members)
    twins = twins || has_twins(value.as_object().at(key), where.of(text));
  return twins;
}

void check_result(const Message& message, const json::value& value) {
  if (message.kind != Kind::result || !value.at("result").is_object()) return;
  const std::string_view result = message.text(message.result);
  const std::string widened = widened_initialize_result(result);
  const Parsed parsed = parse(widened);
  check(parsed.good, "a widened handshake is JSON");
  check(parsed.value.at("capabilities").at("tools").at("listChanged").as_bool(), "and is wider");
  const std::string_view whole = message.raw.substr(message.raw.find('{'));
  if (!has_twins(value, whole)) check(!has_twins(parsed.value, widened), "and has each key once");
  Catalog catalog;
  for (const ListKind kind : all_lists) {
    catalog.add_page(kind, result);
    for (const Item& item : catalog.list(kind)) {
      check(parse(item.json).good, "an item of a catalog is JSON");
      is_safe_to_repeat(item);
    }
  }
}

void check_batch(std::string_view text, const Parsed& parsed) {
  const auto batch = read_batch(text);
  if (!batch) return;
  if (!parsed.good) return;
  check(batch->size() == parsed.value.as_array().size(), "all of it is found");
  for (std::size_t i = 0; i < batch->size(); ++i)
    check(parse((*batch)[i]).value == parsed.value.as_array()[i], "in order");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Parsed parsed = parse(text);
  const bool utf8 = simdjson::validate_utf8(text.data(), text.size());
  JsonCursor cursor(text);
  const bool valid = cursor.value() && cursor.end();
  // Boost rejects halves of surrogate pairs, JSON does not.
  const bool comparable = !parsed.unsure && text.find("\\u") == std::string_view::npos;
  if (comparable) check((valid && utf8) == parsed.good, "JSON is what a full parser takes for JSON");

  const auto message = read_message(text);
  if (message) {
    check(valid && utf8, "a message is JSON");
    if (parsed.good) {
      check_members(*message, parsed.value);
      check_splice(*message, parsed.value);
      if (!has_twins(parsed.value, text.substr(text.find('{')))) check_notice(*message, parsed.value);
      check_result(*message, parsed.value);
    }
  } else {
    check(!message.error().reason.empty(), "a refusal has a reason");
    check(message.error().code != Refusal::not_json || !valid || !utf8,
          "what is JSON is not refused as none");
    const std::string& id = message.error().id;
    if (!id.empty() && id.find("\\u") == std::string::npos) {  // as above
      const Parsed answer = parse(error_answer(id, -1, message.error().reason));
      check(answer.good || answer.unsure, "its answer is JSON");
    }
  }
  if (is_batch(text)) check_batch(text, parsed);

  // The two ways to find the end of a string agree.
  const std::string opened = R"({"text":")" + std::string(text);
  const char* start = opened.data() + (opened.size() - text.size());
  const StringScan fast = scan_string(opened.data(), start, opened.data() + opened.size());
  const StringScan plain = scan_string_plainly(start, opened.data() + opened.size());
  check(fast.at == plain.at && (fast.error == nullptr) == (plain.error == nullptr), "both scans agree");
  if (fast.error == nullptr) check(fast.escaped == plain.escaped && fast.utf8 == plain.utf8, "in all");

  if (utf8) {
    const Parsed quoted = parse(quote(text));
    check(quoted.good && quoted.value.as_string() == text, "what is quoted reads as it was");
  }
  if (valid && utf8 && text.starts_with('"')) {
    const std::string value = string_value(text.substr(0, text.find_last_of('"') + 1));
    check(simdjson::validate_utf8(value.data(), value.size()), "what a string stands for is UTF-8");
  }
  own_id(text);
  return 0;
}
