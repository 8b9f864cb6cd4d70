#include "journal/kept_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "config/jsonc.h"
#include "config/nearest.h"
#include "mcp/answer_diff.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using Kind = JsoncValue::Kind;
using Result = std::expected<void, KeptCallsError>;

// A value that fits is written on one line.
constexpr std::size_t widest_line = 100;
constexpr int version = 1;
constexpr std::size_t deepest = 200;  // of what was recorded
constexpr std::size_t around = 5;     // { calls [ { asked [ {

// --- writing -----------------------------------------------------------------------------------------------

void write(const json::value& value, std::size_t indent, std::size_t before, std::string& out);

// `before`: how many characters are on the line already.
template <class Each>
void write_all(char open, char close, std::size_t indent, std::string& out, Each&& each) {
  out += open;
  bool first = true;
  each([&](auto&& one) {
    out += fmt::format("{}\n{:{}}", first ? "" : ",", "", indent + 2);
    first = false;
    one();
  });
  out += fmt::format("\n{:{}}{}", "", indent, close);
}

std::string on_one_line(const json::value& value) {
  if (const json::array* const items = value.if_array()) {
    std::string out;
    for (const json::value& item : *items)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", on_one_line(item));
    return "[" + out + "]";
  }
  if (const json::object* const members = value.if_object()) {
    std::string out;
    for (const auto& [key, inside] : *members)
      out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", quote(key), on_one_line(inside));
    return out.empty() ? "{}" : "{ " + out + " }";
  }
  return canonical_json(json::serialize(value));
}

void write(const json::value& value, std::size_t indent, std::size_t before, std::string& out) {
  const std::string line = on_one_line(value);
  const json::object* const members = value.if_object();
  const json::array* const items = value.if_array();
  const bool empty = members != nullptr ? members->empty() : items == nullptr || items->empty();
  if (empty || before + line.size() <= widest_line) {
    out += line;
  } else if (members != nullptr) {
    write_all('{', '}', indent, out, [&](auto&& one) {
      for (const auto& [key, inside] : *members)
        one([&] {
          const std::string name = quote(key) + ": ";
          out += name;
          write(inside, indent + 2, indent + 2 + name.size(), out);
        });
    });
  } else {
    write_all('[', ']', indent, out, [&](auto&& one) {
      for (const json::value& inside : *items) one([&] { write(inside, indent + 2, indent + 2, out); });
    });
  }
}

// Nothing, if it is too deep.
std::optional<json::value> read(std::string_view text) {
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  return error ? std::nullopt : std::optional(std::move(value));
}

// What is only compared has sorted members. What a server gets keeps their order: its answer may repeat it.
json::value sorted(std::string_view text) {
  return read(canonical_json(text)).value_or(json::value(text));
}
json::value as_sent(std::string_view text) {
  return read(text).value_or(json::value(text));
}

json::object object_of(const RecordedCall& call) {
  json::object object;
  if (!call.server.empty()) object["server"] = call.server;
  object["tool"] = call.tool;
  if (!call.arguments.empty()) object["arguments"] = as_sent(call.arguments);
  if (!call.asked.empty()) {
    json::array questions;
    for (const Asked& asked : call.asked) {
      json::object question{{"method", asked.method}};
      if (!asked.params.empty()) question["params"] = sorted(asked.params);
      if (!asked.answer.empty()) question[asked.is_error ? "error" : "result"] = as_sent(asked.answer);
      questions.push_back(std::move(question));
    }
    object["asked"] = std::move(questions);
  }
  if (call.is_redacted) object["redacted"] = true;
  object[call.is_error ? "error" : "result"] = sorted(call.answer);
  return object;
}

// --- reading -----------------------------------------------------------------------------------------------

std::string json_of(const JsoncValue& value) {
  switch (value.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return value.boolean ? "true" : "false";
    case Kind::number:
      return value.text;
    case Kind::string:
      return quote(value.text);
    case Kind::array: {
      std::string out;
      for (const JsoncValue& element : value.elements) out += (out.empty() ? "" : ",") + json_of(element);
      return "[" + out + "]";
    }
    case Kind::object: {
      std::string out;
      for (const JsoncMember& member : value.members)
        out += fmt::format("{}{}:{}", out.empty() ? "" : ",", quote(member.key), json_of(member.value));
      return "{" + out + "}";
    }
  }
  return "null";
}

