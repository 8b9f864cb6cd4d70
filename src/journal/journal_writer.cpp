#include "journal/journal_writer.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/no_signals.h"

namespace mcpivot {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using Trouble = SqliteError::Trouble;

// What is written at once, so that neither memory nor a transaction grows without bound.
constexpr std::size_t most_messages = 20'000;
constexpr std::size_t most_bytes = 8UL * 1024 * 1024;
constexpr std::chrono::hours cleaning_pace{1};
constexpr int most_parts = 1000;                     // of a day
constexpr std::chrono::milliseconds last_retry{50};  // when there is little time left

std::int64_t micros(auto time) {
  return duration_cast<microseconds>(time.time_since_epoch()).count();
}

std::string current_folder() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

}  // namespace

JournalWriter::JournalWriter(JournalSettings settings, Tell tell, CallBook::OnEnd on_end)
    : settings_(std::move(settings)),
      tell_(std::move(tell)),
      session_(new_session(settings_.folder)),
      started_(micros(settings_.date())),
      queue_(settings_.queue_bytes),
      own_limits_(settings_.limits),
      book_(settings_.redactor, std::move(on_end)) {
  for (const auto& [client, name] : settings_.clients) book_.know(client, name);
}

std::expected<void, std::string> JournalWriter::start() {
  try {
    const NoSignals signals_are_for_the_loop;
    thread_ = std::thread([self = shared_from_this()] { self->work(); });
    return {};
  } catch (const std::system_error& error) {
    return std::unexpected(fmt::format("its thread can't be started: {}", error.code().message()));
  }
}

// --- the loop's side -------------------------------------------------------------------------------------

