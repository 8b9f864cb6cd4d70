// Finds who holds the most places in a full table that many share, so that one of them can go to an owner
// that holds fewer.
//
// Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mcpivot {

// How much each owner has, in order of appearance.
template <class Range, class Owner, class Weight>
auto shares_of(const Range& range, Owner&& owner_of, Weight&& weight_of) {
  using Who = std::decay_t<decltype(owner_of(*std::begin(range)))>;
  std::vector<std::pair<Who, std::size_t>> shares;
  std::unordered_map<Who, std::size_t> places;  // in it: there may be as many owners as things
  for (const auto& one : range) {
    const auto [known, is_new] = places.emplace(owner_of(one), shares.size());
    if (is_new) shares.emplace_back(known->first, 0);
    shares[known->second].second += weight_of(one);
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
