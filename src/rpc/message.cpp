#include "rpc/message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::array<std::pair<std::string_view, Method>, 24> known_methods{{
    {"tools/call", Method::tools_call},
    {"notifications/progress", Method::progress},
    {"initialize", Method::initialize},
    {"server/discover", Method::discover},
    {"ping", Method::ping},
    {"tools/list", Method::tools_list},
    {"prompts/list", Method::prompts_list},
    {"prompts/get", Method::prompts_get},
    {"resources/list", Method::resources_list},
    {"resources/templates/list", Method::resource_templates_list},
    {"resources/read", Method::resources_read},
    {"resources/subscribe", Method::resources_subscribe},
    {"resources/unsubscribe", Method::resources_unsubscribe},
    {"logging/setLevel", Method::set_level},
    {"completion/complete", Method::complete},
    {"notifications/initialized", Method::initialized},
    {"notifications/cancelled", Method::cancelled},
    {"notifications/tools/list_changed", Method::tools_changed},
    {"notifications/prompts/list_changed", Method::prompts_changed},
    {"notifications/resources/list_changed", Method::resources_changed},
    {"notifications/message", Method::log_message},
    {"notifications/resources/updated", Method::resource_updated},
    {"subscriptions/listen", Method::listen},
    {"notifications/subscriptions/acknowledged", Method::acknowledged},
}};

Method known_method(std::string_view name) {
  for (const auto& [text, known] : known_methods)
    if (text == name) return known;
  return Method::other;
}

