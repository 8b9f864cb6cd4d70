// Finds who holds the most places in a full table that many share, so that one of them can go to somebody who
// holds fewer.
//
// Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace mcpivot {

// How much each owner has, in order of appearance.
template <class Range, class Owner, class Weight>
auto shares_of(const Range& range, Owner&& owner_of, Weight&& weight_of) {
  using Who = std::decay_t<decltype(owner_of(*std::begin(range)))>;
  std::vector<std::pair<Who, std::size_t>> shares;
  for (const auto& one : range) {
    const Who who = owner_of(one);
    const auto known = std::ranges::find(shares, who, [](const auto& share) { return share.first; });
    if (known == shares.end()) {
      shares.emplace_back(who, weight_of(one));
    } else {
      known->second += weight_of(one);
    }
  }
  return shares;
}

// The owner with the most; on a tie, the one that appears first. The range must not be empty.
template <class Range, class Owner>
auto greediest(const Range& range, Owner&& owner_of) {
  const auto shares = shares_of(range, owner_of, [](const auto&) { return std::size_t{1}; });
  return std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; })->first;
}

}  // namespace mcpivot
