#include "journal/redactor.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>

#include "schema/pattern.h"

namespace mcpivot {
namespace {

constexpr std::size_t npos = std::string_view::npos;

// What is replaced in a text.
struct Find {
  std::size_t begin;
  std::size_t end;
  std::string label;       // "[redacted LABEL]"
  std::size_t quotes = 0;  // for a number, which becomes a string: how deep within strings, from 1
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_alnum(char c) {
  return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}
bool is_word(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}
bool is_token(char c) {
  return is_word(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
// The characters of a JSON number.
bool is_number(char c) {
  return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}
bool is_upper_or_digit(char c) {
  return is_upper(c) || is_digit(c);
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return npos;
  const void* const found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// --- what looks like a token -----------------------------------------------------------------------------

struct Shape {
  std::string_view prefix;
  bool (*of)(char);   // what follows it
  std::size_t least;  // of those
};
constexpr std::array shapes{
    Shape{"sk-", is_word, 16},
    Shape{"sk_live_", is_alnum, 16},
    Shape{"sk_test_", is_alnum, 16},
    Shape{"rk_live_", is_alnum, 16},
    Shape{"ghp_", is_alnum, 20},
    Shape{"gho_", is_alnum, 20},
    Shape{"ghu_", is_alnum, 20},
    Shape{"ghs_", is_alnum, 20},
    Shape{"ghr_", is_alnum, 20},
    Shape{"github_pat_", is_word, 20},
    Shape{"glpat-", is_word, 16},
    Shape{"xoxa-", is_word, 10},
    Shape{"xoxb-", is_word, 10},
    Shape{"xoxe-", is_word, 10},
    Shape{"xoxo-", is_word, 10},
    Shape{"xoxp-", is_word, 10},
    Shape{"xoxr-", is_word, 10},
    Shape{"xoxs-", is_word, 10},
    Shape{"AKIA", is_upper_or_digit, 16},
    Shape{"ASIA", is_upper_or_digit, 16},
    Shape{"AIza", is_word, 30},
    Shape{"npm_", is_alnum, 30},
    Shape{"hf_", is_alnum, 30},
    Shape{"xapp-", is_word, 20},
    Shape{"whsec_", is_token, 20},
    Shape{"glptt-", is_word, 16},
    Shape{"dop_v1_", is_alnum, 30},
    Shape{"shpat_", is_alnum, 20},
    Shape{"lin_api_", is_alnum, 20},
    Shape{"pypi-", is_word, 30},
    Shape{"dckr_pat_", is_word, 20},
    Shape{"ya29.", is_word, 20},
    Shape{"SG.", is_token, 40},
    Shape{"ATATT3", is_token, 40},
};

constexpr std::size_t longest_label = 64;
// It has a digit within this many characters, or it isn't a token.
constexpr std::size_t longest_begin = 512;

// Where one may begin.
constexpr auto first_letters = [] {
  std::array<bool, 256> letters{};
  for (const Shape& shape : shapes) letters[static_cast<unsigned char>(shape.prefix[0])] = true;
  for (const char c : {'e', 'B', 'b', '-', ':', '"', '?', '&'}) letters[static_cast<unsigned char>(c)] = true;
  return letters;
}();

std::size_t run_end(std::string_view text, std::size_t from, bool (*of)(char)) {
  while (from < text.size() && of(text[from])) ++from;
  return from;
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, is_digit);
}

// Three parts of base64, the first two of them JSON: "eyJ….eyJ….…". The end, or 0; then none begins before
// `none_until`.
std::size_t jwt_end(std::string_view text, std::size_t at, std::size_t& none_until) {
  const std::size_t head = run_end(text, at, is_word);
  none_until = head;
  if (head >= text.size() || text[head] != '.' || !text.substr(head + 1).starts_with("eyJ")) return 0;
  const std::size_t body = run_end(text, head + 1, is_word);
  none_until = body;
  if (body >= text.size() || text[body] != '.') return 0;
  return run_end(text, body + 1, is_word);
}

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::ranges::equal(text, lower, {}, [](char c) {
           return is_upper(c) ? static_cast<char>(c + 32) : c;
         });
}

// --- telling keys ----------------------------------------------------------------------------------------

// How the name of a secret ends: "DB_PASSWORD", "githubAccessToken".
constexpr std::array<std::string_view, 19> telling_ends{
    "password",    "passwd",        "passphrase", "secret",      "apikey",       "accesskey", "secretkey",
    "privatekey",  "accesstoken",   "authtoken",  "bearertoken", "refreshtoken", "idtoken",   "sessiontoken",
    "clienttoken", "authorization", "credential", "credentials", "cookie"};

// "api_key", "API-Key", "apiKey" and "my.api key" are the same; of a long one, only the end is compared.
bool is_telling(std::string_view key) {
  std::array<char, 64> plain{};
  std::size_t begin = plain.size();
  for (std::size_t i = key.size(); i-- > 0 && begin > 0;)
    if (is_alnum(key[i])) plain[--begin] = is_upper(key[i]) ? static_cast<char>(key[i] + 32) : key[i];
  const std::string_view name(plain.data() + begin, plain.size() - begin);
  return name == "token" ||
         std::ranges::any_of(telling_ends, [&](std::string_view end) { return name.ends_with(end); });
}

bool is_path_of_file(const std::string& value) {
  return value.starts_with('/') && ::access(value.c_str(), F_OK) == 0;
}

// "true", "8080": replacing these would hide half of a message and keep nothing secret.
bool is_common(std::string_view value) {
  return value == "true" || value == "false" || value == "none" || value == "null" ||
         (value.size() < 6 && std::ranges::all_of(value, is_digit));
}

// "GITHUB_TOKEN": a variable of the environment.
bool is_variable(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return is_upper_or_digit(c) || c == '_'; });
}

bool is_hidden(std::string_view key, std::string_view value) {
  if (value.empty()) return false;
  return is_telling(key) ||
         (is_variable(key) && Redactor::names_secret(key) && Redactor::is_secret(key, value));
}

// "token=VALUE", as in a URL after "?" or "&".
std::optional<Find> find_parameter(std::string_view text, std::size_t at) {
  const std::size_t name_end = run_end(text, at + 1, is_word);
  if (name_end >= text.size() || text[name_end] != '=') return {};
  const std::string_view name = text.substr(at + 1, name_end - at - 1);
  if (!is_telling(name) && name != "key" && name != "sig" && !name.ends_with("ignature")) return {};
  std::size_t end = text.find_first_of("&#;,)]}> \t\r\n\"'\\", name_end);
  if (end == npos) end = text.size();
  if (end == name_end + 1) return {};
  return Find{name_end + 1, end, std::string(name)};
}

// "password": "VALUE" in a text that is JSON, or has some in it; or a list of such values. Where the last of
// them ends; 0: there is none.
std::size_t find_member_values(std::string_view text, std::size_t at, std::vector<Find>& finds) {
  const auto skip = [&](std::size_t from) {
    while (from < text.size() && is_blank(text[from])) ++from;
    return from;
  };
  const std::size_t key_end = text.find_first_of("\"\\\n", at + 1);
  if (key_end == npos || text[key_end] != '"') return 0;
  const std::size_t colon = skip(key_end + 1);
  if (colon >= text.size() || text[colon] != ':') return 0;
  const std::string_view key = text.substr(at + 1, key_end - at - 1);
  if (!Redactor::names_secret(key)) return 0;
  std::size_t begin = skip(colon + 1);
  const bool in_list = begin < text.size() && text[begin] == '[';
  std::size_t last = 0;
  do {
    if (in_list) begin = skip(begin + 1);  // after "[" or ","
    const bool is_string = begin < text.size() && text[begin] == '"';
    std::size_t end = begin;
    if (is_string) {
      ++begin;
      for (++end; end < text.size() && text[end] != '"';) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end, text.size());
    } else {
      end = run_end(text, begin, is_number);
    }
    if (is_hidden(key, text.substr(std::min(begin, text.size()), end - begin))) {
      finds.push_back({begin, end, std::string(key), is_string ? 0U : 1U});
      last = end;
    }
    begin = skip(end + (is_string ? 1 : 0));
  } while (in_list && begin < text.size() && text[begin] == ',');
  return last;
}

void find_shapes(std::string_view text, std::vector<Find>& finds) {
  std::size_t no_jwt_until = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!first_letters[static_cast<unsigned char>(c)]) continue;
    const std::string_view rest = text.substr(i);
    std::size_t begin = i;
    std::size_t end = 0;
    if (c == '"' || c == '?' || c == '&') {
      if (c == '"') {
        if (const std::size_t last = find_member_values(text, i, finds)) i = last - 1;
      } else if (const auto find = find_parameter(text, i)) {
        finds.push_back(*find);
        i = find->end - 1;
      }
      continue;
    }
    if (c == ':') {  // https://user:password@host
      if (!rest.starts_with("://")) continue;
      const std::size_t stop = text.find_first_of("/@ \t\n\"'<>", i + 3);
      if (stop == npos || text[stop] != '@') continue;
      const std::size_t colon = text.find(':', i + 3);
      if (colon >= stop || colon + 1 == stop) continue;
      begin = colon + 1;
      end = stop;
    } else if (c == '-') {
      if (!rest.starts_with("-----BEGIN ")) continue;
      const std::size_t name = find_text(text.substr(0, i + 60), "PRIVATE KEY-----", i);
      if (name == npos) continue;
      const std::size_t last = find_text(text, "PRIVATE KEY-----", name + 1);
      end = last == npos ? text.size() : last + 16;
    } else {
      if (i > 0 && is_alnum(text[i - 1])) continue;
      if (c == 'e') {
        if (!rest.starts_with("eyJ")) continue;
        if (i < no_jwt_until) continue;
        end = jwt_end(text, i, no_jwt_until);
      } else if (c == 'B' || c == 'b') {
        if (!same_letters(rest.substr(0, 7), "bearer ")) continue;
        begin = i + 7;
        end = run_end(text, begin, is_token);
        if (end - begin < 16 || !has_digit(text.substr(begin, end - begin))) continue;
      } else {
        const char next = rest.size() > 1 ? rest[1] : '\0';
        for (const Shape& shape : shapes) {
          if (shape.prefix[1] != next || !rest.starts_with(shape.prefix)) continue;
          const std::size_t after = i + shape.prefix.size();
          const std::size_t begun = run_end(text.substr(0, after + longest_begin), after, shape.of);
          if (begun - after >= shape.least && has_digit(text.substr(after, begun - after)))
            end = run_end(text, begun, shape.of);
          break;
        }
      }
    }
    if (end <= begin) continue;
    finds.push_back({begin, end, "token"});
    i = end - 1;
  }
}

