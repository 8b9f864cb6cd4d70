#include "front/session_worker.h"

#include <fmt/format.h>

#include <exception>
#include <set>
#include <utility>

#include "base/no_signals.h"

namespace mcpivot {

using std::chrono::sys_seconds;

SessionWorker::SessionWorker(std::string path, const Limits& limits, Tell tell)
    : path_(std::move(path)), limits_(limits), tell_(std::move(tell)) {}

void SessionWorker::start(std::optional<SessionDb> db, std::string trouble) {
  db_ = std::move(db);
  trouble_ = std::move(trouble);
  write_failed_ = !db_;
  again_ = Clock::now() + limits_.retry;
  const NoSignals signals_are_for_the_loop;
  thread_ = std::thread([self = shared_from_this()] { self->work(); });
}

std::size_t SessionWorker::Waiting::size() const {
  return sizeof(Waiting) + record.uid.size() + record.principal.size() + record.profile.size() +
         record.hello.size() + record.state.size();
}

// --- the loop's side -------------------------------------------------------------------------------------

void SessionWorker::put(SessionRecord record, std::uint64_t number) {
  const Lock lock(mutex_);
  const std::string uid = record.uid;
  Waiting waiting{std::move(record), {}};
  const auto old = records_.find(uid);
  const bool is_new = old == records_.end();
  const std::size_t bytes = bytes_ - (is_new ? 0 : old->second.size()) + waiting.size();
  if (bytes > limits_.waiting_bytes || (is_new && records_.size() >= limits_.waiting)) {
    // An older waiting record stays: better than none.
    if (trouble_.empty())
      set_trouble(
          fmt::format("{} can't be written as fast as sessions change, so some changes are lost", path_));
    return refuse(number);
  }
  bytes_ = bytes;
  if (is_new)
    order_.push_back(uid);
  else
    waiting.numbers = std::move(old->second.numbers);
  const bool pauses = write_failed_ && Clock::now() < again_;
  if (number != 0 && !pauses) waiting.numbers.push_back(number);
  records_.insert_or_assign(uid, std::move(waiting));
  if (pauses) return refuse(number);
  wake_.notify_one();
}

void SessionWorker::get(std::string uid, std::uint64_t number) {
  const Lock lock(mutex_);
  if (questions_.size() >= limits_.waiting) return refuse(number);
  questions_.push_back({std::move(uid), number});
  wake_.notify_one();
}

void SessionWorker::list(std::string begin, sys_seconds now, std::size_t most, std::uint64_t number) {
  const Lock lock(mutex_);
  if (questions_.size() >= limits_.waiting) return refuse(number);
  questions_.push_back({std::move(begin), number, most, now});
  wake_.notify_one();
}

void SessionWorker::revoke(std::vector<Revocation> revocations, std::uint64_t number) {
  const Lock lock(mutex_);
  for (const Revocation& one : revocations) {
    const auto waiting = records_.find(one.uid);
    if (waiting == records_.end()) continue;
    std::erase(order_, one.uid);
    tell({.numbers = take(waiting).numbers});
  }
  if (endings_.size() >= limits_.waiting) return refuse(number);
  endings_.push_back({std::move(revocations), {}});
  if (write_failed_ && Clock::now() < again_) return refuse(number);
  if (number != 0) endings_.back().numbers.push_back(number);
  wake_.notify_one();
}

void SessionWorker::tidy(sys_seconds now) {
  const Lock lock(mutex_);
  tidy_ = now;
  wake_.notify_one();
}

bool SessionWorker::close(std::chrono::milliseconds longest) {
  Lock lock(mutex_);
  closing_ = true;  // nothing is reported from here on: the loop may be gone
  deadline_ = Clock::now() + longest;
  wake_.notify_one();
  if (!thread_.joinable()) return complete_;
  const bool over = ended_.wait_until(lock, deadline_, [this] { return over_; });
  const bool complete = over && complete_;
  lock.unlock();
  if (over)
    thread_.join();
  else
    thread_.detach();
  return complete;
}

// --- the thread's side -----------------------------------------------------------------------------------

void SessionWorker::work() {
  Lock lock(mutex_);
  while (true) {
    const bool writes = something_to_write();
    if (closing_ && (!writes || Clock::now() >= deadline_)) break;
    const bool pauses = write_failed_ && !closing_ && Clock::now() < again_;
    if (questions_.empty() && (!writes || pauses)) {
      if (writes)
        wake_.wait_until(lock, again_);
      else
        wake_.wait(lock);
      continue;
    }
    try {
      do_one(lock);
    } catch (const std::exception& error) {  // no memory, say
      if (!lock.owns_lock()) lock.lock();
      failed(fmt::format("{} can't be used: {}", path_, error.what()));
      tell({.numbers = std::exchange(in_hand_, {})});
      complete_ = false;
    }
  }
  if (something_to_write()) complete_ = false;
  lock.unlock();
  db_.reset();
  lock.lock();
  over_ = true;
  ended_.notify_all();
}

bool SessionWorker::something_to_write() const {
  return !endings_.empty() || !order_.empty() || (tidy_ && !closing_);
}

// The next thing to do: queries first, because callers wait for the answers; then what ends sessions.
void SessionWorker::do_one(Lock& lock) {
  if (!questions_.empty() && !closing_) {
    Question question = std::move(questions_.front());
    questions_.pop_front();
    in_hand_ = {question.number};
    return answer(std::move(question), lock);
  }
  if (write_failed_ && !closing_ && Clock::now() < again_) return;
  if (!endings_.empty()) {
    Ending ending = std::move(endings_.front());
    endings_.pop_front();
    in_hand_ = ending.numbers;
    return end(std::move(ending), lock);
  }
  if (!order_.empty()) {
    const std::string uid = std::move(order_.front());
    order_.pop_front();
    Waiting waiting = take(records_.find(uid));
    in_hand_ = waiting.numbers;
    return write(std::move(waiting), lock);
  }
  if (tidy_) tidy_up(*std::exchange(tidy_, std::nullopt), lock);
}

// Includes records that are waiting to be written.
void SessionWorker::answer_list(const Question& question, Lock& lock) {
  Answer answer{.numbers = {question.number}};
  const bool hopeless = !db_ && write_failed_;
  lock.unlock();
  std::expected<SessionDb::Listed, SessionDb::Error> listed;
  if (!hopeless) listed = attempt([&] { return db_->list(question.uid, question.now, question.most); });
  lock.lock();
  if (!listed)
    set_trouble(listed.error().words);
  else
    answer.listed = std::move(*listed);
  std::set<std::string> on_disk;
  for (const SessionRecord& record : answer.listed.records) on_disk.insert(record.uid);
  for (const auto& [uid, waiting] : records_) {
    if (!uid.starts_with(question.uid) || on_disk.contains(uid)) continue;
    answer.listed.records.push_back(waiting.record);
    answer.listed.records.back().state.clear();
    ++answer.listed.all;
  }
  tell(std::move(answer));
}

void SessionWorker::answer(Question question, Lock& lock) {
  if (question.most > 0) return answer_list(question, lock);
  Answer answer{.numbers = {question.number}};
  if (const auto waiting = records_.find(question.uid); waiting != records_.end())
    answer.record = waiting->second.record;
  const bool hopeless = !db_ && write_failed_;
  lock.unlock();
  std::expected<SessionDb::Found, SessionDb::Error> found;
  if (!hopeless) found = attempt([&] { return db_->get(question.uid); });
  lock.lock();
  if (!found) {
    set_trouble(found.error().words);
  } else if (!hopeless) {
    if (!write_failed_) set_trouble("");
    if (!answer.record) answer.record = std::move(found->record);
    if (found->revoked) {
      answer.record.reset();
      answer.revoked.push_back(*found->revoked);
    }
  }
  tell(std::move(answer));
}

void SessionWorker::write(Waiting waiting, Lock& lock) {
  lock.unlock();
  const auto written = attempt([&] { return db_->put(waiting.record); });
  lock.lock();
  written ? worked() : failed(written.error().words);
  tell({.numbers = std::exchange(waiting.numbers, {}), .good = written.has_value()});
  if (written || records_.contains(waiting.record.uid)) return;
  if (!may_try_again(written.error())) return;
  bytes_ += waiting.size();
  order_.push_front(waiting.record.uid);
  records_.emplace(order_.front(), std::move(waiting));
}

void SessionWorker::end(Ending ending, Lock& lock) {
  lock.unlock();
  const auto written = attempt([&] { return db_->revoke(ending.revocations); });
  lock.lock();
  written ? worked() : failed(written.error().words);
  tell({.numbers = std::exchange(ending.numbers, {}), .good = written.has_value()});
  if (!written && may_try_again(written.error())) endings_.push_front(std::move(ending));
}

// While closing, there is time to wait for another process's lock, but not for disk space.
bool SessionWorker::may_try_again(const SessionDb::Error& error) {
  if (!closing_ || error.trouble == SessionDb::Trouble::locked) return true;
  complete_ = false;
  return false;
}

void SessionWorker::tidy_up(sys_seconds now, Lock& lock) {
  lock.unlock();
  auto tidied = attempt([&]() -> std::expected<void, SessionDb::Error> {
    if (!db_->in_place())
      return std::unexpected(SessionDb::Error{SessionDb::Trouble::moved, path_ + " was moved away"});
    return db_->forget_expired(now);
  });
  std::expected<std::vector<Revocation>, SessionDb::Error> revoked;
  if (tidied) revoked = attempt([&] { return db_->revocations(now, limits_.revocations); });
  if (!revoked) tidied = std::unexpected(revoked.error());
  lock.lock();
  if (!tidied) return failed(tidied.error().words);
  worked();
  tell({.revoked = std::move(*revoked)});
}

SessionWorker::Waiting SessionWorker::take(std::unordered_map<std::string, Waiting>::iterator record) {
  bytes_ -= record->second.size();
  Waiting taken = std::move(record->second);
  records_.erase(record);
  return taken;
}

// All waiting callers get the error now, rather than wait for the next attempt.
void SessionWorker::failed(const std::string& words) {
  write_failed_ = true;
  again_ = Clock::now() + limits_.retry;
  set_trouble(words);
  for (auto& [uid, waiting] : records_) tell({.numbers = std::exchange(waiting.numbers, {})});
  for (Ending& ending : endings_) tell({.numbers = std::exchange(ending.numbers, {})});
}

void SessionWorker::worked() {
  write_failed_ = false;
  set_trouble("");
}

void SessionWorker::set_trouble(const std::string& words) {
  if (trouble_ == words) return;
  trouble_ = words;
  tell({.trouble = words});
}

void SessionWorker::refuse(std::uint64_t number) {
  if (number != 0) tell({.numbers = {number}});
}

void SessionWorker::tell(Answer answer) {
  const bool empty =
      answer.numbers.empty() && answer.revoked.empty() && !answer.trouble && answer.note.empty();
  if (!closing_ && !empty) tell_(std::move(answer));
}

template <class Work>
auto SessionWorker::attempt(Work what) -> decltype(what()) {
  if (!db_)
    if (auto opened = open_new(SessionDb::open(path_), false); !opened)
      return std::unexpected(opened.error());
  auto done = what();
  if (done) return done;
  const SessionDb::Trouble trouble = done.error().trouble;
  if (trouble != SessionDb::Trouble::damaged && trouble != SessionDb::Trouble::moved) return done;
  // A disk that damages each new file isn't used for a while.
  if (last_new_ && Clock::now() - *last_new_ < limits_.retry) return done;
  last_new_ = Clock::now();
  SessionDb old = std::move(*db_);
  db_.reset();
  auto opened =
      trouble == SessionDb::Trouble::damaged ? SessionDb::replaced(std::move(old)) : SessionDb::open(path_);
  if (const auto good = open_new(std::move(opened), true); !good) return std::unexpected(good.error());
  return what();
}

std::expected<void, SessionDb::Error> SessionWorker::open_new(
    std::expected<SessionDb, SessionDb::Error> opened, bool began_anew) {
  if (!opened) return std::unexpected(opened.error());
  db_ = std::move(*opened);
  Answer news{.note = db_->note(), .began_anew = began_anew || !db_->note().empty()};
  if (news.note.empty() && began_anew) news.note = path_ + " was moved away; mcpivot started a new one";
  if (auto revoked = db_->revocations(sys_seconds::min(), limits_.revocations))
    news.revoked = std::move(*revoked);
  const Lock lock(mutex_);
  tell(std::move(news));
  return {};
}

}  // namespace mcpivot
