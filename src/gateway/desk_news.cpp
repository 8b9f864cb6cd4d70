// What a desk tells the model about its servers: which were added and removed by the configuration, which
// couldn't start, and the instructions of the handshake. All of it is bounded, so that it doesn't crowd the
// context.
#include <fmt/format.h>

#include <algorithm>

#include "base/contains.h"
#include "base/utf8.h"
#include "gateway/desk.h"
#include "gateway/unknown_tools.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// All instructions together; more would crowd the context that we are here to keep small.
constexpr std::size_t longest_instructions = 2000;

// About servers, a line each.
constexpr std::size_t most_lines_in_notice = 20;
constexpr std::size_t most_lines_in_instructions = 5;
constexpr std::size_t longest_trouble = 300;

// It couldn't be started; it may be starting again.
bool has_failed(const Member& member) {
  return member.instance().state() != Instance::State::ready && member.instance().failed_lately();
}

// One below the other; if there are too many, says how many are left out.
std::string head_and_lines(std::string head, const std::vector<std::string>& lines, std::size_t most) {
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) head += "\n" + lines[i];
  if (lines.size() > most) head += fmt::format("\n… and {} more.", lines.size() - most);
  return head;
}

}  // namespace

std::string brief_trouble(const Instance& server) {
  const std::string_view all = server.trouble();
  const std::string_view line = all.substr(0, all.find('\n'));
  if (line.size() <= longest_trouble) return std::string(line);
  return as_utf8(line.substr(0, longest_trouble)) + "…";
}

void Desk::watch_start(Member& member) {
  if (member.active() && member.instance().state() != Instance::State::ready)
    starts_.push_back({member.instance().id()});
}

void Desk::forget_start(const Member& member) {
  std::erase_if(starts_, [&](const Start& start) { return start.instance == member.instance().id(); });
}

Desk::Known Desk::known() {
  Known known{.active = {}, .clashes = routes().clashes(), .trouble = !config_.trouble.empty()};
  for (const auto& member : members_) known.active.emplace(member->name(), member->active());
  return known;
}

void Desk::tell_since(const Known& before) {
  const Known now = known();
  std::vector<std::string> lines;
  for (const auto& member : members_) {
    const auto was = before.active.find(member->name());
    const bool is_new = was == before.active.end();
    if (!is_new && was->second == member->active()) continue;
    lines.push_back((is_new ? "+ " : "~ ") + arrival(*member));
    const InstanceId server = member->instance().id();
    for (Start& start : starts_)
      if (start.instance == server) start.failure_told = has_failed(*member);
  }
  for (const auto& [name, active] : before.active)
    if (!now.active.contains(name)) lines.push_back(fmt::format("- \"{}\": removed, with its tools.", name));
  for (const std::string& clash : now.clashes)
    if (!contains(before.clashes, clash)) lines.push_back(fmt::format("name clash: {}.", clash));
  const bool fixed = before.trouble && !now.trouble;
  if (lines.empty() && !fixed) return;
  notices_.add(head_and_lines(fixed
                                  ? "[mcpivot] the configuration's errors are fixed, and it is now in effect."
                                  : "[mcpivot] the configuration changed:",
                              lines, most_lines_in_notice));
}

std::string Desk::arrival(const Member& member) const {
  std::string words = fmt::format("\"{}\": {}", member.name(), member.active() ? "active" : "inactive");
  const Instance& server = member.instance();
  if (has_failed(member)) words += fmt::format("; it could not be started: {}", brief_trouble(server));
  if (!member.active())
    return words + fmt::format("; {} adds its tools to the list.", control_.how_to_activate(member.name()));
  const bool ready = server.state() == Instance::State::ready;
  return words + (ready ? "; its tools are in the list." : "; its tools are in the list when it is ready.");
}

// A list was sent in which these are missing.
void Desk::note_missing() {
  if (presentation_.client_waits) return;
  for (Start& start : starts_) {
    const Member* const member = member_of(start.instance);
    start.missed = start.missed || (member != nullptr && is_starting(member->name()));
  }
}