// --- escapes ---------------------------------------------------------------------------------------------

// A text with its escapes resolved, and where each of its bytes comes from.
struct Resolved {
  std::string text{};
  std::vector<std::uint32_t> begins{};  // one more than there are bytes

  // Text without escapes, from this position of the raw text.
  void add_plain(std::string_view bytes, std::size_t from) {
    text += bytes;
    const std::size_t before = begins.size();
    begins.resize(before + bytes.size());
    std::iota(begins.begin() + static_cast<std::ptrdiff_t>(before), begins.end(),
              static_cast<std::uint32_t>(from));
  }
  void add(std::string_view bytes, std::size_t from) {
    text += bytes;
    begins.insert(begins.end(), bytes.size(), static_cast<std::uint32_t>(from));
  }
};

std::optional<unsigned> hex_4(std::string_view text) {
  if (text.size() < 4) return {};
  unsigned value = 0;
  for (const char c : text.substr(0, 4)) {
    if (is_digit(c))
      value = value * 16 + static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
      value = value * 16 + static_cast<unsigned>(c - 'A') + 10;
    else
      return {};
  }
  return value;
}

std::string utf8_of(unsigned point) {
  std::string bytes;
  const auto add = [&](unsigned byte) { bytes += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0U | (point >> 6U));
    add(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    add(0xE0U | (point >> 12U));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  } else {
    add(0xF0U | (point >> 18U));
    add(0x80U | ((point >> 12U) & 0x3FU));
    add(0x80U | ((point >> 6U) & 0x3FU));
    add(0x80U | (point & 0x3FU));
  }
  return bytes;
}

