#include "cli/pretty_json.h"

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

class Printer {
 public:
  Printer(std::string_view text, std::size_t width) : text_(text), width_(width) {}

  std::string print() {
    value(0);
    return std::move(out_);
  }

 private:
  char skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text_.size());
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  void scalar() {
    const std::size_t end = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  // A container on one line; empty if it is too long for that.
  std::string on_one_line(std::size_t room) const {
    std::string line;
    int depth = 0;
    for (std::size_t i = at_; i < text_.size() && line.size() <= room; ++i) {
      const char c = text_[i];
      if (c == '"') {
        const std::size_t begin = i++;
        while (i < text_.size() && text_[i] != '"') i += text_[i] == '\\' ? 2 : 1;
        line += text_.substr(begin, i - begin + 1);
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
        line += c;
        if (c == ',' || c == ':') line += ' ';
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) return line.size() <= room ? line : std::string();
      }
    }
    return {};
  }

  void new_line(std::size_t depth) {
    out_ += '\n';
    out_.append(depth * 2, ' ');
  }

  std::size_t column() const {
    const auto begin = out_.rfind('\n');
    return out_.size() - (begin == std::string::npos ? 0 : begin + 1);
  }

  void value(std::size_t depth) {
    const char c = skip_space();
    if (c == '"') return string();
    if (c != '{' && c != '[') return scalar();
    const std::size_t used = column() + 1;
    if (const std::string line = on_one_line(width_ > used ? width_ - used : 0); !line.empty()) {
      out_ += line;
      return skip_container();
    }
    out_ += c;
    ++at_;
    while (skip_space() != '}' && text_[at_] != ']') {
      new_line(depth + 1);
      if (c == '{') {
        string();
        skip_space();
        ++at_;
        out_ += ": ";
      }
      value(depth + 1);
      if (skip_space() != ',') break;
      out_ += ',';
      ++at_;
    }
    new_line(depth);
    out_ += c == '{' ? '}' : ']';
    ++at_;
  }

  void skip_container() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      }
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) {
        ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t width_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pretty_json(std::string_view text, std::size_t width) {
  JsonCursor cursor(text);
  if (!cursor.value() || !cursor.end()) return std::string(text);
  return Printer(text, width).print();
}

}  // namespace mcpivot
