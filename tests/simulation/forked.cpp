#include "forked.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <span>

namespace simulation {
namespace {

constexpr int longest_play = 60;  // seconds; then it hangs
constexpr std::size_t longest_reason = 4'000;
// What a play may leave behind: the simulation's own caches, which grow with the first ones.
constexpr std::size_t most_left = 64UL * 1024;

// From now on, in the time that it runs: on a busy machine a play can take minutes.
void limit_play() {
  const itimerval limit = {.it_interval = {}, .it_value = {.tv_sec = longest_play, .tv_usec = 0}};
  ::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

std::size_t memory_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // their own leak checks know better
#else
  return ::mallinfo2().uordblks;
#endif
}

// The first broken promise, or what it left behind.
std::string judge(const Plan& plan, Visits& visits, std::uint64_t& events, bool warm) {
  const std::size_t before = memory_in_use();
  std::string first;
  {
    const Verdict verdict = play(plan, visits);
    events += verdict.events;
    if (!verdict.ok()) first = verdict.broken.front();
  }
  if (!first.empty() || !warm) return first;
  const std::size_t after = memory_in_use();
  return after > before + most_left ? fmt::format("{} bytes are not given back", after - before)
                                    : std::string();
}

// Memory that parent and child both see.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new(::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   T()) {}
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator*() { return *value_; }
  T* operator->() { return value_; }

 private:
  T* value_;
};

struct Reason {
  char text[longest_reason];
};

// Does this in a child. How it ended; empty: with code 0.
template <class Do>
std::string in_child(Do&& what) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    what();
    std::fflush(nullptr);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGVTALRM ? "it hangs"
                                         : fmt::format("it crashed: {}", ::strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? std::string() : fmt::format("it ended with code {}", WEXITSTATUS(status));
}

// What failures of one kind have in common: their words without numbers and names.
std::string kind_of(const std::string& failure) {
  std::string kind;
  const auto begin = failure.find(" ms: ");
  for (const char c : std::string_view(failure).substr(begin == std::string::npos ? 0 : begin + 5)) {
    if (c == '{' || c == ':') break;
    if (c < '0' || c > '9') kind += c;
  }
  for (const char* name : {"alpha", "beta", "gamma", "delta", "epsilon"})
    for (auto at = kind.find(name); at != std::string::npos; at = kind.find(name))
      kind.erase(at, std::strlen(name));
  return kind;
}

}  // namespace

std::string failure_of(const Plan& plan) {
  Shared<Reason> reason;
  const std::string crash = in_child([&] {
    limit_play();
    Visits visits;
    std::uint64_t events = 0;
    // Twice: the first one warms up, and the same seed gives the same play.
    std::string failure = judge(plan, visits, events, false);
    if (failure.empty()) failure = judge(plan, visits, events, true);
    std::strncpy(reason->text, failure.c_str(), longest_reason - 1);
  });
  return crash.empty() ? std::string(reason->text) : crash;
}

Plan shrunk(const Plan& plan, const std::string& failure, const std::function<void(std::size_t)>& tell) {
  Plan best = plan;
  const std::string kind = kind_of(failure);
  for (std::size_t size = best.actions.size() / 2; size > 0;) {
    bool smaller = false;
    for (std::size_t end = best.actions.size(); end > 0;) {
      const std::size_t begin = end > size ? end - size : 0;
      Plan tried = best;
      tried.actions.erase(tried.actions.begin() + static_cast<long>(begin),
                          tried.actions.begin() + static_cast<long>(end));
      if (kind_of(failure_of(tried)) == kind) {
        best = std::move(tried);
        smaller = true;
        tell(best.actions.size());
      }
      end = begin;
    }
    if (size == 1 && !smaller) break;
    size = size == 1 ? 1 : size / 2;
  }
  return best;
}

bool play_seeds(std::uint64_t first, int events, double seconds, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  Shared<Progress> shared;
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::string crash = in_child([&] {
    // The first in any case: on a busy machine the time may be over before it begins.
    for (std::uint64_t seed = first; (seed == first || passed() < seconds) && !shared->failed; ++seed) {
      shared->seed = seed;
      limit_play();
      const Plan plan = draw_plan(seed, events);
      shared->failed = !judge(plan, shared->visits, shared->events, seed > first + 4).empty();
      ++shared->seeds;
      shared->seconds = passed();
    }
  });
  progress = *shared;
  progress.failed = progress.failed || !crash.empty();
  return !progress.failed;
}

}  // namespace simulation
