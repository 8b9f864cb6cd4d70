// Other people's files, JSON and TOML: what is inserted is there, everything else means what it meant, and
// removing it again restores the same bytes. What can't be parsed is rejected and not touched.
#include <algorithm>

#include "fuzz.h"
#include "install/client_text.h"
#include "install/install_record.h"
#include "install/json_edit.h"
#include "install/toml_edit.h"

namespace {

using namespace mcpivot;
using fuzz::check;

JsoncValue entry() {
  JsoncValue value;
  value.kind = JsoncValue::Kind::object;
  value.members.push_back({.key = "command", .value = json_string("/usr/bin/mcpivot")});
  value.members.push_back({.key = "args", .value = json_strings({"--config", "a \"b\"\\\t\x7f"})});
  return value;
}

const ClientServer* find(const std::vector<ClientServer>& servers, std::string_view name) {
  const auto found = std::ranges::find(servers, name, &ClientServer::name);
  return found == servers.end() ? nullptr : &*found;
}

// All servers but one are the same, in meaning and spelling.
void others_are_the_same(const std::vector<ClientServer>& before, const std::vector<ClientServer>& after,
                         std::string_view but) {
  for (const ClientServer& server : before) {
    if (server.name == but) continue;
    const ClientServer* still = find(after, server.name);
    check(still != nullptr, "the other servers are still there");
    check(same_value(still->value, server.value), "and mean the same");
    fuzz::check_same(still->text, server.text, "and are spelled the same");
  }
}

// Without what a removal may also remove: white space and commas.
bool is_subsequence(std::string_view part, std::string_view whole) {
  std::size_t at = 0;
  for (const char c : part) {
    at = whole.find(c, at);
    if (at == std::string_view::npos) return false;
    ++at;
  }
  return true;
}

void check_client(const Client& client, std::string_view text) {
  const auto before = servers_in(client, text);
  const std::string name = "mcpivot";
  const auto with = with_server(client, text, name, entry());
  if (!before) {
    check(!before.error().empty(), "a refusal has a reason");
    return;
  }
  const ClientServer* there = find(*before, name);
  if (with) {
    const auto after = servers_in(client, *with);
    check(after.has_value(), "what was edited can still be read");
    const ClientServer* added = find(*after, name);
    check(added != nullptr, "what was put in is there");
    check(same_value(added->value, entry()), "and means what it was meant to");
    others_are_the_same(*before, *after, name);
    const auto without = without_server(client, *with, name);
    check(without.has_value(), "what was put in can be taken out");
    const auto left = servers_in(client, *without);
    check(left.has_value(), "what is left can be read");
    others_are_the_same(*before, *left, name);
    if (there == nullptr && (client.format == FileFormat::toml || has_list(client, text)))
      fuzz::check_same(*without, text, "put in and taken out, it is the same bytes");
  }
  for (const ClientServer& server : *before) {
    const auto without = without_server(client, text, server.name);
    if (!without) {
      check(!server.fixed.empty() || client.format == FileFormat::json, "what is not fixed can be taken out");
      continue;
    }
    check(is_subsequence(*without, text), "a removal only removes");
    const auto left = servers_in(client, *without);
    check(left.has_value() && find(*left, server.name) == nullptr, "what was taken out is gone");
    others_are_the_same(*before, *left, server.name);
    const auto back = with_server_as_spelled(client, *without, server.name, server.text);
    if (!back) continue;
    const auto again = servers_in(client, *back);
    check(again.has_value() && find(*again, server.name) != nullptr, "what is put back as spelled is there");
    check(same_value(find(*again, server.name)->value, server.value), "and means the same");
    break;  // one is enough for an input
  }
}

void check_record(const std::string& text) {
  const auto record = parse_record(text);
  if (!record) return;
  const auto again = parse_record(record_text(*record));
  check(again.has_value() && again->name == record->name && again->file.before == record->file.before &&
            again->moved.size() == record->moved.size(),
        "a record reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_client(*find_client("cursor"), text);
  check_client(*find_client("codex"), text);
  check_record(std::string(text));
  return 0;
}
