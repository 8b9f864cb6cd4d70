#include "journal/redactor.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "schema/pattern.h"

namespace mcpivot {
namespace {

constexpr std::size_t npos = std::string_view::npos;

// What is replaced in a text.
struct Find {
  std::size_t begin;
  std::size_t end;
  std::string_view label;  // "[redacted LABEL]"
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
};

// Where one may begin.
constexpr auto first_letters = [] {
  std::array<bool, 256> letters{};
  for (const Shape& shape : shapes) letters[static_cast<unsigned char>(shape.prefix[0])] = true;
  for (const char c : {'e', 'B', 'b', '-', ':'}) letters[static_cast<unsigned char>(c)] = true;
  return letters;
}();

std::size_t run_end(std::string_view text, std::size_t from, bool (*of)(char)) {
  while (from < text.size() && of(text[from])) ++from;
  return from;
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, is_digit);
}

// Three parts of base64, the first two of them JSON: "eyJ….eyJ….…". The end, or 0.
std::size_t jwt_end(std::string_view text, std::size_t at) {
  const std::size_t head = run_end(text, at, is_word);
  if (head >= text.size() || text[head] != '.' || !text.substr(head + 1).starts_with("eyJ")) return 0;
  const std::size_t body = run_end(text, head + 1, is_word);
  if (body >= text.size() || text[body] != '.') return 0;
  return run_end(text, body + 1, is_word);
}

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::ranges::equal(text, lower, {}, [](char c) {
           return is_upper(c) ? static_cast<char>(c + 32) : c;
         });
}

void find_shapes(std::string_view text, std::vector<Find>& finds) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!first_letters[static_cast<unsigned char>(c)]) continue;
    const std::string_view rest = text.substr(i);
    std::size_t begin = i;
    std::size_t end = 0;
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
      const std::size_t name = find_text(text, "PRIVATE KEY-----", i);
      if (name == npos || name > i + 40) continue;
      const std::size_t last = find_text(text, "PRIVATE KEY-----", name + 1);
      end = last == npos ? text.size() : last + 16;
    } else {
      if (i > 0 && is_alnum(text[i - 1])) continue;
      if (rest.starts_with("eyJ")) {
        end = jwt_end(text, i);
      } else if (same_letters(rest.substr(0, 7), "bearer ")) {
        begin = i + 7;
        end = run_end(text, begin, is_token);
        if (end - begin < 16 || !has_digit(text.substr(begin, end - begin))) continue;
      } else {
        for (const Shape& shape : shapes) {
          if (!rest.starts_with(shape.prefix)) continue;
          const std::size_t after = i + shape.prefix.size();
          const std::size_t stop = run_end(text, after, shape.of);
          if (stop - after >= shape.least && has_digit(text.substr(after, stop - after))) end = stop;
          break;
        }
      }
    }
    if (end <= begin) continue;
    finds.push_back({begin, end, "token"});
    i = end - 1;
  }
}

// --- keys that tell --------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 14> telling_keys{
    "password",  "passwd",       "secret",    "apikey",     "accesstoken",   "refreshtoken", "idtoken",
    "authtoken", "clientsecret", "secretkey", "privatekey", "authorization", "sessiontoken", "passphrase"};

// "api_key", "API-Key" and "apiKey" are the same.
bool is_telling(std::string_view key) {
  std::array<char, 20> plain{};
  std::size_t size = 0;
  for (const char c : key) {
    if (c == '_' || c == '-') continue;
    if (size == plain.size() || !is_alnum(c)) return false;
    plain[size++] = is_upper(c) ? static_cast<char>(c + 32) : c;
  }
  return std::ranges::find(telling_keys, std::string_view(plain.data(), size)) != telling_keys.end();
}

// --- escapes ---------------------------------------------------------------------------------------------

// A text with its escapes resolved, and where each of its bytes comes from.
struct Resolved {
  std::string text{};
  std::vector<std::uint32_t> begins{};  // one more than there are bytes

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
      resolved.add(raw.substr(i, 1), i);
      ++i;
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

// Where it lies in what was resolved.
Find place_in_raw(const Find& find, const Resolved& resolved) {
  std::size_t end = find.end;
  while (end + 1 < resolved.begins.size() && resolved.begins[end] == resolved.begins[find.end - 1]) ++end;
  return {resolved.begins[find.begin], resolved.begins[end], find.label};
}

}  // namespace

struct Redactor::Patterns {
  std::vector<schema::Pattern> all;
};