// Checked when a tool is called: before that, the model couldn't be told.
void Desk::tell_starts() {
  if (starts_.empty() || presentation_.client_waits) return;  // every answer reports it anyway
  std::vector<std::string> failed;
  std::vector<std::string> refused;
  std::vector<std::string> late;
  for (Start& start : starts_) {
    const Member* const member = member_of(start.instance);
    if (member == nullptr) continue;
    const Instance& server = member->instance();
    if (server.state() == Instance::State::ready) {
      // Later generations are reported by the server itself; a daemon that was away at first is still in its
      // first.
      const Status status = start.failure_told ? server.status() : Status();
      if (status.life && status.life->generation == 1)
        notices_.add(fmt::format("[mcpivot] \"{}\" is ready now; its tools are in the list.", server.name()));
    } else if (!start.failure_told && member->active() && has_failed(*member)) {
      (server.life().is_refused() ? refused : failed)
          .push_back(fmt::format("\"{}\": {}", server.name(), brief_trouble(server)));
      start.failure_told = true;
    } else if (std::exchange(start.missed, false) && member->active() && is_starting(server.name())) {
      late.push_back(fmt::format("\"{}\": {}", server.name(), brief_trouble(server)));
    }
  }
  std::erase_if(starts_, [this](const Start& start) {
    const Member* const member = member_of(start.instance);
    return member == nullptr || member->instance().state() == Instance::State::ready;
  });
  if (!failed.empty())
    notices_.add(head_and_lines("[mcpivot] these active servers could not be started; mcpivot keeps trying:",
                                failed, most_lines_in_notice));
  if (!late.empty())
    notices_.add(head_and_lines(
        "[mcpivot] these active servers are still starting; their tools are in the list when they are ready:",
        late, most_lines_in_notice));
  if (!refused.empty())
    notices_.add(head_and_lines(
        "[mcpivot] these active servers can't be used; mcpivot tries again when they are called:", refused,
        most_lines_in_notice));
}

std::string Desk::words_of_trouble() const {
  const ControlNames& tools = lone().config().control;
  const std::string_view all = lone().trouble();
  const std::string_view why = all.substr(0, all.find('\n'));
  std::string_view lines = all.substr(why.size());  // of its stderr
  while (lines.ends_with('\n')) lines.remove_suffix(1);
  const bool waits_for_us = lone().life().is_refused() && !tools.restart.empty();
  std::string text = fmt::format(
      "The MCP server \"{}\" behind mcpivot {}: {}. Its tools will appear when it works{}.", lone().name(),
      lone().absence(), why, waits_for_us ? fmt::format("; {} tries again", tools.restart) : std::string());
  const bool is_silent = !lone().config().is_daemon() && lone().ring().last_number() == 0;
  if (!tools.logs.empty() && !is_silent) text += fmt::format(" {} shows its stderr.", tools.logs);
  if (!tools.status.empty()) text += fmt::format(" {} shows its state.", tools.status);
  text += lines;
  return text;
}

std::string Desk::words_of_config() const {
  return fmt::format("The configuration of mcpivot has errors: {}", config_.trouble);
}

// Ours, then those of the active servers: each gets a fair share of the space.
std::string Desk::instructions() const {
  std::string text = control_.instructions();
  if (!config_.trouble.empty() && !members_.empty()) text += "\n" + words_of_config();
  std::vector<std::string> failed;
  for (const auto& member : members_)
    if (member->active() && has_failed(*member))
      failed.push_back(fmt::format("\"{}\": {}", member->name(), brief_trouble(member->instance())));
  if (!failed.empty())
    text +=
        head_and_lines("\nThese active servers could not be started:", failed, most_lines_in_instructions);
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& member : members_) {
    const std::string_view words = find_member(member->instance().initialize_result(), "instructions");
    if (member->active() && words.starts_with('"')) all.emplace_back(member->name(), string_value(words));
  }
  std::ranges::stable_sort(all, {}, [](const auto& entry) { return entry.second.size(); });
  std::size_t room = longest_instructions - std::min(text.size(), longest_instructions);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& [name, words] = all[i];
    const std::size_t share = room / (all.size() - i);
    if (words.size() > share) words = fmt::format("{}…", as_utf8(words.substr(0, share)));
    room -= std::min(room, words.size());
  }
  for (const auto& member : members_)
    for (const auto& [name, words] : all)
      if (name == member->name()) text += fmt::format("\n\n# {}\n{}", name, words);
  return text;
}

}  // namespace mcpivot
