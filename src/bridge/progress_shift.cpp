#include "bridge/progress_shift.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

// Without an exponent.
std::string_view plain(double value, std::array<char, 512>& text) {
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
  return {text.data(), static_cast<std::size_t>(end - text.data())};
}

}  // namespace

bool ProgressShift::lift(const Message& progress, Edits& edits) {
  const std::string_view params = progress.text(progress.params);
  const std::string_view spelled = find_member(params, "progress");
  const auto value = number(spelled);
  const bool later = begins_ || base_ != 0;
  if (!value) return !later;
  if (begins_) {
    // A server that keeps counting up needs no help.
    base_ = *value > highest_ ? 0 : *value > 0 ? highest_ : highest_ - *value + 1;
    begins_ = false;
  }
  const double lifted = base_ + *value;
  if (!std::isfinite(lifted)) return false;
  highest_ = reported_ ? std::max(highest_, lifted) : lifted;
  reported_ = true;
  if (base_ == 0) return true;
  std::array<char, 512> text;
  edits.replace(span_of(progress.raw, spelled), edits.keep(plain(lifted, text)));
  const std::string_view total = find_member(params, "total");
  if (const auto of = number(total); of && std::isfinite(base_ + *of))
    edits.replace(span_of(progress.raw, total), edits.keep(plain(base_ + *of, text)));
  return true;
}

}  // namespace mcpivot