Resolved resolve(std::string_view raw) {
  Resolved resolved;
  resolved.text.reserve(raw.size());
  resolved.begins.reserve(raw.size() + 1);
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      const std::size_t end = std::min(raw.find('\\', i + 1), raw.size());
      resolved.add_plain(raw.substr(i, end - i), i);
      i = end;
      continue;
    }
    constexpr std::string_view letters = "bfnrt";
    constexpr std::string_view values = "\b\f\n\r\t";
    const char c = raw[i + 1];
    if (c == 'u') {
      auto point = hex_4(raw.substr(i + 2));
      std::size_t size = 6;
      if (point && *point >= 0xD800 && *point < 0xDC00 && raw.substr(i + 6).starts_with("\\u"))
        if (const auto low = hex_4(raw.substr(i + 8)); low && *low >= 0xDC00 && *low < 0xE000) {
          point = 0x10000 + ((*point - 0xD800) << 10U) + (*low - 0xDC00);
          size = 12;
        }
      if (point) {
        resolved.add(utf8_of(*point), i);
        i += size;
        continue;
      }
    }
    if (const auto which = letters.find(c); which != npos)
      resolved.add(values.substr(which, 1), i);
    else
      resolved.add(raw.substr(i + 1, 1), i);
    i += 2;
  }
  resolved.begins.push_back(static_cast<std::uint32_t>(raw.size()));
  return resolved;
}