class Reader {
 public:
  Result read(const JsoncValue& file, KeptCalls& kept) {
    if (auto ok = expect(file, Kind::object, "the file"); !ok) return ok;
    const JsoncValue* const calls = file.find("calls");
    if (calls == nullptr) return error(file.place, "\"calls\" is missing: this isn't a file of kept calls");
    for (const JsoncMember& member : file.members) {
      if (auto ok = known(member, {"version", "ignore", "calls"}); !ok) return ok;
      if (member.key == "version")
        if (auto ok = expect(member.value, Kind::number, "\"version\""); !ok) return ok;
      if (member.key == "version" && member.value.text != std::to_string(version))
        return error(member.value.place,
                     fmt::format("this mcpivot reads version {} of the file; a newer one wrote it", version));
      if (member.key != "ignore") continue;
      if (auto ok = read_ignored(member.value, kept.ignore); !ok) return ok;
    }
    if (auto ok = expect(*calls, Kind::array, "\"calls\""); !ok) return ok;
    for (const JsoncValue& one : calls->elements) {
      RecordedCall call;
      if (auto ok = read_call(one, call); !ok) return ok;
      kept.calls.push_back(std::move(call));
    }
    return {};
  }

 private:
  static Result error(const JsoncPlace& place, std::string words) {
    return std::unexpected(KeptCallsError{place.line, place.column, std::move(words)});
  }

  static Result expect(const JsoncValue& value, Kind kind, std::string_view what) {
    if (value.kind == kind) return {};
    return error(value.place,
                 fmt::format("{} must be {}, not {}", what, kind_text(kind), kind_text(value.kind)));
  }

