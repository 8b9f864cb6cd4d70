#include "schema/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/utf8.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;

static_assert(std::numeric_limits<long double>::digits >= 64, "long double holds every std::uint64_t");

__extension__ using Wide = unsigned __int128;

constexpr std::size_t longest_shown = 200;

// digits · 10^exponent, without its sign.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

std::optional<Decimal> decimal_of(const json::value& number) {
  if (number.is_uint64()) return Decimal{number.get_uint64(), 0};
  if (number.is_int64()) {
    const auto value = static_cast<std::uint64_t>(number.get_int64());
    return Decimal{number.get_int64() < 0 ? 0 - value : value, 0};
  }
  const double value = std::abs(number.get_double());
  if (!std::isfinite(value)) return {};
  std::array<char, 40> text{};
  const char* end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
  Decimal decimal;
  const char* at = text.data();
  bool after_point = false;
  for (; at < end && *at != 'e'; ++at) {
    if (*at == '.') {
      after_point = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    decimal.exponent -= after_point ? 1 : 0;
  }
  int exponent = 0;
  if (at < end) std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
  decimal.exponent += exponent;
  return decimal;
}

// Boost.JSON would write 1.5E0.
std::string spelled(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::size_t mixed(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15U + (seed >> 7U);
}

}  // namespace

bool same(const json::value& one, const json::value& other) {
  if (one.is_number() && other.is_number()) return number_of(one) == number_of(other);
  if (one.kind() != other.kind()) return false;
  if (const json::array* items = one.if_array()) return std::ranges::equal(*items, other.get_array(), same);
  if (const json::object* members = one.if_object()) {
    const json::object& others = other.get_object();
    return members->size() == others.size() && std::ranges::all_of(*members, [&](const auto& member) {
             const json::value* found = others.if_contains(member.key());
             return found != nullptr && same(member.value(), *found);
           });
  }
  return one == other;
}

std::size_t hash_of(const json::value& value) {
  const std::hash<std::string_view> text_hash;
  if (value.is_number()) return std::hash<long double>()(number_of(value));
  if (const json::string* text = value.if_string()) return text_hash(*text) + 1;
  if (const json::array* items = value.if_array()) {
    std::size_t hash = 2;
    for (const json::value& item : *items) hash = mixed(hash, hash_of(item));
    return hash;
  }
  if (const json::object* members = value.if_object()) {
    std::size_t hash = 3;
    for (const auto& member : *members) hash += mixed(text_hash(member.key()), hash_of(member.value()));
    return hash;
  }
  return value.is_bool() ? 4U + (value.get_bool() ? 1U : 0U) : 6U;
}

std::optional<std::size_t> count_values(const json::value& value, int deepest) {
  std::size_t count = 1;
  const auto add = [&](const json::value& inner) {
    const auto more = count_values(inner, deepest - 1);
    count += more.value_or(0);
    return more.has_value();
  };
  if (!value.is_structured()) return count;
  if (deepest == 0) return {};
  const json::array* items = value.if_array();
  const bool counted =
      items != nullptr
          ? std::ranges::all_of(*items, add)
          : std::ranges::all_of(value.get_object(), [&](const auto& member) { return add(member.value()); });
  return counted ? std::optional(count) : std::nullopt;
}

long double number_of(const json::value& number) {
  if (number.is_int64()) return static_cast<long double>(number.get_int64());
  if (number.is_uint64()) return static_cast<long double>(number.get_uint64());
  return static_cast<long double>(number.get_double());
}

bool is_whole(const json::value& number) {
  return !number.is_double() || std::trunc(number.get_double()) == number.get_double();
}

bool is_multiple(const json::value& number, const json::value& of) {
  const auto value = decimal_of(number);
  const auto unit = decimal_of(of);
  if (!value || !unit || unit->digits == 0) return false;
  if (value->digits == 0) return true;
  // Is value.digits · 10^shift a multiple of unit.digits?
  int shift = value->exponent - unit->exponent;
  std::uint64_t digits = value->digits;
  for (; shift < 0; ++shift) {
    if (digits % 10 != 0) return false;
    digits /= 10;
  }
  std::uint64_t rest = digits % unit->digits;
  for (; shift > 0 && rest != 0; --shift) rest = static_cast<std::uint64_t>(Wide{rest} * 10 % unit->digits);
  return rest == 0;
}

std::uint64_t count_code_points(std::string_view text) {
  return static_cast<std::uint64_t>(std::ranges::count(text, false, continues_character));
}

std::string shown(const json::value& value) {
  if (value.is_double()) return spelled(value.get_double());
  std::array<char, longest_shown> buffer{};
  json::serializer serializer;
  serializer.reset(&value);
  std::string text(serializer.read(buffer.data(), buffer.size()));
  if (serializer.done()) return text;
  while (!text.empty() && continues_character(text.back())) text.pop_back();
  if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80U) != 0) text.pop_back();
  return text + "…";
}

}  // namespace mcpivot::schema