// Its place in the raw text, given that in the resolved one.
Find place_in_raw(const Find& find, const Resolved& resolved) {
  std::size_t end = find.end;
  while (end + 1 < resolved.begins.size() && resolved.begins[end] == resolved.begins[find.end - 1]) ++end;
  return {resolved.begins[find.begin], resolved.begins[end], find.label, find.quotes + (find.quotes > 0)};
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text)
    if (is_word(c) || c == '.' || c == '~')
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return encoded;
}

}  // namespace

struct Redactor::Patterns {
  std::vector<schema::Pattern> all;
};

Redactor::Redactor(std::vector<Secret> secrets, const std::vector<std::string>& patterns)
    : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const Secret& secret) { return secret.value.empty(); });
  for (Secret& secret : secrets_) std::erase_if(secret.name, [](char c) { return !is_word(c); });
  // As it is spelled in a URL.
  for (std::size_t i = secrets_.size(); i-- > 0;)
    if (std::string spelled = percent_encoded(secrets_[i].value); spelled != secrets_[i].value)
      secrets_.push_back({secrets_[i].name, std::move(spelled)});
  if (patterns.empty()) return;
  auto made = std::make_shared<Patterns>();
  for (const std::string& pattern : patterns) made->all.emplace_back(pattern);
  patterns_ = std::move(made);
}

namespace {

// Finds every secret in one text; escaped text is decoded first.
template <class Look>
void look_deeply(std::string_view raw, const Look& look, int depth, std::vector<Find>& finds) {
  if (depth == 0 || raw.find('\\') == npos) return look(raw, finds);
  const Resolved resolved = resolve(raw);
  std::vector<Find> inside;
  look(resolved.text, inside);
  if (resolved.text.find('\\') != npos) look_deeply(resolved.text, look, depth - 1, inside);
  for (const Find& find : inside) finds.push_back(place_in_raw(find, resolved));
}

// The label becomes part of JSON, and keys may contain anything: only the letters at their end are repeated.
std::string label_text(std::string_view label) {
  std::size_t begin = label.size();
  while (begin > 0 && is_word(label[begin - 1]) && label.size() - begin < longest_label) --begin;
  label.remove_prefix(begin);
  return label.empty() ? std::string("[redacted]") : fmt::format("[redacted {}]", label);
}

// Puts the labels in their places, and returns how many.
std::size_t replace(std::string_view raw, std::vector<Find>& finds, std::string& out) {
  std::ranges::sort(finds, {}, [](const Find& find) { return std::pair(find.begin, find.end); });
  std::size_t done = 0;
  std::size_t count = 0;
  for (const Find& find : finds) {
    if (find.end <= done) continue;
    if (find.begin >= done) {
      out += raw.substr(done, find.begin - done);
      std::string quote;
      if (find.quotes > 0) quote = std::string((std::size_t{1} << (find.quotes - 1)) - 1, '\\') + '"';
      out += quote + label_text(find.label) + quote;
      ++count;
    }
    done = find.end;
  }
  out += raw.substr(done);
  return count;
}

}  // namespace

