// The ids of messages that LegacyFacade sends itself: strings that say which call they belong to, so that no
// table is needed to find it.
//
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

struct FacadeId {
  enum class What : std::uint8_t { discover, retry, ask };
  What what;
  std::int64_t own;  // the generation's id of the call
  int round = 0;
  std::size_t question = 0;
};

// As JSON text.
std::string discover_id(std::int64_t own);
std::string retry_id(std::int64_t own, int round);
std::string ask_id(std::int64_t own, int round, std::size_t question);

// Nothing: it isn't one of these.
std::optional<FacadeId> read_facade_id(std::string_view id);

}  // namespace mcpivot
