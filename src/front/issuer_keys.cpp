#include "front/issuer_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/utf8.h"
#include "log/log.h"
#include "oauth/metadata.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_metadata = 256 * 1024;

}  // namespace

IssuerKeys::IssuerKeys(Timers& timers, std::string issuer, Get get, Pace pace)
    : timers_(timers), issuer_(std::move(issuer)), get_(std::move(get)), pace_(pace), patience_(timers) {}

void IssuerKeys::forget_if_too_old() {
  if (!keys_ || timers_.now() - fetched_ < pace_.kept) return;
  log_warn("oauth: the keys of {} are too old to use", issuer_);
  keys_.reset();
  ++edition_;
}

bool IssuerKeys::still_hold() {
  forget_if_too_old();
  const auto age = timers_.now() - fetched_;
  // Once a fetch has failed, no other request waits for the next: the current keys stay in use until a fetch
  // succeeds.
  return keys_ && !(age >= pace_.fresh && begin() && age >= pace_.stale && failures_ == 0);
}

IssuerKeys::Finding IssuerKeys::verify(const Jwt& token) {
  if (!still_hold()) return begin() ? Finding::keys_come : Finding::no_keys;
  switch (keys_->verify(token)) {
    case KeySet::Finding::genuine:
      return Finding::genuine;
    case KeySet::Finding::forged:
      return Finding::forged;
    case KeySet::Finding::unknown_key:
      break;
  }
  if (begin()) return Finding::keys_come;
  return failures_ > 0 ? Finding::no_keys : Finding::forged;
}

std::chrono::seconds IssuerKeys::retry_after() const {
  const auto wait = std::chrono::ceil<std::chrono::seconds>(next_ - timers_.now());
  return std::max(wait, std::chrono::seconds(1));
}

bool IssuerKeys::begin() {
  if (fetching_) return true;
  if (timers_.now() < next_) return false;
  fetching_ = true;
  ++attempt_;
  patience_.set(pace_.patience, [this] { fail("it doesn't answer in time"); });
  if (keys_url_.empty()) {
    look_for_metadata(0, {});
  } else {
    get_keys();
  }
  return fetching_;
}

void IssuerKeys::get(const std::string& place, Got then) {
  const auto url = parse_url(place);
  if (!url) return fail(url.error());
  get_(*url, [this, attempt = attempt_, then = std::move(then)](std::expected<Document, std::string> got) {
    if (fetching_ && attempt == attempt_) then(std::move(got));
  });
}

// Issuers answer all kinds of things where they have no metadata: a page, a redirect, an error.
void IssuerKeys::look_for_metadata(std::size_t place, const std::string& so_far) {
  const auto issuer = parse_url(issuer_);
  const auto places = issuer ? issuer_metadata_places(*issuer) : std::vector<std::string>();
  if (place >= places.size())
    return fail(so_far.empty() ? fmt::format("there is no metadata at {}", fmt::join(places, ", nor at "))
                               : so_far);
  get(places[place],
      [this, place, where = places[place], so_far](const std::expected<Document, std::string>& got) {
        std::string why;
        if (!got) {
          why = got.error();
        } else if (got->status != 200) {
          if (got->status != 404) why = fmt::format("{}: status {}", where, got->status);
        } else if (const auto metadata =
                       got->body.size() > longest_metadata ? std::nullopt : JsonObject::read(got->body)) {
          return use_metadata(where, *metadata);
        } else {
          why = fmt::format("{} isn't valid metadata", where);
        }
        look_for_metadata(place + 1, so_far.empty() ? why : so_far);
      });
}

void IssuerKeys::use_metadata(const std::string& where, const JsonObject& metadata) {
  const auto name = metadata.text("issuer");
  if (name != issuer_)
    return fail(
        fmt::format("{} is the metadata of another issuer, \"{}\"; --oauth-issuer must be exactly "
                    "the name that the issuer gives itself",
                    where, shown_text(name.value_or(""))));
  const auto keys = metadata.text("jwks_uri");
  const auto url = keys ? parse_url(*keys) : std::unexpected(std::string());
  if (!url) return fail(fmt::format("{} has no usable jwks_uri", where));
  if (!url->tls && issuer_.starts_with("https:"))
    return fail(fmt::format("{} has a jwks_uri that isn't https", where));
  keys_url_ = *keys;
  get_keys();
}

void IssuerKeys::get_keys() {
  get(keys_url_, [this](const std::expected<Document, std::string>& got) {
    if (!got) return fail(got.error());
    if (got->status != 200) return fail(fmt::format("{}: status {}", keys_url_, got->status));
    auto keys = KeySet::read(got->body);
    if (!keys) return fail(fmt::format("{}: {}", keys_url_, keys.error()));
    succeed(std::move(*keys), got->body);
  });
}

void IssuerKeys::succeed(KeySet keys, std::string text) {
  if (failures_ > 0) log_info("oauth: {} can be reached again", issuer_);
  if (!keys_ || text != text_) {
    log_info("oauth: {} has {} for access tokens", issuer_, counted(keys.size(), "key"));
    ++edition_;
  }
  keys_ = std::move(keys);
  text_ = std::move(text);
  fetched_ = timers_.now();
  failures_ = 0;
  trouble_.clear();
  next_ = fetched_ + pace_.between;
  end();
}

void IssuerKeys::fail(const std::string& why) {
  const std::string shown = shown_text(why, 300);
  if (shown != trouble_)
    log_warn("oauth: the keys of {} can't be fetched: {}{}", issuer_, shown,
             keys_ ? "; mcpivot keeps using the keys it has" : "");
  trouble_ = shown;
  keys_url_.clear();  // it may have moved
  const unsigned doublings = std::min(failures_++, 16U);
  next_ = timers_.now() + std::min(pace_.first_pause * (1U << doublings), pace_.longest_pause);
  end();
}

void IssuerKeys::end() {
  patience_.cancel();
  fetching_ = false;
  if (ended_) ended_();
}

}  // namespace mcpivot