std::size_t Redactor::redact(std::string& text) const {
  std::vector<Find> finds;
  const auto look = [this](std::string_view plain, std::vector<Find>& into) {
    for (const Secret& secret : secrets_)
      for (std::size_t at = 0; (at = find_text(plain, secret.value, at)) != npos; at += secret.value.size())
        into.push_back({at, at + secret.value.size(), secret.name});
    find_shapes(plain, into);
    if (!patterns_) return;
    for (const schema::Pattern& pattern : patterns_->all) {
      const auto parts = pattern.parts_in(plain);
      if (!parts) into.push_back({0, plain.size(), ""});  // it took too long: hide all of it
      if (parts)
        for (const auto& part : *parts) into.push_back({part.begin, part.begin + part.size, ""});
    }
  };
  std::string out;
  std::size_t count = 0;
  const std::string_view raw = text;
  const std::size_t first = run_end(raw, 0, is_blank);
  if (!raw.substr(first).starts_with('{') && !raw.substr(first).starts_with('[')) {
    look_deeply(raw, look, 1, finds);
    look(raw, finds);
    if (finds.empty()) return 0;
    count = replace(raw, finds, out);
    text = std::move(out);
    return count;
  }
  std::size_t done = 0;
  std::string key;  // whose value comes next, or is the list that is open; empty: none
  bool in_list = false;
  const auto put = [&](std::size_t begin, std::size_t end, std::string_view with) {
    if (out.empty()) out.reserve(raw.size());
    out += raw.substr(done, begin - done);
    out += with;
    done = end;
    ++count;
  };
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '"') {
      std::size_t end = i + 1;
      while (end < raw.size() && raw[end] != '"') end += raw[end] == '\\' ? 2 : 1;
      end = std::min(end, raw.size());
      const std::string_view content = raw.substr(i + 1, end - i - 1);
      std::size_t next = end + 1;
      while (next < raw.size() && is_blank(raw[next])) ++next;
      const bool is_key = next < raw.size() && raw[next] == ':';
      if (!is_key && !key.empty() && is_hidden(key, content)) {
        put(i + 1, end, label_text(key));
      } else {
        finds.clear();
        look_deeply(content, look, 2, finds);
        if (!finds.empty()) {
          std::string replaced;
          const std::size_t several = replace(content, finds, replaced);
          put(i + 1, end, replaced);
          count += several - 1;
        }
      }
      if (is_key) {
        key = content.find('\\') == npos ? std::string(content) : resolve(content).text;
        if (!names_secret(key)) key.clear();
      } else if (!in_list) {
        key.clear();
      }
      i = is_key ? next + 1 : end + 1;
    } else if (is_digit(c) || c == '-') {
      const std::size_t end = run_end(raw, i, is_number);
      const std::string_view number = raw.substr(i, end - i);
      const auto secret = std::ranges::find(secrets_, number, &Secret::value);
      const bool hidden = !key.empty() && is_hidden(key, number);
      if (hidden || secret != secrets_.end())
        put(i, end, fmt::format("\"{}\"", label_text(hidden ? key : secret->name)));
      if (!in_list) key.clear();
      i = end;
    } else {
      if (c == '[' && !key.empty()) in_list = true;
      if (c == '{' || c == ']' || (c == ',' && !in_list)) {
        key.clear();
        in_list = false;
      }
      ++i;
    }
  }
  if (count == 0) return 0;
  out += raw.substr(std::min(done, raw.size()));
  text = std::move(out);
  return count;
}

bool Redactor::names_secret(std::string_view name) {
  std::string upper(name);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  for (const std::string_view word :
       {"KEY", "TOKEN", "SECRET", "PASS", "PWD", "AUTH", "CREDENTIAL", "COOKIE"})
    if (upper.find(word) != npos) return true;
  return false;
}

bool Redactor::is_secret(std::string_view name, std::string_view value) {
  if (value.size() < 4 || is_common(value) || is_path_of_file(std::string(value))) return false;
  return value.size() >= 8 || names_secret(name);
}

}  // namespace mcpivot