Redactor::Redactor(std::vector<Secret> secrets, const std::vector<std::string>& patterns)
    : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const Secret& secret) { return secret.value.empty(); });
  for (Secret& secret : secrets_) std::erase_if(secret.name, [](char c) { return !is_word(c); });
  if (patterns.empty()) return;
  auto made = std::make_shared<Patterns>();
  for (const std::string& pattern : patterns) made->all.emplace_back(pattern);
  patterns_ = std::move(made);
}

namespace {

// Everything in one text that has to go; where it is escaped, what that stands for is looked at.
template <class Look>
void look_deeply(std::string_view raw, const Look& look, int depth, std::vector<Find>& finds) {
  if (depth == 0 || raw.find('\\') == npos) return look(raw, finds);
  const Resolved resolved = resolve(raw);
  std::vector<Find> inside;
  look(resolved.text, inside);
  if (resolved.text.find('\\') != npos) look_deeply(resolved.text, look, depth - 1, inside);
  for (const Find& find : inside) finds.push_back(place_in_raw(find, resolved));
}

// Puts the labels in their places; how many.
std::size_t replace(std::string_view raw, std::vector<Find>& finds, std::string& out) {
  std::ranges::sort(finds, {}, [](const Find& find) { return std::pair(find.begin, find.end); });
  std::size_t done = 0;
  std::size_t count = 0;
  for (const Find& find : finds) {
    if (find.end <= done) continue;
    if (find.begin >= done) {
      out += raw.substr(done, find.begin - done);
      out += find.label.empty() ? std::string("[redacted]") : fmt::format("[redacted {}]", find.label);
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
      if (!parts) into.push_back({0, plain.size(), ""});  // it took too long: better too much than too little
      if (parts)
        for (const auto& part : *parts) into.push_back({part.begin, part.begin + part.size, ""});
    }
  };
  std::string out;
  std::size_t count = 0;
  const std::string_view raw = text;
  if (!raw.starts_with('{') && !raw.starts_with('[')) {
    look_deeply(raw, look, 1, finds);
    look(raw, finds);
    if (finds.empty()) return 0;
    count = replace(raw, finds, out);
    text = std::move(out);
    return count;
  }
  std::size_t done = 0;
  std::string_view key;
  bool is_value = false;  // what comes next is the value of that key
  const auto put = [&](std::size_t begin, std::size_t end, std::string_view with) {
    if (out.empty()) out.reserve(raw.size());
    out += raw.substr(done, begin - done);
    out += with;
    done = end;
  };
  for (std::size_t i = 0; i < raw.size();) {
    const char c = raw[i];
    if (c == '"') {
      std::size_t end = i + 1;
      while (end < raw.size() && raw[end] != '"') end += raw[end] == '\\' ? 2 : 1;
      end = std::min(end, raw.size());
      const std::string_view content = raw.substr(i + 1, end - i - 1);
      std::size_t next = end + 1;
      while (next < raw.size() && (raw[next] == ' ' || raw[next] == '\t')) ++next;
      const bool is_key = next < raw.size() && raw[next] == ':';
      if (is_value && !content.empty() && is_telling(key)) {
        put(i + 1, end, fmt::format("[redacted {}]", key));
        ++count;
      } else {
        finds.clear();
        look_deeply(content, look, 2, finds);
        if (!finds.empty()) {
          std::string replaced;
          count += replace(content, finds, replaced);
          put(i + 1, end, replaced);
        }
      }
      is_value = is_key;
      if (is_key) key = content;
      i = is_key ? next + 1 : end + 1;
    } else if (is_digit(c) || c == '-') {
      const std::size_t end =
          run_end(raw, i, [](char d) { return is_alnum(d) || d == '-' || d == '+' || d == '.'; });
      const std::string_view number = raw.substr(i, end - i);
      for (const Secret& secret : secrets_)
        if (secret.value == number) {
          put(i, end, fmt::format("\"[redacted {}]\"", secret.name));
          ++count;
          break;
        }
      is_value = false;
      i = end;
    } else {
      if (c == '{' || c == '[' || c == ',') is_value = false;
      ++i;
    }
  }
  if (count == 0) return 0;
  out += raw.substr(std::min(done, raw.size()));
  text = std::move(out);
  return count;
}

bool Redactor::is_secret(std::string_view name, std::string_view value) {
  if (value.size() < 4) return false;
  std::string upper(name);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  for (const std::string_view word :
       {"KEY", "TOKEN", "SECRET", "PASS", "PWD", "AUTH", "CREDENTIAL", "COOKIE"})
    if (upper.find(word) != npos) return true;
  if (value.size() < 8) return false;
  return value[0] != '/' || ::access(std::string(value).c_str(), F_OK) != 0;
}

}  // namespace mcpivot
