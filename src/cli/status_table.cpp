#include "cli/status_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/duration_text.h"
#include "cli/client_table.h"
#include "cli/colours.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t margin = 2;       // before a line, and between columns
constexpr std::size_t least_name = 12;  // a name isn't cut shorter as long as a column can be dropped instead

enum Column : std::uint8_t {
  state,
  active,
  instances,  // of many clients
  generation,
  pid,
  up,
  calls,
  errors,
  p50,
  in_flight,  // of many clients
  tools,
  tokens,
  crashes,
  columns
};

struct Header {
  const char* title;
  std::size_t width;
  bool left;
};
constexpr std::array<Header, columns> headers{{{"STATE", 8, true},
                                               {"ACTIVE", 8, true},
                                               {"INSTANCES", 9, false},
                                               {"GEN", 4, false},
                                               {"PID", 7, false},
                                               {"UP", 8, false},
                                               {"CALLS", 6, false},
                                               {"ERRORS", 6, false},
                                               {"P50", 7, false},
                                               {"IN FLIGHT", 9, false},
                                               {"TOOLS", 5, false},
                                               {"TOKENS", 7, false},
                                               {"CRASHES", 7, false}}};
// Which are dropped first when there is no room. The state stays.
constexpr std::array leaving{pid,     tokens, generation, p50,   in_flight, up,
                             crashes, errors, tools,      calls, instances, active};
// For a client's own instance, and for all instances.
constexpr std::array for_one{active, generation, pid, up, tokens};
constexpr std::array for_many{instances, in_flight};

struct Row {
  std::string name;
  std::array<std::string, columns> cells{};
  std::string trouble;
};

const char* colour_of(std::string_view text) {
  return text == "ready" ? "32" : text == "failed" ? "31" : text == "starting" || text == "away" ? "33" : "2";
}

Row row_of(const json::object& server) {
  const json::value* uptime = server.if_contains("uptimeMs");
  Row row{.name = text_in(server, "name"), .trouble = text_in(server, "trouble")};
  row.trouble.erase(std::min(row.trouble.find('\n'), row.trouble.size()));
  if (const std::string held = text_in(server, "held"); row.trouble.empty() && !held.empty())
    row.trouble = fmt::format("a new build is held back; \"mcpivot accept {}\" uses it. {}", row.name, held);
  row.cells[state] = text_in(server, "state");
  row.cells[active] = server.at("active").as_bool() ? "yes" : "no";
  if (const json::value* all = server.if_contains("instances"))
    row.cells[instances] = std::to_string(all->as_array().size());
  row.cells[calls] = text_in(server, "calls");
  row.cells[errors] = text_in(server, "errors");
  row.cells[p50] = p50_text(server);
  row.cells[in_flight] = text_in(server, "inFlight");
  row.cells[generation] = text_in(server, "generation");
  row.cells[pid] = text_in(server, "pid");
  if (row.cells[pid] == "0") row.cells[pid] = "-";  // a daemon's isn't known
  row.cells[up] =
      uptime == nullptr ? "-" : duration_text(std::chrono::milliseconds(uptime->to_number<std::int64_t>()));
  row.cells[tools] = text_in(server, "tools");
  row.cells[tokens] = text_in(server, "tokens");
  row.cells[crashes] = text_in(server, "crashes");
  return row;
}

// Which columns there are, and how wide the names are.
struct Layout {
  std::array<bool, columns> shown{};
  std::size_t name = 0;

  std::size_t others() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < columns; ++i)
      if (shown[i]) sum += margin + headers[i].width;
    return sum;
  }
};

Layout layout_for(std::size_t longest_name, bool many, std::optional<std::size_t> width) {
  Layout layout{.name = longest_name};
  layout.shown.fill(true);
  for (const Column column : for_one) layout.shown[column] = !many;
  for (const Column column : for_many) layout.shown[column] = many;
  if (!width) return layout;
  const std::size_t wanted = std::min(longest_name, least_name);
  for (const Column column : leaving) {
    if (margin + wanted + layout.others() <= *width) break;
    layout.shown[column] = false;
  }
  const std::size_t taken = margin + layout.others();
  layout.name = std::min(longest_name, *width > taken ? *width - taken : 1);
  return layout;
}

std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string blanks(width - std::min(width, columns_of(text)), ' ');
  return left ? text + blanks : blanks + text;
}

std::string line_of(const Layout& layout, const std::string& name,
                    const std::array<std::string, columns>& cells, bool with_colours) {
  std::string line = std::string(margin, ' ') + padded(shortened(name, layout.name), layout.name, true);
  for (std::size_t i = 0; i < columns; ++i) {
    if (!layout.shown[i]) continue;
    const std::string cell = padded(cells[i], headers[i].width, headers[i].left);
    line +=
        std::string(margin, ' ') + (with_colours && i == state ? coloured(colour_of(cells[i]), cell) : cell);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Wrapped to fit, each part on a line of its own if needed.
std::string title_lines(const json::object& status, std::optional<std::size_t> width) {
  const std::string whole = instance_title(status);
  if (!width || columns_of(whole) <= *width) return coloured("1", whole) + "\n";
  std::string lines;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t comma = std::min(whole.find(", ", begin), whole.size());
    const std::string part = (begin == 0 ? "" : "  ") + whole.substr(begin, comma - begin);
    lines += coloured("1", shortened(part, *width)) + "\n";
    begin = comma + 2;
  }
  return lines;
}

}  // namespace

std::string text_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr) return "-";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

std::string p50_text(const json::object& server) {
  const json::value* median = server.if_contains("p50Us");
  if (median == nullptr) return "-";
  return short_time_text(std::chrono::microseconds(median->to_number<std::int64_t>()));
}

std::string string_in(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::string instance_title(const json::object& status) {
  std::string words = fmt::format("mcpivot {} ({})", text_in(status, "pid"), text_in(status, "name"));
  if (const std::string client = text_in(status, "client"); !client.empty())
    words += fmt::format(", client {}", client);
  return words + fmt::format(", in {}", text_in(status, "folder"));
}

std::string status_table(const json::object& status, std::optional<std::size_t> width) {
  std::vector<Row> rows;
  std::size_t longest = std::string_view("SERVER").size();
  for (const json::value& server : status.at("servers").as_array()) {
    rows.push_back(row_of(server.as_object()));
    longest = std::max(longest, columns_of(rows.back().name));
  }
  const Layout layout = layout_for(longest, status.contains("clients"), width);
  std::array<std::string, columns> titles;
  std::ranges::transform(headers, titles.begin(), &Header::title);
  std::string text = title_lines(status, width) + line_of(layout, "SERVER", titles, false);
  for (const Row& row : rows) {
    text += line_of(layout, row.name, row.cells, true);
    if (row.trouble.empty()) continue;
    const std::size_t before = margin + (width ? margin : layout.name + margin);
    const std::string words = width ? shortened(row.trouble, *width - std::min(*width, before)) : row.trouble;
    text += std::string(before, ' ') + coloured("33", words) + "\n";
  }
  if (rows.empty()) text += "  no servers; \"mcpivot check\" explains its config file\n";
  return text + client_table(status, width);
}

}  // namespace mcpivot
