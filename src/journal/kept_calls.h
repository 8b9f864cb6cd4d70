// Recorded calls in a file that a team commits: `mcpivot journal keep` writes it, `replay` and `verify` read
// it. It is JSON, sorted by server, tool and arguments, with sorted members, so that a change of one answer
// is a change of a few lines; when and by whom a call was made isn't in it.
//
// Plain data. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "journal/recorded_call.h"

namespace mcpivot {

struct KeptCalls {
  std::vector<std::string> ignore;  // paths in answers that may be different, see mcp/answer_diff.h
  std::vector<RecordedCall> calls;  // each server, tool and arguments once
};

// What is wrong with such a file, and where.
struct KeptCallsError {
  unsigned line = 1;
  unsigned column = 1;
  std::string words;
};

inline constexpr std::size_t largest_kept_calls = 16UL * 1024 * 1024;

std::expected<KeptCalls, KeptCallsError> parse_kept_calls(std::string_view text);
// The same for a file. The error is "FILE:LINE:COLUMN: …".
std::expected<KeptCalls, std::string> read_kept_calls(const std::string& file);

// The text of the file. If calls differ only in their answer, the last one counts.
std::string kept_calls_text(const KeptCalls& kept);

// Why this call can't be in such a file; empty: it can.
std::string why_not_kept(const RecordedCall& call);

// Equal for calls that count as the same.
std::string call_key(const RecordedCall& call);

}  // namespace mcpivot
