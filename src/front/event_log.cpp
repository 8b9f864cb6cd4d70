#include "front/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "log/log.h"

namespace mcpivot {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

}  // namespace

std::string event_text(std::string_view id, std::string_view data) {
  std::string text;
  text.reserve(id.size() + data.size() + 20);
  if (!id.empty()) text.append("id: ").append(id).append("\n");
  // A message that came over HTTP may contain line breaks between its values.
  while (true) {
    const auto line_end = data.find_first_of("\r\n");
    text.append("data: ").append(data.substr(0, line_end)).append("\n");
    if (line_end == std::string_view::npos) break;
    data.remove_prefix(line_end + (data.substr(line_end).starts_with("\r\n") ? 2 : 1));
  }
  return text.append("\n");
}

void EventRoom::resized(EventLog& log, std::size_t before, std::size_t now) {
  if (before > 0) by_size_.erase({before, &log});
  if (now > 0) by_size_.emplace(now, &log);
  bytes_ = bytes_ - before + now;
  if (bytes_ > most_bytes_) return make_room();
  if (bytes_ < most_bytes_ / 2) told_ = false;
}

void EventRoom::make_room() {
  if (!std::exchange(told_, true))
    log_warn("the events kept for resuming take more than {} MB; the oldest are dropped",
             most_bytes_ / (1024 * 1024));
  while (bytes_ > most_bytes_ && !by_size_.empty()) {
    const auto largest = std::prev(by_size_.end());
    EventLog& log = *largest->second;
    bytes_ -= log.bytes_;
    by_size_.erase(largest);
    log.forget_oldest();
    bytes_ += log.bytes_;
    if (log.bytes_ > 0) by_size_.emplace(log.bytes_, &log);
  }
}

std::optional<EventLog::Place> EventLog::read_id(std::string_view id) const {
  Place place;
  const auto life = id.find('-');
  if (life == std::string_view::npos) return std::nullopt;
  place.ours = id.substr(0, life) == life_;
  id.remove_prefix(life + 1);
  const auto dash = id.find('-');
  if (dash == std::string_view::npos || !read_number(id.substr(0, dash), place.stream) ||
      !read_number(id.substr(dash + 1), place.number))
    return std::nullopt;
  return place;
}

std::string EventLog::id_of(std::uint32_t stream) {
  return fmt::format("{}-{}-{}", life_, stream, ++last_);
}

std::string EventLog::add(std::uint32_t stream, std::string_view data, bool sent) {
  std::string text = event_text(id_of(stream), data);
  const std::size_t before = bytes_;
  events_.push_back({{stream, last_}, text, sent});
  bytes_ += events_.back().bytes();
  while (events_.size() > 1 && (events_.size() > most_events || bytes_ > most_bytes)) forget_oldest();
  room_.resized(*this, before, bytes_);
  return text;
}

EventLog::~EventLog() {
  room_.resized(*this, bytes_, 0);
}

void EventLog::forget_oldest() {
  bytes_ -= events_.front().bytes();
  events_.pop_front();
}

std::string EventLog::prime(std::uint32_t stream) {
  return fmt::format("id: {}\nretry: {}\ndata: \n\n", id_of(stream), retry.count());
}

std::vector<std::string> EventLog::after(Place place) {
  std::vector<std::string> texts;
  for (Event& event : events_) {
    if (event.place.stream != place.stream || event.place.number <= place.number) continue;
    event.sent = true;
    texts.push_back(event.text);
  }
  return texts;
}

std::vector<std::string> EventLog::unsent(std::uint32_t stream) {
  std::vector<std::string> texts;
  for (Event& event : events_) {
    if (event.place.stream != stream || event.sent) continue;
    event.sent = true;
    texts.push_back(event.text);
  }
  return texts;
}

bool EventLog::has(std::uint32_t stream) const {
  return std::ranges::any_of(events_, [&](const Event& event) { return event.place.stream == stream; });
}

}  // namespace mcpivot
