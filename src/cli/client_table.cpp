#include "cli/client_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/duration_text.h"
#include "cli/status_table.h"
#include "cli/text_table.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t most_instances = 20;

// In whole seconds; what is stored has no others.
std::string time_in(const json::object& object, std::string_view key) {
  const json::value* const time = object.if_contains(key);
  if (time == nullptr) return "-";
  const auto whole =
      std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(time->to_number<std::int64_t>()));
  return whole.count() == 0 ? "<1 s" : duration_text(whole);
}

std::size_t number_in(const json::object& object, std::string_view key) {
  const json::value* const number = object.if_contains(key);
  return number == nullptr ? 0 : number->to_number<std::size_t>();
}

std::string and_more(std::size_t count) {
  return count == 0 ? "" : fmt::format("  and {} more\n", count);
}

}  // namespace

std::string client_table(const json::object& status, std::optional<std::size_t> width) {
  const json::value* const clients = status.if_contains("clients");
  if (clients == nullptr) return {};
  const json::object& totals = status.at("totals").as_object();
  const std::size_t all = number_in(totals, "clients");
  std::string text = fmt::format("{}, {} made, {} under way, {} open\n", counted(all, "client"),
                                 counted(number_in(totals, "calls"), "call"), number_in(totals, "underWay"),
                                 counted(number_in(totals, "streams"), "stream"));
  if (all == 0) return text;
  std::vector<TextRow> rows;
  for (const json::value& one : clients->as_array()) {
    const json::object& client = one.as_object();
    rows.push_back({text_in(client, "name"), text_in(client, "session"), text_in(client, "profile"),
                    fmt::format("{} {}", text_in(client, "era"), text_in(client, "version")),
                    text_in(client, "program"), time_in(client, "ageMs"), time_in(client, "idleMs"),
                    text_in(client, "calls"), text_in(client, "underWay"), text_in(client, "streams")});
  }
  const std::size_t more = all - std::min(all, rows.size());
  text += text_table({{.title = "CLIENT", .least = 9},
                      {.title = "SESSION", .leaves = 1},
                      {.title = "PROFILE", .least = 7, .leaves = 3},
                      {.title = "PROTOCOL"},
                      {.title = "PROGRAM", .least = 7, .leaves = 4},
                      {.title = "AGE", .left = false},
                      {.title = "IDLE", .left = false},
                      {.title = "CALLS", .left = false},
                      {.title = "NOW", .left = false},
                      {.title = "STREAMS", .left = false, .leaves = 2}},
                     std::move(rows), width);
  return text + and_more(more);
}

std::string session_table(const json::object& answer, std::optional<std::size_t> width) {
  std::vector<TextRow> rows;
  for (const json::value& one : answer.at("sessions").as_array()) {
    const json::object& session = one.as_object();
    rows.push_back({text_in(session, "id"), text_in(session, "name"), text_in(session, "profile"),
                    text_in(session, "program"), time_in(session, "ageMs"), time_in(session, "idleMs"),
                    session.at("live").as_bool() ? "live" : "stored"});
  }
  if (rows.empty()) return "no sessions\n";
  return text_table({{.title = "SESSION"},
                     {.title = "CLIENT", .least = 9},
                     {.title = "PROFILE", .least = 7, .leaves = 1},
                     {.title = "PROGRAM", .least = 7, .leaves = 2},
                     {.title = "AGE", .left = false},
                     {.title = "LAST USED", .left = false},
                     {.title = "STATE"}},
                    std::move(rows), width) +
         and_more(number_in(answer, "leftOut"));
}

std::string instance_lines(const json::array& instances) {
  std::string text = fmt::format("instances: {}\n", instances.size());
  for (std::size_t i = 0; i < std::min(instances.size(), most_instances); ++i) {
    const json::object& one = instances[i].as_object();
    text += fmt::format("  {}: {}", text_in(one, "client"), text_in(one, "state"));
    if (one.contains("pid"))
      text += fmt::format(", generation {}, pid {}, up {}, {} in flight", text_in(one, "generation"),
                          text_in(one, "pid"), time_in(one, "uptimeMs"), text_in(one, "inFlight"));
    if (number_in(one, "waiting") > 0) text += fmt::format(", {} waiting", text_in(one, "waiting"));
    if (number_in(one, "crashes") > 0) text += fmt::format(", crashes: {}", text_in(one, "crashes"));
    const std::string trouble = text_in(one, "trouble");
    text += trouble.empty() ? "\n" : fmt::format("; {}\n", trouble.substr(0, trouble.find('\n')));
  }
  return text + and_more(instances.size() - std::min(instances.size(), most_instances));
}

}  // namespace mcpivot
