#include "watch/replacement_watcher.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/stamp.h"
#include "watch/inotify.h"
#include "watch/path_trail.h"

namespace mcpivot {
namespace {

constexpr int most_looks = 10;  // at a file that nobody has closed
constexpr std::size_t slice = 256 * 1024;

struct Look {
  Stamp stamp;
  bool executable;
  bool linked;  // has more than one name, so it wasn't created under this one
};

std::optional<Look> look_at(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return Look{Stamp::from(info), (info.st_mode & 0111U) != 0, info.st_nlink > 1};
}

template <class Header>
bool holds_its_sections(const std::vector<char>& bytes, std::uint64_t size) {
  Header header;
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return std::uint64_t{header.e_shoff} + std::uint64_t{header.e_shentsize} * header.e_shnum <= size;
}

// The section headers are usually the last thing in an ELF file. Anything that isn't an ELF file counts as
// complete.
bool is_complete(const std::string& path, std::uint64_t size) {
  std::vector<char> bytes(sizeof(Elf64_Ehdr));
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return true;  // executable but not readable: nothing to find out
  // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): weak_ptr::lock() is no mutex
  const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
  ::close(descriptor);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) return true;
  constexpr char this_order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (bytes[EI_DATA] != this_order) return true;
  return bytes[EI_CLASS] == ELFCLASS64 ? holds_its_sections<Elf64_Ehdr>(bytes, size)
                                       : holds_its_sections<Elf32_Ehdr>(bytes, size);
}

// Reads a file piece by piece, between the loop's other work.
class Reading {
 public:
  explicit Reading(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Reading() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  enum class State : unsigned char { more, done, failed };
  State step() {
    std::size_t filled = 0;
    while (filled < buffer_.size()) {
      // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): weak_ptr::lock() is no mutex
      const ssize_t count = ::read(descriptor_, buffer_.data() + filled, buffer_.size() - filled);
      if (count < 0) return State::failed;
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    hash_.feed({buffer_.data(), filled});
    return filled == buffer_.size() ? State::more : State::done;
  }
  std::uint64_t hash() const { return hash_.value(); }

 private:
  int descriptor_;
  std::vector<char> buffer_ = std::vector<char>(slice);
  ContentHash hash_;
};

}  // namespace

class ReplacementWatcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& loop, Options options, OnReplaced on_replaced, OnProblem on_problem,
       OnSettled on_settled)
      : loop_(loop),
        timer_(loop),
        options_(options),
        on_replaced_(std::move(on_replaced)),
        on_problem_(std::move(on_problem)),
        on_settled_(std::move(on_settled)) {}

  void start(const std::string& path);
  void stop();
  bool unsettled(bool look);
  void take_up();

 private:
  // idle: the file is the one we know, and we may get to read it, or it isn't there. settling: something
  // happened; the timer runs. reading: it may have changed, and its content will tell.
  enum class State : unsigned char { idle, settling, reading };

  void happened(std::uint32_t mask);
  void wait(State state, std::chrono::milliseconds time);
  void rest();
  void expired();
  void tell_if_settled();
  void settle();
  void read();
  void read_on(const std::shared_ptr<Reading>& reading, const Stamp& stamp);
  void judge(Reading::State state, std::uint64_t hash, const Stamp& stamp);
  void accept(const Look& look, std::optional<std::uint64_t> content);
  bool can_be_read() const { return known_ && !content_ && known_->stamp.size <= largest_read; }

  boost::asio::io_context& loop_;
  boost::asio::steady_timer timer_;
  Options options_;
  OnReplaced on_replaced_;
  OnProblem on_problem_;
  OnSettled on_settled_;
  std::string path_;
  std::unique_ptr<PathTrail> trail_;
  State state_ = State::idle;
  std::optional<Look> known_;             // the file that is not news
  std::optional<std::uint64_t> content_;  // its content, once it has been read
  std::optional<Look> seen_;              // at the last look, while settling
  bool taken_up_ = false;                 // what happened last
  bool open_ = false;                     // it was created, and not closed yet
  int looks_ = 0;                         // how often it looked the same while open
  std::weak_ptr<Reading> reading_;
};

void ReplacementWatcher::Impl::start(const std::string& path) {
  path_ = absolute_path(path);
  trail_ = std::make_unique<PathTrail>(
      loop_, path_, IN_CLOSE_WRITE | IN_ATTRIB, [this](std::uint32_t mask) { happened(mask); },
      [this](std::string what) {
        boost::asio::post(loop_, [weak = weak_from_this(), what = std::move(what)] {
          const auto self = weak.lock();
          if (self && self->on_problem_) self->on_problem_(what);
        });
      });
  known_ = look_at(path_);
  rest();
}

void ReplacementWatcher::Impl::stop() {
  timer_.cancel();
  trail_.reset();
  on_replaced_ = nullptr;
  on_problem_ = nullptr;
  on_settled_ = nullptr;
}

// Without known content, it is being read for the first time, not because something happened.
bool ReplacementWatcher::Impl::unsettled(bool look) {
  if (look) Inotify::of(loop_).drain();
  return !taken_up_ && (state_ == State::settling || (state_ == State::reading && content_));
}

void ReplacementWatcher::Impl::take_up() {
  Inotify::of(loop_).drain();
  taken_up_ = true;
}

