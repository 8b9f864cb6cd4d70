#include "front/http_message.h"

#include <algorithm>

#include "base/text.h"

namespace mcpivot {
namespace {

constexpr std::size_t worth_keeping = 16 * 1024;

char small(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view HttpAsk::header(std::string_view name) const {
  const Field* field = find(name);
  return field == nullptr ? std::string_view() : text(field->value);
}

bool HttpAsk::repeated(std::string_view name) const {
  const Field* field = find(name);
  return field != nullptr && field->repeated;
}

void HttpAsk::add(std::string_view name, std::string_view value) {
  value = trimmed(value);
  if (const Field* known = find(name)) {
    const std::string joined = std::string(text(known->value)).append(", ").append(value);
    Field& field = fields_[static_cast<std::size_t>(known - fields_.data())];
    field.value = keep(joined);
    field.repeated = true;
    return;
  }
  const Piece name_piece = keep(name);
  fields_.push_back({.name = name_piece, .value = keep(value)});
}

void HttpAsk::set(std::string_view name, std::string_view value) {
  const Field* const known = find(name);
  if (known == nullptr) return add(name, value);
  Field& field = fields_[static_cast<std::size_t>(known - fields_.data())];
  field = {.name = field.name, .value = keep(value)};
}

void HttpAsk::clear() {
  method.clear();
  target.clear();
  text_.clear();
  if (text_.capacity() > worth_keeping) std::string().swap(text_);
  fields_.clear();
}

HttpAsk::Piece HttpAsk::keep(std::string_view text) {
  const Piece piece{.begin = static_cast<std::uint32_t>(text_.size()),
                    .size = static_cast<std::uint32_t>(text.size())};
  text_ += text;
  return piece;
}

const HttpAsk::Field* HttpAsk::find(std::string_view name) const {
  for (const Field& field : fields_)
    if (std::ranges::equal(text(field.name), name, {}, small, small)) return &field;
  return nullptr;
}

HttpAnswer plain_answer(int status, std::string_view text) {
  return {.status = status,
          .headers = "Content-Type: text/plain; charset=utf-8\r\n",
          .body = std::string(text).append("\n")};
}

HttpAnswer busy_answer(std::string_view words) {
  HttpAnswer answer = plain_answer(503, words);
  answer.headers += "Retry-After: 1\r\n";
  return answer;
}

}  // namespace mcpivot