bool is_string(std::string_view value) {
  return value.starts_with('"');
}
bool is_number(std::string_view value) {
  return !value.empty() && (value[0] == '-' || (value[0] >= '0' && value[0] <= '9'));
}
bool is_id(std::string_view value) {
  return is_string(value) || is_number(value);
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The keys that we interpret at one level of a message, which of them appeared, and where their values are.
template <const auto& names>
struct Fields {
  static constexpr std::size_t count = names.size();

  std::array<Span, count> where{};
  std::array<bool, count> shadowed{};  // appeared in other capitals
  std::size_t ambiguous = count;       // a key that appeared twice
  bool doubtful = false;               // either of these

  // Reads a key and tells which field it is, or `count` for one that we don't interpret.
  bool read_key(JsonCursor& cursor, std::size_t& field) {
    field = take_plain(cursor, std::make_index_sequence<count>());
    if (field == count) {
      JsonCursor::Key key;
      if (!cursor.key(key)) return false;
      const std::string decoded = key.escaped ? unescape(key.text) : std::string();
      const std::string_view name = key.escaped ? decoded : key.text;
      field = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
      if (field == count) note_shadow(name);
    }
    if (field != count && (where[field] || shadowed[field])) note_ambiguous(field);
    return true;
  }

 private:
  // A field's key in its most common spelling.
  template <std::size_t i>
  static constexpr auto plain = [] {
    std::array<char, names[i].size() + 3> text{};
    text[0] = '"';
    std::ranges::copy(names[i], text.begin() + 1);
    text[text.size() - 2] = '"';
    text[text.size() - 1] = ':';
    return text;
  }();
  template <std::size_t... i>
  static std::size_t take_plain(JsonCursor& cursor, std::index_sequence<i...>) {
    std::size_t found = count;
    (void)((cursor.take(plain<i>) && (found = i, true)) || ...);
    return found;
  }

  void note_shadow(std::string_view name) {
    for (std::size_t i = 0; i < count; ++i) {
      if (names[i].size() != name.size() || !equal_but_for_case(names[i], name)) continue;
      if (where[i]) note_ambiguous(i);
      shadowed[i] = doubtful = true;
    }
  }
  void note_ambiguous(std::size_t field) {
    ambiguous = field;
    doubtful = true;
  }
};

enum Top { jsonrpc, id, method, params, result, error, top_count };
constexpr std::array<std::string_view, top_count> top_names{"jsonrpc", "id",     "method",
                                                            "params",  "result", "error"};
// The most common ones first: they are tried in this order.
enum Param { name, arguments, meta, uri, progress_token, request_id, task, request_state, param_count };
constexpr std::array<std::string_view, param_count> param_names{
    "name", "arguments", "_meta", "uri", "progressToken", "requestId", "task", "requestState"};
enum Meta { meta_token, meta_version, meta_subscription, meta_count };
constexpr std::array<std::string_view, meta_count> meta_names{
    "progressToken", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/subscriptionId"};

// One pass over a message's line. Keeps what it found until it is known what kind of message it is.
class Reader {
 public:
  explicit Reader(std::string_view line) : line_(line), cursor_(line) {}

  std::expected<Message, Refusal> read() {
    const bool object = cursor_.next() == '{';
    if (!(object ? read_top() : cursor_.value()) || !cursor_.end()) {
      return refuse(Refusal::not_json,
                    std::string(cursor_.what()) + " at byte " + std::to_string(cursor_.offset() + 1));
    }
    if (!cursor_.utf8()) return refuse(Refusal::not_json, "invalid UTF-8");
    if (!object) return refuse(Refusal::not_a_message, "a message must be an object");
    return judge();
  }

 private:
  bool read_top() {
    return cursor_.members([this] {
      std::size_t field = 0;
      if (!top_.read_key(cursor_, field)) return false;
      if (field == top_count) return cursor_.value();
      if (field == jsonrpc && read_version()) return true;
      if (field == result && cursor_.next() == '{') return read_result();
      if (field == params && cursor_.next() == '{') return read_params();
      return cursor_.value(top_.where[field]);
    });
  }

  // The value of "jsonrpc", if it is the right one.
  bool read_version() {
    const std::size_t start = cursor_.offset();
    if (!cursor_.take(version)) return false;
    top_.where[jsonrpc] = span_from(start);
    version_read_ = true;
    return true;
  }

  bool read_params() {
    const std::size_t start = cursor_.offset();
    const bool read = cursor_.members([this] {
      std::size_t field = 0;
      if (!params_.read_key(cursor_, field)) return false;
      if (field == param_count) return cursor_.value();
      if (field == meta && cursor_.next() == '{') return read_meta();
      return cursor_.value(params_.where[field]);
    });
    top_.where[params] = span_from(start);
    return read;
  }

  bool read_meta() {
    const std::size_t start = cursor_.offset();
    const bool read = cursor_.members([this] {
      std::size_t field = 0;
      if (!meta_.read_key(cursor_, field)) return false;
      return field == meta_count ? cursor_.value() : cursor_.value(meta_.where[field]);
    });
    params_.where[meta] = span_from(start);
    return read;
  }

  // A result has few members, so finding out whether a tool failed costs next to nothing.
  bool read_result() {
    const std::size_t start = cursor_.offset();
    const bool read = cursor_.members([this] {
      JsonCursor::Key key;
      if (!cursor_.key(key)) return false;
      if (key.escaped ? unescape(key.text) == "isError" : key.text == "isError")
        is_error_ = cursor_.next() == 't';
      return cursor_.value();
    });
    top_.where[result] = span_from(start);
    return read;
  }

  Span span_from(std::size_t start) const {
    return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(cursor_.offset() - start)};
  }

  std::string_view value(Top field) const { return top_.where[field].of(line_); }

  // The line is JSON; is it also JSON-RPC, and can it be read in one way only?
  std::expected<Message, Refusal> judge() {
    if (auto key = ambiguous_key(); !key.empty()) {
      id_readable_ = key != "id";
      return refuse(Refusal::not_a_message, "the key \"" + std::string(key) + "\" appears more than once");
    }
    if (!version_read_ && !same_id(value(jsonrpc), {version.data(), version.size()}))
      return refuse(Refusal::not_a_message, R"(it lacks "jsonrpc": "2.0")");
    if (top_.where[id] && !is_id(value(id))) {
      return refuse(Refusal::not_a_message, "an id must be a string or a number");
    }
    const bool asks = static_cast<bool>(top_.where[method]);
    const bool succeeded = static_cast<bool>(top_.where[result]);
    const int bodies = (asks ? 1 : 0) + (succeeded ? 1 : 0) + (top_.where[error] ? 1 : 0);
    if (bodies != 1) {
      return refuse(Refusal::not_a_message, R"(it must have one of "method", "result" and "error")");
    }
    if (asks) {
      if (!is_string(value(method))) return refuse(Refusal::not_a_message, "a method must be a string");
      if (top_.where[params] && value(params)[0] != '{' && value(params)[0] != '[')
        return refuse(Refusal::not_a_message, "params must be an object");
      return described(top_.where[id] ? Kind::request : Kind::notification, method_named(value(method)));
    }
    if (succeeded && !top_.where[id]) return refuse(Refusal::not_a_message, "a result must have an id");
    return described(succeeded ? Kind::result : Kind::error, Method::other);
  }

  static Method method_named(std::string_view spelled) {
    const std::string_view plain = spelled.substr(1, spelled.size() - 2);
    return plain.find('\\') == std::string_view::npos ? known_method(plain) : known_method(unescape(plain));
  }

  MessageParts described(Kind kind, Method known) const {
    const bool asks = kind == Kind::request || kind == Kind::notification;
    const auto if_asks = [&](Span span) { return asks ? span : Span(); };
    const auto if_id = [&](Span span) { return asks && is_id(span.of(line_)) ? span : Span(); };
    return {.raw = line_,
            .kind = kind,
            .known = known,
            .id = top_.where[id],
            .method = top_.where[method],
            .params = top_.where[params],
            .result = top_.where[result],
            .error = top_.where[error],
            .name = if_asks(params_.where[name]),
            .uri = if_asks(params_.where[uri]),
            .progress_token =
                if_id(known == Method::progress ? params_.where[progress_token] : meta_.where[meta_token]),
            .request_id = if_id(params_.where[request_id]),
            .meta = if_asks(params_.where[meta]),
            .version = if_asks(meta_.where[meta_version]),
            .subscription = if_asks(meta_.where[meta_subscription]),
            .request_state = if_asks(params_.where[request_state]),
            .task = asks && params_.where[task],
            .is_error = is_error_};
  }

  // A key of ours that another parser could read differently, or an empty view. At the top level, no message
  // has a good reason for a key that differs from ours only in capitals; deeper down, it is ambiguous only if
  // both appear.
  std::string_view ambiguous_key() const {
    if (!top_.doubtful && !params_.doubtful && !meta_.doubtful) return {};
    if (top_.ambiguous != top_count) return top_names[top_.ambiguous];
    for (std::size_t i = 0; i < top_count; ++i)
      if (top_.shadowed[i]) return top_names[i];
    if (params_.ambiguous != param_count) return param_names[params_.ambiguous];
    if (meta_.ambiguous != meta_count) return meta_names[meta_.ambiguous];
    return {};
  }

  std::unexpected<Refusal> refuse(int code, std::string reason) const {
    Refusal refusal{code, std::move(reason), {}};
    if (code == Refusal::not_a_message && id_readable_ && is_id(value(id))) refusal.id = value(id);
    return std::unexpected(std::move(refusal));
  }

  static constexpr std::array version{'"', '2', '.', '0', '"'};

  std::string_view line_;
  JsonCursor cursor_;
  Fields<top_names> top_;
  Fields<param_names> params_;
  Fields<meta_names> meta_;
  bool version_read_ = false;  // as everybody spells it
  bool id_readable_ = true;
  bool is_error_ = false;
};

}  // namespace

std::expected<Message, Refusal> read_message(std::string_view line) {
  return Reader(line).read();
}

bool is_batch(std::string_view line) {
  if (line.starts_with('{')) return false;
  const auto first = line.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && line[first] == '[';
}

std::expected<std::vector<std::string_view>, Refusal> read_batch(std::string_view line) {
  std::vector<std::string_view> elements;
  JsonCursor cursor(line);
  const bool read = cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    elements.push_back(where.of(line));
    return true;
  });
  if (!read || !cursor.end()) return std::unexpected(Refusal{Refusal::not_json, cursor.what(), {}});
  if (elements.empty()) return std::unexpected(Refusal{Refusal::not_a_message, "the batch is empty", {}});
  return elements;
}

std::string string_value(std::string_view json_string) {
  if (!is_string(json_string)) return {};
  return unescape(json_string.substr(1, json_string.size() - 2));
}

bool same_id(std::string_view a, std::string_view b) {
  if (a == b) return true;
  return is_string(a) && is_string(b) && string_value(a) == string_value(b);
}

}  // namespace mcpivot
