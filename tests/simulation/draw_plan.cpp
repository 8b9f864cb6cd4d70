// Draws a plan from a seed. Each seed has its own taste: which servers there are, which faults happen at all
// and how often. Runs in which everything fails at once reach less than runs in which a few things do.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "chance.h"
#include "fleet.h"
#include "plan.h"
#include "script.h"

namespace simulation {
namespace {

constexpr auto servers = std::to_array<const char*>({"alpha", "beta", "gamma", "delta", "epsilon"});
constexpr int events_of_an_action = 4;  // about

class Drawing {
 public:
  Drawing(std::uint64_t seed, bool apart)
      : chance_(seed),
        eras_(seed_of(seed, "eras")),
        views_(seed_of(seed, "views")),
        checks_(seed_of(seed, "checks")),
        stops_(seed_of(seed, "stops")),
        steering_(seed_of(seed, "steering")),
        apart_(apart) {
    checked_ = checks_.one_in(2);
    steers_ = !apart_ && steering_.one_in(3);
    plan_.chance = chance_.next();
    most_servers_ = chance_.of({1, 1, 2, 3, 5});
    silent_ = chance_.one_in(12);
    hurry_ = chance_.of({300, 1'000, 3'000, 10'000});
    for (std::size_t i = 0; i < index(Deed::tongue); ++i) weights_[i] = chance_.of({0, 1, 1, 4});
    weights_[index(Deed::call)] = chance_.of({20, 60, 120});
    weights_[index(Deed::through)] = chance_.of({4, 20});
    weights_[index(Deed::control)] = chance_.of({1, 4, 12});
    weights_[index(Deed::ask)] = chance_.of({4, 12});
    weights_[index(Deed::cancel)] = chance_.of({0, 4, 16});
    weights_[index(Deed::ready)] = 1;
    weights_[index(Deed::hello)] = 1;
    weights_[index(Deed::quit)] = chance_.of({0, 0, 1});
    weights_[index(Deed::crowd)] = chance_.one_in(8) ? 1 : 0;
    crowds_ = 2;
    weights_[index(Deed::vanish)] = chance_.of({0, 0, 1});
    weights_[index(Deed::guest)] = chance_.of({0, 0, 4, 40});
    weights_[index(Deed::part)] = weights_[index(Deed::guest)] > 0 ? 1 : 0;
    for (int& taste : tastes_) taste = chance_.of({0, 1, 3});
    draw_eras();
    few_ = !apart_ && weights_[index(Deed::guest)] > 0 && views_.one_in(2);
    if (!apart_) return;
    weights_[index(Deed::guest)] = 40;
    for (const Deed shared : {Deed::hup, Deed::save, Deed::replace, Deed::builds, Deed::daemon, Deed::disk,
                              Deed::quit, Deed::vanish})
      weights_[index(shared)] = 0;
  }

  Plan draw(int events) {
    for (const auto& [name, tongue] : tongues_) add(Deed::tongue, name, 0, tongue);
    // Only before its very first start does a server have nothing in the cache that could answer a
    // handshake. A client that does nothing else waits until that start ends.
    if (chance_.one_in(2))
      add(Deed::births, server(), 1, chance_.of<const char*>({"hangs", "hangs", "slow", "rejects"}));
    add(Deed::fleet, "-", 0, fleet());
    greet();
    if (chance_.one_in(5)) at_ += 12'000'000;
    for (int i = 0; i < events / events_of_an_action; ++i) {
      // Bursts, and now and then a pause in which things come to an end.
      if (!chance_.one_in(3)) at_ += chance_.below(chance_.one_in(40) ? hurry_ * 300 : hurry_);
      act();
    }
    if (apart_)
      add(Deed::ask, "-", request(), "ping");  // the end is at the same time, with guests or without
    return std::move(plan_);
  }

 private:
  static std::size_t index(Deed deed) { return static_cast<std::size_t>(deed); }

  void add(Deed deed, std::string server, int number, std::string text) {
    if (text.ends_with("+task")) last_task_ = fmt::format("{}-{}-{}", server, chance_.between(1, 3), number);
    plan_.actions.push_back({at_, deed, std::move(server), number, std::move(text)});
  }
  std::string server() { return servers[static_cast<std::size_t>(chance_.below(most_servers_))]; }
  std::string fleet() {
    return with_view(with_checks(
        with_eras(draw_fleet(chance_, {servers.begin(), servers.begin() + most_servers_}, apart_))));
  }

  // Every second guest sees some of the servers, and from time to time others.
  std::string with_view(std::string fleet) {
    if (!few_) return fleet;
    fleet += " few:";
    for (int i = 0; i < most_servers_; ++i)
      if (!views_.one_in(3)) fleet += fmt::format("{}+", servers[static_cast<std::size_t>(i)]);
    if (views_.one_in(3)) fleet += views_.of<const char*>({" may:restart", " may:restart+logs"});
    return fleet;
  }

  // Two seeds in five only have the legacy era. In the others, drawing eras changes nothing else that is
  // drawn.
  void draw_eras() {
    if (eras_.below(5) < 2) return;
    speeches_ = eras_.of<const char*>({"l", "m", "d", "mmd", "lmdx", "x"});
    if (apart_) speeches_ = eras_.of<const char*>({"l", "m"});
    guest_kinds_ = eras_.of<const char*>({"g", "m", "gm", "gmdx"});
    if (apart_) guest_kinds_ = "gm";
    for (const char* const name : servers)
      if (eras_.below(4) > 0)
        tongues_[name] = tongue();
      else if (apart_)  // what is learned about a server's era is known to all
        tongues_[name] = "legacy";
    fixes_eras_ = apart_ || eras_.one_in(5);
    weights_[index(Deed::tongue)] = fixes_eras_ ? 0 : eras_.of({0, 0, 1});
    weights_[index(Deed::listen)] = eras_.of({0, 2, 8});
    if (eras_.one_in(2)) tastes_[asking] = 6;
  }

  std::string tongue() {
    std::string text = eras_.of<const char*>({"modern", "modern", "dual", "dual", "legacy", "modern+mute",
                                              "modern+exits", "legacy+mute", "legacy+exits"});
    if (eras_.one_in(4)) text += eras_.of<const char*>({"+refuses", "+unknown", "+ends", "+unheard"});
    if (eras_.one_in(3)) text += "+rude";
    return text;
  }

  // If the configuration names a server's era, it is one that the server supports.
  std::string with_eras(std::string fleet) {
    if (fixes_eras_)
      for (const auto& [name, tongue] : tongues_) {
        const auto at = fleet.find(name + "=");
        if (at == std::string::npos || fleet.compare(at + name.size() + 1, 3, "cli") == 0) continue;
        const bool modern = tongue.starts_with("dual") ? eras_.one_in(2) : tongue.starts_with("modern");
        fleet.insert(std::min(fleet.find(' ', at), fleet.size()), modern ? ",era:modern" : ",era:legacy");
      }
    if (!tongues_.empty() && eras_.one_in(8))
      fleet += eras_.of<const char*>({" front:modern", " front:legacy"});
    return fleet;
  }

  // Some servers' builds are checked, in half of the seeds.
  std::string with_checks(std::string fleet) {
    if (apart_ || !checked_) return fleet;
    for (const char* const name : servers) {
      const auto at = fleet.find(fmt::format("{}=", name));
      const char* const word = checks_.of<const char*>({"", ",verify", ",gate", ",gate"});
      if (at != std::string::npos) fleet.insert(std::min(fleet.find(' ', at), fleet.size()), word);
    }
    return fleet;
  }

  char one_of(const std::string& letters) {
    return letters[static_cast<std::size_t>(eras_.below(static_cast<int>(letters.size())))];
  }
  std::string guest_name() {
    const int number = chance_.between(1, 2);
    return fmt::format("{}{}{}", guest_kinds_ == "g" ? 'g' : one_of(guest_kinds_), number,
                       few_ && number == 2 ? "f" : "");
  }
  int request() { return ++last_request_; }

  void greet() {
    if (silent_ || chance_.one_in(12)) return;  // this one never does
    std::string how = chance_.of<const char*>({"2025-06-18", "2025-11-25", "2025-03-26"});
    switch (speeches_.empty() ? 'l' : one_of(speeches_)) {
      case 'm':
        how = eras_.one_in(2) ? "modern" : "modern-blind";
        break;
      case 'd':
        how = "dual";
        break;
      case 'x':
        how = eras_.one_in(2) ? "mixed" : "mixed-blind";
        break;
      default:
        break;
    }
    add(Deed::hello, "-", request(), how);
    if (!how.starts_with('2') && eras_.one_in(2)) add(Deed::listen, "-", request(), listen());
    at_ += chance_.below(20'000);
    if (!chance_.one_in(12)) add(Deed::ready, "-", 0, "");
  }

  Deed draw_deed() {
    int all = 0;
    for (const int weight : weights_) all += weight;
    int drawn = chance_.below(all);
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if ((drawn -= weights_[i]) < 0) return static_cast<Deed>(i);
    return Deed::call;
  }

  // What a server should do with a call, in its arguments.
  std::string doing() {
    static constexpr auto things = std::to_array<const char*>(
        {"die",   "exit",  "hang", "garble", "twins", "batch",  "oversize", "large", "bare",      "float",
         "twice", "error", "fail", "flood",  "ask",   "change", "deaf",     "lose",  "die-after", "urls"});
    std::string text;
    const auto thing = static_cast<std::size_t>(chance_.below(static_cast<int>(things.size())));
    if (chance_.below(8) < tastes_[thing]) text += fmt::format(R"(,"do":"{}")", things[thing]);
    if (!chance_.one_in(3))
      text += fmt::format(R"(,"after":{})", chance_.one_in(6) ? chance_.below(2'000) : chance_.below(30));
    return text;
  }

  std::string tool() {
    return chance_.of<const char*>(
        {"work", "work", "work", "look", "put", "again", "shaped", "hidden", "extra1", "none"});
  }

  std::string call_text() {
    std::string text = fmt::format("{} {}", tool(), doing());
    if (chance_.one_in(3)) text += " +token";
    if (chance_.one_in(12)) text += " +task";
    return text;
  }

  void act() {
    Deed deed = draw_deed();
    if (deed == Deed::crowd && --crowds_ < 0) deed = Deed::call;  // they are long
    switch (deed) {
      case Deed::fleet:
        if (!apart_ && stops_.one_in(4)) return change_and_stop();
        return add(deed, "-", 0, fleet());
      case Deed::disk:
        return add(deed, "-", chance_.below(3), "");
      case Deed::hello:
        return greet();
      case Deed::call:
      case Deed::through:
        return add(deed, server(), request(), call_text());
      case Deed::crowd:
        crowd();
        return;
      case Deed::batch:
        add(deed, server(), last_request_ + 1, call_text());
        last_request_ += 3;
        return;
      case Deed::control:
        return add(deed, "-", request(), control());
      case Deed::type:
        return type();
      case Deed::leave:
        return add(deed, fmt::format("{}{}", letter(), chance_.below(3)), 0, "");
      case Deed::ask:
        return add(deed, "-", request(), question());
      case Deed::cancel:
        return add(deed, "-", std::max(1, last_request_ - chance_.below(8)), "");
      case Deed::notify:
        return add(
            deed, "-", 0,
            chance_.of<const char*>({"notifications/roots/list_changed {}", "notifications/initialized",
                                     "x/y [1]", "tools/call {\"name\":\"work\"}",
                                     "notifications/progress {\"progressToken\":1,\"progress\":1}",
                                     "notifications/cancelled {\"requestId\":\"nobody's\"}"}));
      case Deed::noise:
        return add(deed, "-", chance_.below(4), "");
      case Deed::deaf:
        return add(deed, "-", chance_.of({5, 50, 1'500, 20'000}), "");
      case Deed::quit:
      case Deed::vanish:
        if (chance_.one_in(3))
          add(Deed::births, server(), 2, chance_.of<const char*>({"hangs", "slow", "rejects"}));
        add(deed, "-", 0, "");
        at_ += 300'000;  // until the next one runs
        return greet();
      case Deed::guest:
        return guest();
      case Deed::part:
        return add(deed, guest_name(), 0, "");
      case Deed::kill:
        if (weights_[index(Deed::guest)] > 0 && chance_.one_in(2))
          return add(deed, server() + "~" + guest_name(), 0, "");
        return add(deed, server(), 0, "");
      case Deed::save:
      case Deed::replace:
        return add(deed, server(), 0, "");
      case Deed::blurt:
        return add(
            deed,
            server() + (weights_[index(Deed::guest)] > 0 && chance_.one_in(3) ? "~" + guest_name() : ""), 0,
            chance_.of<const char*>({"tools", "prompts", "resources", "log", "log-empty", "log-array",
                                     "log-none", "log-number", "garbage", "answer", "no-id", "progress",
                                     "updated", "ask", "flood"}));
      case Deed::daemon:
        return add(deed, server(), 0, chance_.of<const char*>({"up", "down", "up", "forget"}));
      case Deed::births:
        return births();
      case Deed::builds:
        return add(deed, server(), chance_.of({0, 30, 30, 700, -1}),
                   chance_.of<const char*>({"ok", "news", "fails"}));
      case Deed::slow:
        return add(deed, server(), chance_.below(2), "");
      case Deed::tongue:
        return add(deed, server(), chance_.below(2), tongue());
      case Deed::listen:
        return add(deed, "-", request(), listen());
      default:
        return add(deed, "-", 0, "");
    }
  }

  // "t0", or "s0", which controls all and knows no tools but mcpivot's.
  const char* letter() { return steers_ && steering_.one_in(2) ? "s" : "t"; }
  void type() {
    const int which = chance_.below(3);
    const int number = request();
    const bool calls = chance_.one_in(3);
    const char* const tool = calls ? chance_.of<const char*>({"work", "look"}) : "";
    const std::string of = calls ? server() : std::string();
    add(Deed::type, fmt::format("{}{}", calls ? "t" : letter(), which), number,
        calls ? fmt::format("{}__{} {}", of, tool, doing()) : control());
  }

  // The generation with the old configuration takes long to end; meanwhile someone stops the server, and a
  // client makes a call and doesn't wait for it.
  void change_and_stop() {
    const std::string name = servers[static_cast<std::size_t>(stops_.below(most_servers_))];
    add(Deed::slow, name, 1, "");
    add(Deed::call, name, request(), R"(work ,"after":1500)");
    at_ += stops_.below(5'000);
    add(Deed::fleet, "-", 0, fleet());
    at_ += stops_.below(50'000);
    add(Deed::type, "t0", request(), fmt::format(R"(pivot_restart {{"server":"{}","stop":true}})", name));
    at_ += stops_.below(100'000);
    add(Deed::call, name, request(), "work");
    at_ += 5'000 + stops_.below(100'000);
    add(Deed::cancel, "-", last_request_, "");
    if (stops_.one_in(2)) at_ += 1'500'000;
    add(Deed::slow, name, 0, "");
  }

  void births() {
    const std::string name = server();
    const int times = chance_.of({1, 1, 2, 5});
    const auto birth = static_cast<Birth>(chance_.below(static_cast<int>(Birth::late)));
    const bool late = !speeches_.empty() && eras_.one_in(8);
    add(Deed::births, name, times, std::string(name_of(late ? Birth::late : birth)));
  }

  // To a server that does not start, as often as not: then they wait.
  void crowd() {
    const std::string name = server();
    if (chance_.one_in(2)) {
      add(Deed::births, name, 1, "hangs");
      add(Deed::kill, name, 0, "");
      at_ += 1'000;
    }
    add(Deed::crowd, name, last_request_ + 1, call_text());
    last_request_ += crowd_size;
    if (weights_[index(Deed::guest)] == 0) return;
    at_ += 100'000;                // until all of them are there
    for (int i = 0; i < 3; ++i) {  // others also want to be served
      at_ += chance_.below(20'000);
      add(Deed::guest, name, request(),
          fmt::format("{} {} work", guest_name(), most_servers_ == 1 ? "call" : "through"));
    }
  }

  std::string listen() {
    std::string text = eras_.of<const char*>({"tools", "tools,prompts,resources", "resources", ""});
    if (eras_.one_in(2))
      text += fmt::format("{}sim://{}/one", text.empty() ? "" : ",",
                          servers[static_cast<std::size_t>(eras_.below(most_servers_))]);
    return text;
  }

  void guest() {
    const std::string name = guest_name();
    const auto act = [&](Deed deed, std::string at, int number, const std::string& text) {
      add(Deed::guest, std::move(at), number, fmt::format("{} {} {}", name, name_of(deed), text));
    };
    switch (chance_.below(10)) {
      case 0:
        return act(Deed::control, "-", request(), control());
      case 1:
        return act(Deed::ask, "-", request(), question());
      case 2:
        return act(Deed::cancel, "-", std::max(1, last_request_ - chance_.below(8)), "");
      case 3:
        return act(Deed::through, server(), request(), call_text());
      case 4:
        return act(Deed::deaf, "-", chance_.of({5, 50, 1'500}), "");
      default:
        if (!speeches_.empty() && eras_.one_in(12)) return act(Deed::listen, "-", request(), listen());
        return act(Deed::call, server(), request(), call_text());
    }
  }

  std::string control() {
    const std::string named = fmt::format(R"({{"server":"{}"}})", server());
    switch (chance_.below(14)) {
      case 0:
      case 1:
        if (checked_ && checks_.one_in(3))
          return fmt::format(R"({} {{"server":"{}","accept":true}})",
                             checks_.of<const char*>({"pivot_rebuild", "pivot_restart"}), server());
        return "pivot_rebuild " + named + (chance_.one_in(2) ? " +token" : "");
      case 2:
      case 3:
        return "pivot_restart " + named;
      case 4:
        return fmt::format(R"(pivot_restart {{"server":"{}","stop":true}})", server());
      case 5:
        return "pivot_status {}";
      case 6:
        return "pivot_status " + named;
      case 7:
        return "pivot_logs " + named;
      case 8:
      case 9:
        return "pivot_activate " + named;
      case 10:
        return "pivot_deactivate " + named;
      case 11:
        return R"(pivot_search {"query":"work"})";
      case 12:
        return R"(pivot_call {"tool":"nobody__has"})";
      default:
        return R"(pivot_restart {"server":7})";
    }
  }

  std::string question() {
    const std::string name = server();
    switch (chance_.below(14)) {
      case 0:
      case 1:
      case 2:
        return "tools/list";
      case 3:
        return "prompts/list";
      case 4:
        return "resources/list";
      case 5:
        return "resources/templates/list";
      case 6:
        return fmt::format(R"(logging/setLevel {{"level":"{}"}})",
                           chance_.of<const char*>({"info", "debug", "loud"}));
      case 7:
        return fmt::format(R"(resources/{} {{"uri":"sim://{}/one"}})",
                           chance_.of<const char*>({"read", "subscribe", "unsubscribe"}), name);
      case 8:
        return fmt::format(R"(prompts/get {{"name":"{}__greet"}})", name);
      case 9:
        if (!last_task_.empty() && chance_.one_in(2))  // no matter which client started it
          return fmt::format(R"(tasks/{} {{"taskId":"{}"}})", chance_.of<const char*>({"get", "result"}),
                             last_task_);
        return fmt::format(R"(tasks/{} {{"taskId":"{}-{}-{}"}})",
                           chance_.of<const char*>({"get", "result", "cancel"}), name, chance_.between(1, 3),
                           std::max(1, last_request_ - chance_.below(20)));
      case 10:
        return fmt::format(R"(completion/complete {{"ref":{{"type":"ref/prompt","name":"{}__greet"}}}})",
                           name);
      case 11:
        // Which eras a server supports is known to all once one client has asked.
        return apart_ ? "ping" : "server/discover";
      case 12:
        return "odd/method {}";
      default:
        return "ping";
    }
  }

  Chance chance_;
  Chance eras_;
  Chance views_;
  Chance checks_;
  Chance stops_;
  Chance steering_;
  bool checked_ = false;           // some builds are
  std::string speeches_;           // letters, one for each kind of client that comes; empty: legacy ones
  std::string guest_kinds_ = "g";  // the same for guests
  std::map<std::string, std::string> tongues_;  // of servers that aren't just legacy
  bool fixes_eras_ = false;                     // the configuration says which era servers have
  static constexpr std::size_t asking = 14;     // of tastes_
  bool few_ = false;                            // some guests come in by a profile
  bool steers_ = false;                         // there are terminals that control what all clients have
  bool apart_;                                  // the client and its guests share nothing
  Plan plan_;
  long at_ = 0;
  int last_request_ = 0;
  std::string last_task_;  // its id, if it came to that
  int most_servers_ = 1;
  int hurry_ = 1'000;
  int crowds_ = 0;
  bool silent_ = false;  // no client shakes hands
  std::array<int, static_cast<std::size_t>(Deed::count)> weights_{};
  std::array<int, 20> tastes_{};  // of doing()
};

}  // namespace

Plan draw_plan(std::uint64_t seed, int events) {
  return Drawing(seed, false).draw(events);
}

Plan draw_plan_apart(std::uint64_t seed, int events) {
  return Drawing(seed, true).draw(events);
}

}  // namespace simulation
