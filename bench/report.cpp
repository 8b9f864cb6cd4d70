// The shape of the table, and the project's bars with their limits.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace {

enum class Limit { ratio_to_floor, megabytes };

struct Rule {
  Row row;
  Limit kind;
  double limit;
};

// What the project demands of itself. A row where more is better has a lower limit, any other an upper one.
constexpr std::array<Rule, 6> rules = {{{Row::round_trip_p50, Limit::ratio_to_floor, 1.20},
                                        {Row::stream, Limit::ratio_to_floor, 0.75},
                                        {Row::medium_result, Limit::ratio_to_floor, 1.25},
                                        {Row::large_result, Limit::ratio_to_floor, 1.30},
                                        {Row::memory_after_large, Limit::megabytes, 30},
                                        {Row::memory_idle, Limit::megabytes, 10}}};

const RowInfo& info_of(Row row) {
  return *std::find_if(rows.begin(), rows.end(), [row](const RowInfo& info) { return info.row == row; });
}

std::array<const Contestant*, 5> all(const Cast& cast) {
  return {&cast.direct, &cast.floor, &cast.mcpivot, &cast.mcp_sitter, &cast.bridged};
}

std::optional<double> value_of(const Contestant& contestant, Row row) {
  return contestant.takes_part() ? contestant.value(row) : std::nullopt;
}

std::optional<double> ratio(const Contestant& one, const Contestant& other, Row row) {
  const auto above = value_of(one, row);
  const auto below = value_of(other, row);
  if (!above || !below || *below <= 0) return std::nullopt;
  return *above / *below;
}

// How many times better than mcp-sitter mcpivot is: above 1 it is ahead.
std::optional<double> lead(const Cast& cast, const RowInfo& info) {
  return info.more_is_better ? ratio(cast.mcpivot, cast.mcp_sitter, info.row)
                             : ratio(cast.mcp_sitter, cast.mcpivot, info.row);
}

// 1234567.8 → "1,234,567.8"
std::string grouped(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  const size_t point = std::min(text.find('.'), text.size());
  for (size_t at = point; at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string cell(const Contestant& contestant, const RowInfo& info) {
  if (!contestant.installed) return "not installed";
  if (!contestant.failure.empty()) return "failed";
  const auto value = contestant.value(info.row);
  return value ? grouped(*value, info.decimals) : "–";
}

std::string ratio_cell(std::optional<double> value) {
  return value ? fmt::format("{:.2f}×", *value) : "–";
}

std::string lead_cell(std::optional<double> value) {
  if (!value) return "–";
  return fmt::format("{}, {:.2f}×", *value > 1 ? "yes" : "NO", *value);
}

using Line = std::array<std::string, 10>;

Line heading(const Cast& cast) {
  return {"",
          "",
          cast.direct.name,
          cast.floor.name,
          cast.mcpivot.name,
          "mcpivot/floor",
          cast.mcp_sitter.name,
          "mcpivot ahead",
          cast.bridged.name,
          "bridged/mcpivot"};
}

Line line_of(const Cast& cast, const RowInfo& info) {
  return {std::string(info.label),     std::string(info.unit),
          cell(cast.direct, info),     cell(cast.floor, info),
          cell(cast.mcpivot, info),    ratio_cell(ratio(cast.mcpivot, cast.floor, info.row)),
          cell(cast.mcp_sitter, info), lead_cell(lead(cast, info)),
          cell(cast.bridged, info),    ratio_cell(ratio(cast.bridged, cast.mcpivot, info.row))};
}

// Why there is nothing to compare with.
std::string reason_for_nothing(std::initializer_list<const Contestant*> compared) {
  for (const Contestant* contestant : compared) {
    if (!contestant->installed) return contestant->name + " is not installed";
    if (!contestant->failure.empty()) return contestant->name + " failed";
  }
  return "not measured";
}

Bar judge_rule(const Cast& cast, const Rule& rule) {
  const RowInfo& info = info_of(rule.row);
  const bool relative = rule.kind == Limit::ratio_to_floor;
  const auto measured =
      relative ? ratio(cast.mcpivot, cast.floor, rule.row) : value_of(cast.mcpivot, rule.row);
  const std::string asked =
      relative ? fmt::format("{} {:.2f}× the floor", info.more_is_better ? "at least" : "at most", rule.limit)
               : fmt::format("under {:.0f} MB", rule.limit);
  if (!measured)
    return {Verdict::fail,
            fmt::format("{}: {}; {}", info.label, asked, reason_for_nothing({&cast.mcpivot, &cast.floor}))};
  bool cleared = info.more_is_better ? *measured >= rule.limit : *measured <= rule.limit;
  if (!relative) cleared = *measured < rule.limit;
  return {cleared ? Verdict::pass : Verdict::fail,
          fmt::format("{}: {}; measured {}", info.label, asked,
                      relative ? ratio_cell(measured) : fmt::format("{:.1f} MB", *measured))};
}

Bar judge_lead(const Cast& cast) {
  const std::string asked = "ahead of mcp-sitter in every row";
  if (!cast.mcp_sitter.installed) return {Verdict::skipped, asked + "; mcp-sitter is not installed"};
  if (!cast.mcpivot.takes_part() || !cast.mcp_sitter.takes_part())
    return {Verdict::fail,
            fmt::format("{}; {}", asked, reason_for_nothing({&cast.mcpivot, &cast.mcp_sitter}))};
  std::string behind;
  for (const RowInfo& info : rows) {
    if (lead(cast, info).value_or(0) > 1) continue;
    behind += behind.empty() ? "; not in: " : "; ";
    behind += info.label;
  }
  return {behind.empty() ? Verdict::pass : Verdict::fail, asked + behind};
}

constexpr double most_for_a_bridge = 1.5;

Bar judge_bridge(const Cast& cast) {
  const std::string asked = fmt::format(
      "200 B round trip between the eras, p50: at most {:.2f}× one that passes", most_for_a_bridge);
  const auto measured = ratio(cast.bridged, cast.mcpivot, Row::round_trip_p50);
  if (!measured)
    return {Verdict::fail, fmt::format("{}; {}", asked, reason_for_nothing({&cast.bridged, &cast.mcpivot}))};
  return {*measured <= most_for_a_bridge ? Verdict::pass : Verdict::fail,
          fmt::format("{}; measured {}", asked, ratio_cell(measured))};
}

std::string_view word_for(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "PASS";
    case Verdict::fail:
      return "FAIL";
    case Verdict::skipped:
      return "SKIP";
  }
  return "";
}

std::string json_row(const Cast& cast, const RowInfo& info) {
  std::string values;
  for (const Contestant* contestant : all(cast)) {
    const auto value = value_of(*contestant, info.row);
    values += fmt::format(R"({}"{}": {})", values.empty() ? "" : ", ", contestant->name,
                          value ? fmt::format("{:.3f}", *value) : "null");
  }
  return fmt::format(R"(    "{}": {{{}}})", info.key, values);
}

}  // namespace

