#include "visitor.h"

#include <fmt/format.h>

#include "fleet.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace simulation {

Visitor::Visitor(std::string_view fleet)
    : gateway_(world_, clients_, fleet_from(fleet)), desk_(gateway_.open()), began_(world_.timers().now()) {
  clients_.add(desk_.client(), *this);
}

Visitor::~Visitor() {
  clients_.remove(desk_.client());
}

void Visitor::configure(std::string_view fleet) {
  gateway_.configure(fleet_from(fleet));
}

std::string Visitor::arrive() {
  desk_.start();
  std::string hello = ask(
      "initialize",
      R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"visitor","version":"1"}})");
  const std::string ready = mcpivot::request_line({}, "notifications/initialized", {});
  desk_.notify(*mcpivot::read_message(ready));
  pass(Millis(50));
  return hello;
}

std::string Visitor::send(std::string_view method, std::string_view params) {
  const std::string id = std::to_string(++last_id_);
  const std::string line = mcpivot::request_line(id, method, params);
  desk_.request({.client = desk_.client()}, *mcpivot::read_message(line));
  return id;
}

std::string Visitor::answer_to(std::string_view id) const {
  for (const std::string& line : heard_)
    if (const auto message = mcpivot::read_message(line);
        message && message->is_answer() && message->text(message->id) == id)
      return line;
  return {};
}

std::string Visitor::ask(std::string_view method, std::string_view params) {
  const std::string id = send(method, params);
  const auto until = world_.timers().now() + Millis(10'000);
  while (answer_to(id).empty() && world_.timers().step(until)) {
  }
  return answer_to(id);
}

std::string Visitor::call(std::string_view tool, std::string_view arguments) {
  return ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
}

void Visitor::pass(Millis time) {
  const auto until = world_.timers().now() + time;
  while (world_.timers().step(until)) {
  }
}

Millis Visitor::now() const {
  return std::chrono::duration_cast<Millis>(desk_.clock().now() - began_);
}

std::vector<std::string> Visitor::lines_to(std::string_view server, std::string_view method) const {
  std::vector<std::string> lines;
  for (const auto& [whom, line] : sent_)
    if (whom == server && mcpivot::find_member(line, "method") == mcpivot::quote(method))
      lines.push_back(line);
  return lines;
}

void Visitor::pass(mcpivot::ToClient& said) {
  if (said.message.kind == mcpivot::Kind::request) return asked_.push_back(said.from);
  if (!said.is_question()) heard_.push_back(mcpivot::spliced(said.message.raw, said.edits.list()));
}

}  // namespace simulation
