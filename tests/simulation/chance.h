// Chance, drawn from a seed: the same on every machine and with every library, which the distributions of the
// standard library are not.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace simulation {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {  // splitmix64
    std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  // 0 … n - 1
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  T of(std::initializer_list<T> some) {
    return *(some.begin() + below(static_cast<int>(some.size())));
  }

 private:
  std::uint64_t state_;
};

// A seed for something with this name, so that what happens to others doesn't change its chances.
inline std::uint64_t seed_of(std::uint64_t seed, std::string_view name, std::uint64_t number = 0) {
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return Chance(seed ^ (number << 40U)).next();
}

}  // namespace simulation