std::string table(const Cast& cast) {
  std::string text;
  const auto add = [&text](const Line& line) {
    text += fmt::format("{:<27}{:<8}{:>14}{:>14}{:>14}{:>14}{:>14}{:>14}{:>14}{:>17}\n", line[0], line[1],
                        line[2], line[3], line[4], line[5], line[6], line[7], line[8], line[9]);
  };
  add(heading(cast));
  for (const RowInfo& info : rows) add(line_of(cast, info));
  return text;
}

std::vector<Bar> judge(const Cast& cast) {
  std::vector<Bar> bars;
  bars.reserve(rules.size() + 2);
  for (const Rule& rule : rules) bars.push_back(judge_rule(cast, rule));
  bars.push_back(judge_lead(cast));
  bars.push_back(judge_bridge(cast));
  return bars;
}

std::string lines_of(const std::vector<Bar>& bars) {
  std::string text;
  for (const Bar& bar : bars) text += fmt::format("{}  {}\n", word_for(bar.verdict), bar.text);
  return text;
}

std::string notes(const Cast& cast) {
  std::string text;
  for (const Contestant* contestant : all(cast)) {
    if (!contestant->failure.empty())
      text += fmt::format("{} failed: {}\n", contestant->name, contestant->failure);
    if (!contestant->helpers.empty())
      text += fmt::format("{} also keeps running, not counted above: {}\n", contestant->name,
                          contestant->helpers);
  }
  return text;
}

std::string json_of(const Cast& cast, const std::vector<Bar>& bars) {
  std::string row_lines;
  for (const RowInfo& info : rows) row_lines += (row_lines.empty() ? "" : ",\n") + json_row(cast, info);
  std::string bar_lines;
  for (const Bar& bar : bars)
    bar_lines += fmt::format(R"({}    {{"verdict": "{}", "text": "{}"}})", bar_lines.empty() ? "" : ",\n",
                             word_for(bar.verdict), bar.text);
  return fmt::format("{{\n  \"rows\": {{\n{}\n  }},\n  \"bars\": [\n{}\n  ]\n}}\n", row_lines, bar_lines);
}