void ReplacementWatcher::Impl::tell_if_settled() {
  const OnSettled handler = on_settled_;
  if (handler && !unsettled(false)) handler();
}

void ReplacementWatcher::Impl::happened(std::uint32_t mask) {
  const bool tells_nothing_of_it = (mask & IN_ATTRIB) != 0;
  open_ = (mask & IN_CREATE) != 0 || (open_ && tells_nothing_of_it);
  reading_.reset();
  taken_up_ = false;
  seen_ = look_at(path_);
  looks_ = 0;
  wait(State::settling, options_.quiet);
}

void ReplacementWatcher::Impl::wait(State state, std::chrono::milliseconds time) {
  state_ = state;
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& cancelled) {
    const auto self = weak.lock();
    if (self && self->trail_ && !cancelled) self->expired();
  });
}

void ReplacementWatcher::Impl::rest() {
  state_ = State::idle;
  if (can_be_read()) wait(State::idle, options_.read_after);
}

void ReplacementWatcher::Impl::expired() {
  if (timer_.expiry() > std::chrono::steady_clock::now()) return;  // it was set again in the meantime
  const auto keep = shared_from_this();                            // the handlers may destroy the watcher
  if (state_ == State::settling) {
    settle();
    tell_if_settled();
  } else if (state_ == State::idle && can_be_read()) {
    read();
  }
}

void ReplacementWatcher::Impl::settle() {
  const std::optional<Look> before = std::exchange(seen_, look_at(path_));
  if (!seen_) return rest();  // its appearance will be an event
  if (!before || !seen_->stamp.looks_like(before->stamp)) {
    looks_ = 0;
    return wait(State::settling, options_.quiet);
  }
  if (open_ && !seen_->linked && ++looks_ < most_looks) return wait(State::settling, options_.quiet);
  // If something is missing, an event will follow: more bytes, or a chmod.
  const bool whole = seen_->stamp.size > 0 && (seen_->executable || !known_ || !known_->executable) &&
                     is_complete(path_, static_cast<std::uint64_t>(seen_->stamp.size));
  if (!whole) return rest();
  open_ = false;
  if (known_ && seen_->stamp.unchanged_since(known_->stamp)) return rest();
  const bool same_file = known_ && known_->stamp.device == seen_->stamp.device &&
                         known_->stamp.inode == seen_->stamp.inode && known_->stamp.size == seen_->stamp.size;
  if (same_file && content_) return read();
  accept(*seen_, std::nullopt);
}

void ReplacementWatcher::Impl::read() {
  const std::optional<Look> look = look_at(path_);
  const bool still_the_known_one = look && known_ && look->stamp.looks_like(known_->stamp);
  if (!look || (state_ == State::idle && !still_the_known_one)) {
    state_ = State::idle;  // an event will tell
    return;
  }
  if (look->stamp.fresh) return wait(state_, options_.quiet);  // a change while we read would not show
  const auto reading = std::make_shared<Reading>(path_);
  reading_ = reading;
  state_ = State::reading;
  read_on(reading, look->stamp);
}

void ReplacementWatcher::Impl::read_on(const std::shared_ptr<Reading>& reading, const Stamp& stamp) {
  if (!trail_ || reading_.lock() != reading) return;
  const Reading::State state = reading->step();
  if (state == Reading::State::more) {
    boost::asio::post(loop_, [weak = weak_from_this(), reading, stamp] {
      if (const auto self = weak.lock()) self->read_on(reading, stamp);
    });
    return;
  }
  reading_.reset();
  const auto keep = shared_from_this();
  judge(state, reading->hash(), stamp);
  tell_if_settled();
}

void ReplacementWatcher::Impl::judge(Reading::State state, std::uint64_t hash, const Stamp& stamp) {
  const std::optional<Look> now = look_at(path_);
  if (!now || !now->stamp.unchanged_since(stamp)) return wait(State::settling, options_.quiet);
  state_ = State::idle;
  if (state == Reading::State::failed) {
    if (!now->stamp.looks_like(known_->stamp)) accept(*now, std::nullopt);
    return;
  }
  const bool first_time = !content_ && now->stamp.looks_like(known_->stamp);
  if (first_time || content_ == hash) {
    content_ = hash;
    known_ = now;
    return;
  }
  accept(*now, hash);
}

// The file is another one now.
void ReplacementWatcher::Impl::accept(const Look& look, std::optional<std::uint64_t> content) {
  known_ = look;
  content_ = content;
  rest();
  const OnReplaced handler = on_replaced_;
  if (handler) handler();
}

ReplacementWatcher::ReplacementWatcher(boost::asio::io_context& loop, const std::string& path,
                                       Options options, OnReplaced on_replaced, OnProblem on_problem,
                                       OnSettled on_settled)
    : impl_(std::make_shared<Impl>(loop, options, std::move(on_replaced), std::move(on_problem),
                                   std::move(on_settled))) {
  impl_->start(path);
}

ReplacementWatcher::~ReplacementWatcher() {
  impl_->stop();
}

bool ReplacementWatcher::unsettled(bool look) {
  return impl_->unsettled(look);
}
void ReplacementWatcher::take_up() {
  impl_->take_up();
}

}  // namespace mcpivot
