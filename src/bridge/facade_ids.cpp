#include "bridge/facade_ids.h"

#include <fmt/format.h>

#include <charconv>

#include "rpc/message.h"

namespace mcpivot {
namespace {

// Takes a number, and the dash before it, off the front.
template <class Number>
bool take(std::string_view& text, Number& number) {
  if (!text.starts_with('-')) return false;
  const auto [rest, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string discover_id(std::int64_t own) {
  return fmt::format(R"("discover-{}")", own);
}

std::string retry_id(std::int64_t own, int round) {
  return fmt::format(R"("retry-{}-{}")", own, round);
}

std::string ask_id(std::int64_t own, int round, std::size_t question) {
  return fmt::format(R"("ask-{}-{}-{}")", own, round, question);
}

std::optional<FacadeId> read_facade_id(std::string_view id) {
  const std::string value = string_value(id);
  std::string_view text = value;
  FacadeId found{};
  bool good = false;
  if (take_word(text, "discover")) {
    found.what = FacadeId::What::discover;
    good = take(text, found.own);
  } else if (take_word(text, "retry")) {
    found.what = FacadeId::What::retry;
    good = take(text, found.own) && take(text, found.round);
  } else if (take_word(text, "ask")) {
    found.what = FacadeId::What::ask;
    good = take(text, found.own) && take(text, found.round) && take(text, found.question);
  }
  return good && text.empty() ? std::optional(found) : std::nullopt;
}

}  // namespace mcpivot
