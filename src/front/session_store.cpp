#include "front/session_store.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/contains.h"
#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {

using std::chrono::sys_seconds;

SessionStore::SessionStore(boost::asio::io_context& loop, std::string path, const Limits& limits)
    : loop_(loop), path_(std::move(path)), limits_(limits), self_(std::make_shared<SessionStore*>(this)) {
  const SessionWorker::Limits of_worker{.waiting = limits.waiting,
                                        .waiting_bytes = limits.waiting_bytes,
                                        .revocations = limits.revocations,
                                        .retry = limits.retry};
  worker_ = std::make_shared<SessionWorker>(
      path_, of_worker, [&loop, weak = std::weak_ptr(self_)](SessionWorker::Answer answer) {
        boost::asio::post(
            loop, [weak, answer = std::move(answer)]() mutable { hand_over(weak, std::move(answer)); });
      });
}

SessionStore::~SessionStore() {
  close(std::chrono::seconds{1});
}

std::expected<void, std::string> SessionStore::open(sys_seconds now) {
  auto opened = SessionDb::open(path_);
  std::expected<std::vector<Revocation>, SessionDb::Error> revoked;
  if (opened) revoked = opened->revocations(now, limits_.revocations);
  if (!opened || !revoked) {
    set_trouble(opened ? revoked.error().words : opened.error().words);
    worker_->start(std::nullopt, trouble_);
    return std::unexpected(trouble_);
  }
  if (!opened->note().empty()) log_warn("sessions: {}", opened->note());
  for (const Revocation& one : *revoked) remember(one);
  worker_->start(std::move(*opened), "");
  tidy(now);
  return {};
}

void SessionStore::put(SessionRecord record, Done done) {
  if (record.hello.size() > limits_.text || revoked(record.uid)) return refuse(std::move(done));
  if (record.state.size() > limits_.text) {
    log_debug("sessions: a state of {} bytes isn't saved: the limit is {}", record.state.size(),
              limits_.text);
    record.state.clear();
  }
  worker_->put(std::move(record), expect(std::move(done), {}));
}

void SessionStore::get(const std::string& uid, Got got) {
  worker_->get(uid, expect({}, std::move(got)));
}

void SessionStore::list(const std::string& begin, sys_seconds now, std::size_t most, Listed listed) {
  worker_->list(begin, now, most, expect({}, {}, std::move(listed)));
}

void SessionStore::revoke(const std::string& uid, sys_seconds until, Done done) {
  const Revocation revocation{uid, until};
  remember(revocation);
  worker_->revoke({revocation}, expect(std::move(done), {}));
}

void SessionStore::tidy(sys_seconds now) {
  std::erase_if(revoked_, [&](const auto& one) { return one.second <= now; });
  worker_->tidy(now);
}

bool SessionStore::close(std::chrono::milliseconds longest) {
  self_.reset();
  due_.clear();
  return worker_->close(longest);
}

// The number for its answer; 0: no caller waits for one, or the store is closed.
std::uint64_t SessionStore::expect(Done done, Got got, Listed listed) {
  if ((!done && !got && !listed) || !self_) return 0;
  due_.emplace(++last_number_,
               Due{std::move(done), std::move(got), std::move(listed), boost::asio::make_work_guard(loop_)});
  return last_number_;
}

// Without the worker, but through the same path.
void SessionStore::refuse(Done done) {
  if (!done) return;
  SessionWorker::Answer answer{.numbers = {expect(std::move(done), {})}};
  boost::asio::post(loop_, [weak = std::weak_ptr(self_), answer = std::move(answer)]() mutable {
    hand_over(weak, std::move(answer));
  });
}

// Passes it to the store, if that still exists. The store isn't kept alive for this: a callback may destroy
// it.
void SessionStore::hand_over(const std::weak_ptr<SessionStore*>& to, SessionWorker::Answer answer) {
  SessionStore* store = nullptr;
  if (const auto self = to.lock()) store = *self;
  if (store != nullptr) store->receive(std::move(answer));
}

void SessionStore::receive(SessionWorker::Answer answer) {
  if (answer.trouble) set_trouble(*answer.trouble);
  if (!answer.note.empty()) log_warn("sessions: {}", answer.note);
  for (const Revocation& one : answer.revoked) remember(one);
  if (answer.began_anew && !revoked_.empty()) {
    std::vector<Revocation> all;
    for (const auto& [uid, until] : revoked_) all.push_back({uid, until});
    worker_->revoke(std::move(all), 0);
  }
  const std::weak_ptr alive(self_);
  for (const std::uint64_t number : answer.numbers) {
    auto due = due_.extract(number);
    if (due.empty()) continue;
    survive("sessions", [&] {
      if (due.mapped().done) due.mapped().done(answer.good);
      if (due.mapped().got) due.mapped().got(std::move(answer.record));
      if (due.mapped().listed) due.mapped().listed(std::move(answer.listed));
    });
    if (alive.expired()) return;  // the callback closed or destroyed us
  }
}

void SessionStore::remember(const Revocation& revocation) {
  sys_seconds& until = revoked_[revocation.uid];
  until = std::max(until, revocation.until);
  if (revoked_.size() <= limits_.revocations) return;
  // Drops a tenth of them, the ones that expire first: they are still on disk, if there is one.
  std::vector<sys_seconds> ends;
  for (const auto& [uid, end] : revoked_) ends.push_back(end);
  const auto tenth = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 10);
  std::ranges::nth_element(ends, tenth);
  std::size_t surplus = ends.size() / 10 + 1;
  std::erase_if(revoked_, [&](const auto& one) {
    return one.second <= *tenth && one.first != revocation.uid && surplus > 0 && surplus-- > 0;
  });
}

// Each problem is logged as a warning once; its end, or recurrence, at a lower level.
void SessionStore::set_trouble(const std::string& words) {
  if (words.empty() && !trouble_.empty()) log_info("sessions: {} can be written again", path_);
  trouble_ = words;
  if (words.empty()) return;
  if (contains(told_, words)) {
    log_debug("sessions: {}", words);
    return;
  }
  log_warn("sessions: {}; the sessions' settings are not saved", words);
  if (told_.size() < 100) told_.push_back(words);
}

}  // namespace mcpivot