  // A misspelt "arguments" would be another call.
  static Result known(const JsoncMember& member, std::vector<std::string_view> keys) {
    if (std::ranges::find(keys, member.key) != keys.end()) return {};
    const std::string_view meant = nearest(member.key, keys);
    return error(member.place,
                 fmt::format("\"{}\" isn't a key of this file{}", member.key,
                             meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
  }

  static Result read_ignored(const JsoncValue& value, std::vector<std::string>& into) {
    if (auto ok = expect(value, Kind::array, "\"ignore\""); !ok) return ok;
    for (const JsoncValue& path : value.elements) {
      if (auto ok = expect(path, Kind::string, "a path in \"ignore\""); !ok) return ok;
      if (const auto parsed = IgnoredPaths::parse({path.text}); !parsed)
        return error(path.place, parsed.error());
      into.push_back(path.text);
    }
    return {};
  }

  static Result read_text(const JsoncMember& member, std::string& into) {
    if (auto ok = expect(member.value, Kind::string, fmt::format("\"{}\"", member.key)); !ok) return ok;
    into = member.value.text;
    return {};
  }

  static Result read_flag(const JsoncMember& member, bool& into) {
    if (auto ok = expect(member.value, Kind::boolean, fmt::format("\"{}\"", member.key)); !ok) return ok;
    into = member.value.boolean;
    return {};
  }

  static Result read_object(const JsoncMember& member, std::string& into) {
    if (auto ok = expect(member.value, Kind::object, fmt::format("\"{}\"", member.key)); !ok) return ok;
    into = json_of(member.value);
    return {};
  }

  // Its "result" or "error".
  static Result read_answer(const JsoncMember& member, std::string& into, bool& is_error) {
    if (!into.empty()) return error(member.place, "a call has either \"result\" or \"error\", once");
    is_error = member.key == "error";
    return read_object(member, into);
  }

  static Result read_call(const JsoncValue& value, RecordedCall& call) {
    if (auto ok = expect(value, Kind::object, "a call"); !ok) return ok;
    for (const JsoncMember& member : value.members) {
      const std::string& key = member.key;
      Result ok = known(member, {"server", "tool", "arguments", "asked", "redacted", "result", "error"});
      if (!ok) return ok;
      if (key == "server") ok = read_text(member, call.server);
      if (key == "tool") ok = read_text(member, call.tool);
      if (key == "arguments") ok = read_object(member, call.arguments);
      if (key == "asked") ok = read_questions(member.value, call.asked);
      if (key == "redacted") ok = read_flag(member, call.is_redacted);
      if (key == "result" || key == "error") ok = read_answer(member, call.answer, call.is_error);
      if (!ok) return ok;
    }
    if (call.tool.empty()) return error(value.place, "\"tool\" is missing: the name of the tool");
    if (call.answer.empty()) return error(value.place, "\"result\" is missing: what the server answered");
    call.called = call.tool;
    call.tool_failed = !call.is_error && find_member(call.answer, "isError") == "true";
    call.outcome = call.is_error      ? RecordedCall::Outcome::error
                   : call.tool_failed ? RecordedCall::Outcome::tool_error
                                      : RecordedCall::Outcome::ok;
    return {};
  }

  static Result read_questions(const JsoncValue& value, std::vector<Asked>& into) {
    if (auto ok = expect(value, Kind::array, "\"asked\""); !ok) return ok;
    for (const JsoncValue& one : value.elements) {
      if (auto ok = expect(one, Kind::object, "a question in \"asked\""); !ok) return ok;
      Asked asked;
      for (const JsoncMember& member : one.members) {
        Result ok = known(member, {"method", "params", "result", "error"});
        if (!ok) return ok;
        if (member.key == "method") ok = read_text(member, asked.method);
        if (member.key == "params") ok = read_object(member, asked.params);
        if (member.key == "result" || member.key == "error")
          ok = read_answer(member, asked.answer, asked.is_error);
        if (!ok) return ok;
      }
      if (asked.method.empty()) return error(one.place, "\"method\" is missing: what the server asked");
      into.push_back(std::move(asked));
    }
    return {};
  }
};

}  // namespace

std::string call_key(const RecordedCall& call) {
  const std::string arguments = call.arguments.empty() ? "{}" : canonical_json(call.arguments);
  return fmt::format("{}\n{}\n{}", call.server, call.tool, arguments);
}

std::string why_not_kept(const RecordedCall& call) {
  std::vector<std::string_view> texts{call.arguments, call.answer};
  for (const Asked& asked : call.asked) texts.insert(texts.end(), {asked.params, asked.answer});
  const bool readable =
      std::ranges::all_of(texts, [](std::string_view text) { return text.empty() || read(text); });
  return readable ? std::string()
                  : fmt::format("it is nested more than {} levels deep, which can't be kept", deepest);
}

std::string kept_calls_text(const KeptCalls& kept) {
  std::map<std::string, const RecordedCall*> calls;  // sorted
  for (const RecordedCall& call : kept.calls) calls[call_key(call)] = &call;
  std::string out = fmt::format("{{\n  \"version\": {},\n", version);
  if (!kept.ignore.empty()) {
    json::array paths;
    for (const std::string& path : kept.ignore) paths.emplace_back(path);
    out += "  \"ignore\": ";
    write(paths, 2, 12, out);
    out += ",\n";
  }
  out += "  \"calls\": [";
  bool first = true;
  for (const auto& [key, call] : calls) {
    out += fmt::format("{}\n    {{", first ? "" : ",");
    first = false;
    bool first_member = true;
    for (const auto& [name, value] : object_of(*call)) {
      const std::string begins = fmt::format("\"{}\": ", std::string_view(name));
      out += fmt::format("{}\n      {}", first_member ? "" : ",", begins);
      first_member = false;
      write(value, 6, 6 + begins.size(), out);
    }
    out += "\n    }";
  }
  out += first ? "]\n}\n" : "\n  ]\n}\n";
  return out;
}

std::expected<KeptCalls, KeptCallsError> parse_kept_calls(std::string_view text) {
  const auto file =
      parse_jsonc(text, {.bytes = largest_kept_calls, .values = 1'000'000, .depth = deepest + around});
  if (!file)
    return std::unexpected(
        KeptCallsError{file.error().place.line, file.error().place.column, file.error().words});
  KeptCalls kept;
  if (auto ok = Reader().read(*file, kept); !ok) return std::unexpected(ok.error());
  return kept;
}

std::expected<KeptCalls, std::string> read_kept_calls(const std::string& file) {
  const auto text = read_small_file(file, largest_kept_calls);
  if (!text) return std::unexpected(fmt::format("{} {}", file, text.error()));
  auto kept = parse_kept_calls(*text);
  if (kept) return std::move(*kept);
  const KeptCallsError& error = kept.error();
  return std::unexpected(fmt::format("{}:{}:{}: {}", file, error.line, error.column, error.words));
}

}  // namespace mcpivot