void JournalWriter::wake() {
  queue_.wake();  // the next message needn't do this again
  {
    const Lock lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

void JournalWriter::set_redactor(Redactor redactor) {
  const Lock lock(mutex_);
  redactor_ = std::move(redactor);
  is_news_.store(true, std::memory_order_release);
}

void JournalWriter::set_limits(const JournalLimits& limits) {
  const Lock lock(mutex_);
  limits_ = limits;
  is_news_.store(true, std::memory_order_release);
}

void JournalWriter::close_soon(std::chrono::milliseconds longest) {
  const Lock lock(mutex_);
  missing_ += queue_.take_missing();
  if (!std::exchange(closing_, true)) deadline_ = Clock::now() + longest;
  wake_.notify_one();
}

bool JournalWriter::close(std::chrono::milliseconds longest) {
  if (thread_.joinable()) close_soon(longest);
  Lock lock(mutex_);
  if (!thread_.joinable()) return complete_;
  const bool over = ended_.wait_until(lock, Clock::now() + longest, [this] { return over_; });
  const bool complete = over && complete_;
  lock.unlock();
  if (over)
    thread_.join();
  else
    thread_.detach();
  return complete;
}

// --- the thread's side -----------------------------------------------------------------------------------

void JournalWriter::work() {
  ::pthread_setname_np(::pthread_self(), "journal");  // for tools that list threads, such as the benchmark
  while (rest()) {
    try {
      take_some();
    } catch (const std::exception& error) {  // no memory, say
      say(fmt::format("the journal has lost messages: {}", error.what()));
      queue_.drop();
      book_.lost(1, micros(settings_.date()));
    }
  }
  end_with_gap();
  file_.reset();
  const Lock lock(mutex_);
  over_ = true;
  ended_.notify_all();
}

// The last messages that were missed; the queue had no room for their gap.
void JournalWriter::end_with_gap() {
  std::uint64_t missing = 0;
  {
    const Lock lock(mutex_);
    missing = std::exchange(missing_, 0);
  }
  if (missing == 0) return;
  book_.lost(missing, micros(settings_.date()));
  write(book_.rows());
}

// Sleeps while there is nothing to write, and then a moment longer, so that bursts are written together.
bool JournalWriter::rest() {
  Lock lock(mutex_);
  const auto called = [this] { return woken_ || closing_; };
  // What is put while it falls asleep may be seen by nobody, so it looks again before it sleeps for good.
  for (bool looked_again = false; !closing_ && queue_.sleep();) {
    if (looked_again)
      wake_.wait(lock, called);
    else
      looked_again = !wake_.wait_for(lock, settings_.pause, called);
    if (std::exchange(woken_, false)) looked_again = false;
  }
  if (!closing_) wake_.wait_for(lock, settings_.pause, [this] { return closing_; });
  if (!closing_) return true;
  if (queue_.bytes() > 0 && Clock::now() < deadline_) return true;
  if (queue_.bytes() > 0) complete_ = false;
  return false;
}

void JournalWriter::take_some() {
  const std::int64_t offset = micros(settings_.date()) - micros(steady_clock::now());
  std::size_t messages = 0;
  std::size_t bytes = 0;
  while (messages < most_messages && bytes < most_bytes) {
    const auto entry = queue_.next();
    if (!entry) break;
    learn_news();
    book_.take(*entry, offset);
    ++messages;
    bytes += JournalEntry::size_of(entry->head);
  }
  queue_.drop();
  write(book_.rows());
}

// Before each message: a new configuration's secrets may be in the next one.
void JournalWriter::learn_news() {
  if (!is_news_.load(std::memory_order_acquire)) return;
  const Lock lock(mutex_);
  is_news_.store(false, std::memory_order_relaxed);
  if (redactor_) book_.set_redactor(*std::exchange(redactor_, std::nullopt));
  if (!limits_ || *limits_ == own_limits_) return;
  own_limits_ = *limits_;
  last_cleaning_.reset();
}

// If our own file is damaged or gone, it is left alone and another one is started. Other errors may be
// temporary.
void JournalWriter::write(JournalRows rows) {
  if (rows.empty()) return;
  while (true) {
    auto written = write_once(rows);
    if (written) {
      if (!std::exchange(trouble_, {}).empty())
        say(fmt::format("the journal works again: {}", file_->path()));
      return;
    }
    const bool damaged = written.error().trouble == Trouble::damaged;
    if (trouble_.empty())
      say(fmt::format(
          "the journal: {}{}", written.error().words,
          damaged ? "; mcpivot starts a new file" : "; mcpivot keeps trying, and messages still pass"));
    const bool first = std::exchange(trouble_, written.error().words).empty();
    if (damaged) {
      leave_file();
      if (first) continue;
    }
    if (!wait_to_retry()) break;
  }
  book_.lost(rows.messages.size(), micros(settings_.date()));
  const Lock lock(mutex_);
  complete_ = false;
}

SqliteResult<void> JournalWriter::write_once(const JournalRows& rows) {
  const std::string day = day_of(settings_.date());
  if (file_ && (day != name_.day || !file_->in_place() || file_->bytes() > own_limits_.bytes / 4))
    leave_file();
  if (!file_) {
    name_.part = name_.day == day ? name_.part + 1 : 1;
    name_.day = day;
    name_.session = session_;
    if (auto opened = open_file(); !opened) {
      --name_.part;
      return opened;
    }
  }
  auto written = file_->write(rows);
  if (written && (!last_cleaning_ || Clock::now() - *last_cleaning_ > cleaning_pace)) {
    last_cleaning_ = Clock::now();
    delete_old_journals(settings_.folder, own_limits_, file_->path(), settings_.date());
  }
  return written;
}

// The calls that are open belong into every file, the next one as well.
void JournalWriter::leave_file() {
  file_.reset();
  book_.write_open_again();
  last_cleaning_.reset();
}

SqliteResult<void> JournalWriter::open_file() {
  const JournalRun run{.session = session_,
                       .name = settings_.name,
                       .folder = current_folder(),
                       .version = MCPIVOT_VERSION,
                       .pid = ::getpid(),
                       .started = started_};
  for (; name_.part <= most_parts; ++name_.part) {
    const std::string path = settings_.folder + "/" + name_.file();
    if (::access(path.c_str(), F_OK) == 0) continue;  // not ours to write into
    auto created = JournalFile::create(path, run);
    if (!created) return std::unexpected(std::move(created.error()));
    file_ = std::move(*created);
    return {};
  }
  return std::unexpected(
      SqliteError{Trouble::passing, fmt::format("{} has too many journals of this day", settings_.folder)});
}

// False: there is no more time.
bool JournalWriter::wait_to_retry() {
  Lock lock(mutex_);
  if (closing_ && Clock::now() >= deadline_) return false;
  if (closing_)
    wake_.wait_for(lock, last_retry);
  else
    wake_.wait_for(lock, settings_.retry, [this] { return closing_; });
  return true;
}

// Under the lock, so that nothing is reported once close() has begun: the loop may be gone then.
void JournalWriter::say(const std::string& words) {
  const Lock lock(mutex_);
  if (!closing_) tell_(words);
}

}  // namespace mcpivot
