// Whether two builds of a server answer a call the same: both answers are compared as JSON, and each
// difference is described by its path, in a few words. The order of members and the spelling of numbers don't
// matter, and neither does what belongs to the protocol era rather than to the tool. Text that is JSON itself
// is compared as such, so that `content[0].text.time` is a path.
//
// Plain data. Any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// What a server answered to a call, as JSON text.
struct Answer {
  bool is_error = false;  // of JSON-RPC: `json` is its error, else its result
  std::string json;
  bool operator==(const Answer&) const = default;
};

// Paths below which answers may be different: "content[*].text", "structuredContent.time", "**.id".
// `*` is any member, `[*]` any element, `**` any number of either.
class IgnoredPaths {
 public:
  IgnoredPaths() = default;
  // The error names the path, and what is wrong with it.
  static std::expected<IgnoredPaths, std::string> parse(const std::vector<std::string>& paths);
  void add(const IgnoredPaths& others);
  bool empty() const { return paths_.empty(); }

  // A member's name, or an element's number.
  struct Step {
    std::string member{};
    std::size_t element = 0;
    bool is_element = false;
  };
  bool has(const std::vector<Step>& path) const;

 private:
  struct Part {
    enum class Kind : unsigned char { member, element, any_member, any_element, anything };
    Kind kind;
    std::string member{};
    std::size_t element = 0;
    bool fits(const Step& step) const;
  };
  using Path = std::vector<Part>;
  static std::expected<Path, std::string> parse_path(std::string_view text);
  static bool covers(const Path& path, std::size_t part, const std::vector<Step>& steps, std::size_t step);
  std::vector<Path> paths_;
};

struct AnswerDifference {
  std::string path;    // "content[0].text"; empty: all of it
  std::string before;  // a short text; empty: it wasn't there
  std::string after;
  // `content[0].text: "3 notes" → "4 notes"`
  std::string text() const;
  bool operator==(const AnswerDifference&) const = default;
};

struct AnswerDiff {
  std::vector<AnswerDifference> first;  // the first of them
  std::size_t count = 0;
  bool same() const { return count == 0; }
};

AnswerDiff compare_answers(const Answer& before, const Answer& after, const IgnoredPaths& ignored = {});

// The same text for values that are the same: members sorted, no white space, one spelling of each number.
// Text that isn't JSON, or is nested too deeply, stays as it is.
std::string canonical_json(std::string_view text);

}  // namespace mcpivot
