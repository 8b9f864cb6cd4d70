#include "script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace simulation {
namespace {

constexpr auto names = std::to_array<std::string_view>(
    {"good", "cannot-execute", "dies-at-once", "dies-in-handshake", "dies-while-listing", "hangs", "slow",
     "rejects", "no-version", "garbage", "refuses-lists", "endless-pages", "asks-early", "throws", "late"});
static_assert(names.size() == static_cast<std::size_t>(Birth::count));

std::string tool(std::string_view name, std::string_view more) {
  return fmt::format(
      R"({{"name":"{}","description":"does {} \u00e9","inputSchema":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}}{}}})",
      name, name, more);
}

}  // namespace

std::string_view name_of(Birth birth) {
  return names.at(static_cast<std::size_t>(birth));
}

Birth birth_called(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::runtime_error(fmt::format("no birth is called \"{}\"", name));
  return static_cast<Birth>(found - names.begin());
}

Tongue tongue_called(std::string_view text) {
  Tongue tongue;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('+'));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word == "legacy" || word == "modern" || word == "dual") {
      tongue.legacy = word != "modern";
      tongue.modern = word != "legacy";
    } else if (word == "mute") {
      tongue.foreign = Tongue::Foreign::silence;
    } else if (word == "exits") {
      tongue.foreign = Tongue::Foreign::exit;
    } else if (word == "refuses") {
      tongue.listening = Tongue::Listening::refuses;
    } else if (word == "unknown") {
      tongue.listening = Tongue::Listening::unknown;
    } else if (word == "ends") {
      tongue.listening = Tongue::Listening::ends;
    } else if (word == "unheard") {
      tongue.listening = Tongue::Listening::silence;
    } else if (word == "rude") {
      tongue.rude = true;
    } else {
      throw std::runtime_error(fmt::format("no tongue is called \"{}\"", word));
    }
  }
  return tongue;
}

Birth Script::next_birth() {
  if (births.empty()) return Birth::good;
  const Birth birth = births.front();
  births.pop_front();
  return birth;
}

BuildPlan Script::next_build() {
  if (builds.empty()) return {};
  const BuildPlan build = builds.front();
  builds.pop_front();
  return build;
}

void Script::heal() {
  births.clear();
  builds.clear();
  daemon_up = true;
  slow_to_end = false;
  tongue.listening = Tongue::Listening::good;
}

Script& Scripts::of(const std::string& name) {
  Script& script = scripts_[name];
  script.name = name;
  return script;
}

void Scripts::heal() {
  for (auto& [name, script] : scripts_) script.heal();
}

const std::string& tools_of(const std::string& server, int revision) {
  static std::map<std::pair<bool, int>, std::string> made;
  const bool clashes = server == "delta";  // with one of mcpivot's
  const int shown = revision % tool_revisions;
  std::string& text = made[{clashes, shown}];
  if (!text.empty()) return text;
  text = R"("tools":[)";
  text += tool("work", "") + ",";
  text += tool("look", R"(,"annotations":{"readOnlyHint":true})") + ",";
  // Tools that mcpivot may call by itself.
  text += tool("glance", R"(,"annotations":{"readOnlyHint":true,"openWorldHint":false})") + ",";
  text += tool("put", R"(,"annotations":{"idempotentHint":true,"destructiveHint":true})") + ",";
  text += tool("again", "") + ",";
  text += tool("hidden", "") + ",";
  text += tool("shaped", R"(,"outputSchema":{"type":"object","additionalProperties":true})");
  if (shown > 0) text += "," + tool(fmt::format("extra{}", shown), "");
  if (clashes) text += "," + tool("pivot_status", "");
  text += "]";
  return text;
}

std::string prompts_of(const std::string& server, const std::string& canary) {
  return fmt::format(R"("prompts":[{{"name":"greet","description":"of {}{}"}}])", server, canary);
}

std::string resources_of(const std::string& server) {
  return fmt::format(R"("resources":[{{"uri":"sim://{}/one","name":"one"}}])", server);
}

std::string templates_of(const std::string& server) {
  return fmt::format(R"("resourceTemplates":[{{"uriTemplate":"sim://{}/t/{{id}}","name":"t"}}])", server);
}

}  // namespace simulation
