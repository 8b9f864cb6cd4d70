#include "bridge/upstream_listen.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

constexpr std::string_view prefix = "listen-";

// The number of uses to wait for doubles this many times at most.
constexpr unsigned most_doublings = 6;

// The delay for listens that are reopened without a use; one that lasted longer than this isn't a failure.
constexpr std::chrono::milliseconds first_pause{1'000};
constexpr std::chrono::milliseconds longest_pause{30'000};

}  // namespace

void UpstreamListen::want_lists(std::string_view discover_result, std::string_view meta) {
  ListenFilter wanted = announced_lists(find_member(discover_result, "capabilities"));
  wanted.uris = wanted_.uris;
  want(std::move(wanted), meta);
}

void UpstreamListen::want(ListenFilter wanted, std::string_view meta) {
  meta_ = meta;
  if (wanted == wanted_) return;
  wanted_ = std::move(wanted);
  changed_ = true;
  settle();
}

void UpstreamListen::give_up(std::string_view uri) {
  if (const auto found = wanted_.uris.find(uri); found != wanted_.uris.end()) wanted_.uris.erase(found);
}

void UpstreamListen::settle() {
  if (opening_ || !supported_) return;
  if (wanted_.empty()) {
    changed_ = false;
    wait_ = 0;
    if (held_) cancel(*std::exchange(held_, std::nullopt), "no client is subscribed any more");
  } else if (changed_) {
    open();
  }
}

void UpstreamListen::open() {
  changed_ = false;
  wait_ = 0;
  opening_ = Stream{++last_number_, wanted_};
  owner_.send_listen(
      request_line(id_of(last_number_), "subscriptions/listen",
                   fmt::format(R"({{"_meta":{{{}}},"notifications":{}}})", meta_, text_of(wanted_))));
}

void UpstreamListen::cancel(const Stream& stream, std::string_view why) {
  owner_.send_listen(cancellation(id_of(stream.number), why));
}

// One step closer to the next attempt.
void UpstreamListen::approach() {
  if (--wait_ == 0 && !opening_ && !is_current() && !wanted_.empty() && supported_) open();
}

void UpstreamListen::fall_back(bool refused) {
  if (is_current() || !supported_) return;
  const unsigned doublings = std::min(failures_++, most_doublings);
  wait_ = 1U << doublings;
  refused_ = refused;
  if (!refused) owner_.wake_listen(std::min(first_pause * (1U << doublings), longest_pause));
}

void UpstreamListen::wake() {
  if (held_ && wait_ == 0) {
    failures_ = 0;
  } else if (wait_ > 0 && !refused_) {
    wait_ = 1;
    approach();
  }
}

void UpstreamListen::expire() {
  use();
}

UpstreamListen::Verdict UpstreamListen::from_server(const Message& message) {
  if (message.is_answer()) {
    const std::uint64_t number = number_of(message.text(message.id));
    if (number == 0) return Verdict::foreign;
    if (message.kind == Kind::result) {
      on_ended(number, code::internal_error, "the server ended the subscription");
    } else {
      const std::string_view error = message.text(message.error);
      const std::string_view spelled = find_member(error, "code");
      int number_of_error = code::internal_error;
      std::from_chars(spelled.data(), spelled.data() + spelled.size(), number_of_error);
      on_ended(number, number_of_error, string_value(find_member(error, "message")), true);
    }
    return Verdict::done;
  }
  if (message.known == Method::acknowledged) return on_acknowledged(message);
  if (message.known == Method::cancelled) {
    const std::uint64_t number = number_of(message.text(message.request_id));
    if (number == 0) return Verdict::foreign;
    on_ended(number, code::internal_error, "the server cancelled the subscription");
    return Verdict::done;
  }
  return message.subscription ? judge(message) : Verdict::foreign;
}

UpstreamListen::Verdict UpstreamListen::judge(const Message& message) const {
  const std::uint64_t number = number_of(message.text(message.subscription));
  if (number == 0) return Verdict::foreign;
  // Before it is acknowledged, a listen reports nothing that the old one doesn't report too.
  const bool known = held_ ? held_->number == number : opening_.has_value() && opening_->number == number;
  if (!known) return Verdict::done;
  // Drop a resource that is no longer wanted, while the listen without it isn't open yet. Other URIs may be
  // parts of what was subscribed to.
  if (message.known == Method::resource_updated) {
    const std::string uri = string_value(message.text(message.uri));
    const ListenFilter& reported = held_ ? held_->honoured : opening_->asked;
    if (reported.uris.contains(uri) && !wanted_.uris.contains(uri)) return Verdict::done;
  }
  return Verdict::pass;
}

UpstreamListen::Verdict UpstreamListen::on_acknowledged(const Message& message) {
  const std::uint64_t number = number_of(message.text(message.subscription));
  if (number == 0) return Verdict::foreign;
  if (!opening_ || opening_->number != number) return Verdict::done;
  const ListenFilter asked = opening_->asked;
  const ListenFilter honoured = listen_filter_of(find_member(message.text(message.params), "notifications"));
  opening_.reset();
  const auto old = std::exchange(held_, Stream{number, asked, honoured});
  if (old) cancel(*old, "replaced by another subscription");
  if (failures_ > 0) owner_.wake_listen(longest_pause);
  settle();
  owner_.on_listening(asked, honoured, std::exchange(gap_, false));
  return Verdict::done;
}

void UpstreamListen::on_ended(std::uint64_t number, int code, std::string_view why, bool refused) {
  if (opening_ && opening_->number == number) {
    const ListenFilter asked = std::move(opening_->asked);
    opening_.reset();
    changed_ = false;
    if (code == code::method_not_found) supported_ = false;
    fall_back(refused);
    owner_.on_refused(asked, refused, code, why);
    // Others may have wanted more in the meantime, and the owner less.
    changed_ = !opening_ && wanted_ != asked && !is_current();
    settle();
  } else if (held_ && held_->number == number) {
    held_.reset();
    gap_ = true;
    if (!opening_) fall_back(false);
  }
}

bool UpstreamListen::lost(std::string_view id) {
  const std::uint64_t number = number_of(id);
  if (number != 0) on_ended(number, code::connection_closed, "the connection was lost");
  return number != 0;
}

std::uint64_t UpstreamListen::number_of(std::string_view id) const {
  if (base_ > 0) {
    const std::int64_t own = own_id(id);
    return own > static_cast<std::int64_t>(base_) ? static_cast<std::uint64_t>(own) - base_ : 0;
  }
  const std::string value = string_value(id);
  if (!value.starts_with(prefix)) return 0;
  std::uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data() + prefix.size(), end, number);
  return error == std::errc() && rest == end ? number : 0;
}

std::string UpstreamListen::id_of(std::uint64_t number) const {
  return base_ > 0 ? std::to_string(base_ + number) : fmt::format(R"("{}{}")", prefix, number);
}

}  // namespace mcpivot
