#include "oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "mcp/era.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::find_member;
using mcpivot::Kind;
using mcpivot::Message;
using mcpivot::Method;

namespace {

// The number in an id or a token, however it is spelled; 0: there is none.
int number_in(std::string_view id) {
  if (id.ends_with('"')) id.remove_suffix(1);
  std::size_t begin = id.size();
  while (begin > 0 && id[begin - 1] >= '0' && id[begin - 1] <= '9') --begin;
  int number = 0;
  std::from_chars(id.data() + begin, id.data() + id.size(), number);
  return number;
}

std::string name_of(int who) {
  return who == 0 ? "client" : who > 0 ? fmt::format("terminal {}", who) : fmt::format("guest {}", -who);
}

// "alpha" of "alpha~g1"
std::string own_name(const std::string& server) {
  return server.substr(0, server.find('~'));
}

constexpr std::string_view canary_begins = "canary-";
constexpr Millis soon{1'000};
constexpr int least_of_a_crowd = 64;     // a client with fewer open requests hasn't filled any room
constexpr std::size_t most_broken = 20;  // one is enough

}  // namespace

std::string Oracle::spelled(int number) {
  switch (number % 4) {
    case 0:
      return std::to_string(number);
    case 1:
      return fmt::format(R"("r-{}")", number);
    case 2:
      return fmt::format(R"("\u0072\"{}")", number);
    default:
      return fmt::format("-{}", number);
  }
}

std::string Oracle::token(int number) {
  return number % 2 == 0 ? fmt::format("{}", number) : fmt::format(R"("t{}")", number);
}

std::string Oracle::canary(int who) {
  return fmt::format("{}{}.", canary_begins, -who);
}

std::string Oracle::capabilities(int who) {
  return -who % 3 == 1 ? R"({"roots":{}})" : R"({"roots":{},"sampling":{},"elicitation":{}})";
}

void Oracle::violate(std::string what) {
  if (broken_.size() < most_broken)
    broken_.push_back(
        fmt::format("at {} ms: {}",
                    std::chrono::duration_cast<Millis>(clock_.now().time_since_epoch()).count() - 3'600'000,
                    std::move(what)));
}

bool Oracle::tracing = false;

void Oracle::trace(std::string_view who, std::string_view what) const {
  if (!tracing) return;
  const auto now =
      std::chrono::duration<double, std::milli>(clock_.now().time_since_epoch()).count() - 3'600'000;
  fmt::print("{:12.3f} {:>16} {}\n", now, who, brief(what));
}

std::string Oracle::brief(std::string_view line) const {
  return line.size() <= 600 ? std::string(line)
                            : fmt::format("{}… ({} bytes)", line.substr(0, 600), line.size());
}

Oracle::Request* Oracle::find(std::string_view id) {
  const auto found = requests_.find(number_in(id));
  return found != requests_.end() && spelled(found->first) == id ? &found->second : nullptr;
}

void Oracle::will_ask(Asked asked) {
  Request& request = requests_[asked.number];
  if (request.state != State::none) return violate(fmt::format("the plan uses {} twice", asked.number));
  // If a server of another kind has replaced the one that asked, it treats this as a new call.
  if (asked.of != 0 && asked.state.empty()) ++requests_[asked.of].extra;
  request.asked = std::move(asked);
  request.state = State::planned;
}

void Oracle::given(int who, const Message& message) {
  trace(fmt::format("{} says", name_of(who)), message.raw);
  if (message.kind == Kind::request) {
    Request* const request = find(message.text(message.id));
    if (request == nullptr || request->asked.who != who) return violate("the simulation lost a request");
    // A lone server gets every request that names no known server.
    if (request->asked.server.empty() || (server_called && server_called(request->asked.server) == nullptr)) {
      wanted_back();
      const std::string_view arguments = find_member(message.text(message.params), "arguments");
      const bool own = who >= 0;  // a guest stops its own instance
      if (own && find_member(arguments, "stop") == "true") {
        stop_wanted_ = mcpivot::string_value(find_member(arguments, "server"));
        stop_asked_ = request->asked.number;
      }
    } else {
      stopped_.erase(request->asked.server);
      stopped_.erase(own_name(request->asked.server));
    }
    if (message.known == Method::resources_subscribe)
      subscribed_[who].emplace(mcpivot::string_value(message.text(message.uri)));
    if (request->asked.of != 0 && request->asked.honesty != Asked::Honesty::good)
      odd_states_.insert(request->asked.state);
    if (request->state != State::planned) return;  // the caller has left meanwhile
    request->state = State::open;
    request->since = clock_.now();
    given_request(who, *request, message);
  } else if (message.is_answer()) {
    rounds_[who].erase(std::string(message.text(message.id)));
  } else if (message.known == Method::cancelled && message.request_id) {
    Request* const request = find(message.text(message.request_id));
    if (request == nullptr || request->state != State::open || request->asked.who != who ||
        !request->asked.cancellable)
      return;
    request->state = State::withdrawn;
    if (request->asked.of == 0) cancelled_ = request->asked.number;
    if (request->goes_on) cancelled_ = request->asked.of;
  }
}

void Oracle::taken() {
  const int number = std::exchange(cancelled_, 0);
  if (number != 0 && is_at_work && is_at_work(number))
    violate(fmt::format("{} was cancelled, and its server was not told", number));
}

void Oracle::gone(int who) {
  modern_.erase(who);
  mixed_.erase(who);
  shaken_.erase(who);
  want_logs_.erase(who);
  questions_.erase(who);
  rounds_.erase(who);
  for (auto& [number, request] : requests_) {
    if (request.asked.who != who) continue;
    if (request.state == State::open || request.state == State::planned) request.state = State::abandoned;
  }
}

void Oracle::forget_servers(const std::string& suffix) {
  std::erase_if(untold_, [&](const Untold& death) { return death.server.ends_with(suffix); });
  std::erase_if(due_, [&](const auto& due) { return due.first.ends_with(suffix); });
}

// --- what the core says

void Oracle::heard(std::string_view line) {
  ++said_;
  hash_.feed(line);
}

void Oracle::said(int who, std::string_view line) {
  trace(fmt::format("to {}", name_of(who)), line);
  heard(line);
  // What it logged is part of its output, which a crash report may show.
  const bool is_log = line.find("notifications/message") != std::string_view::npos;
  if (line.find("@@asks\"") != std::string_view::npos ||
      (is_log && line.find("@@says") != std::string_view::npos))
    violate("a client hears of a recorded call that was put to a server: " + brief(line));
  if (who <= 0) judge_apart(who, line);
  if (mcpivot::is_batch(line)) {
    const auto elements = mcpivot::read_batch(line);
    if (!elements) return violate("a batch that is not one: " + brief(line));
    for (const std::string_view element : *elements) {
      const auto message = mcpivot::read_message(element);
      if (!message || !message->is_answer()) {
        violate("a batch with something else in it: " + brief(line));
      } else {
        answered(who, *message);
      }
    }
    return;
  }
  const auto message = mcpivot::read_message(line);
  if (!message)
    return violate(fmt::format("mcpivot sent a line that isn't a message ({}): {}", message.error().reason,
                               brief(line)));
  if (message->is_answer() && message->id) return answered(who, *message);
  if (message->kind == Kind::request) questions_[who].emplace(message->text(message->id));
  note_question(who, line, *message);
  judge_unasked(who, *message);
  if (message->known != Method::progress) return;
  const std::string_view token_text = message->text(message->progress_token);
  const auto found = requests_.find(number_in(token_text));
  if (found == requests_.end() || token(found->first) != token_text || !found->second.asked.has_token)
    return violate("progress of what nobody asked for: " + brief(line));
  const Request& request = found->second;
  if (request.asked.who != who) return violate("progress for somebody else: " + brief(line));
  if (!request.asked.is_task && (request.state == State::answered || request.state == State::withdrawn))
    violate(fmt::format("progress after the {}: {}",
                        request.state == State::answered ? "answer" : "cancellation", brief(line)));
}

// What a client says to a shared server reaches no other client. A question from a shared server reaches
// nobody, unless it comes in the answer to a call, as modern servers ask: then it goes to that call's client.
void Oracle::judge_apart(int who, std::string_view line) {
  const std::string own = canary(who);
  for (auto at = line.find(canary_begins); at != std::string_view::npos;
       at = line.find(canary_begins, at + 1))
    if (!line.substr(at).starts_with(own)) return violate("what another client said is told: " + brief(line));
  if (line.find(R"("of":"shared)") == std::string_view::npos) return;
  const auto message = mcpivot::read_message(line);
  if (!message) return;
  if (line.find(R"("of":"shared")") == std::string_view::npos) {
    if (message->is_answer()) return;
    const std::string method = mcpivot::string_value(message->text(message->method));
    const std::string capability = method.substr(0, method.find('/'));
    if (find_member(capabilities(who), capability).empty())
      violate("a client is asked what it can't do: " + brief(line));
    return;
  }
  if (message->kind == Kind::request || message->is_answer())
    return violate("a server that is shared asks a client: " + brief(line));
  if (!subscribed_[who].contains(mcpivot::string_value(message->text(message->uri))))
    violate("an update for somebody else: " + brief(line));
}

// Questions for a call that takes several rounds end with the call.
void Oracle::note_question(int who, std::string_view line, const Message& message) {
  if (message.known == Method::cancelled) {
    rounds_[who].erase(std::string(message.text(message.request_id)));
  } else if (message.kind == Kind::request && line.find(R"("of":"shared-round")") != std::string_view::npos) {
    rounds_[who][std::string(message.text(message.id))] =
        number_in(find_member(message.text(message.params), "n"));
  }
}

void Oracle::answered(int who, const Message& message) {
  Request* const request = find(message.text(message.id));
  if (request == nullptr) return violate("an answer that nobody asked for: " + brief(message.raw));
  const int number = request->asked.number;
  if (request->asked.who != who) return violate("an answer for somebody else: " + brief(message.raw));
  switch (request->state) {
    case State::answered:
      return violate(fmt::format("{} is answered twice: {}", number, brief(message.raw)));
    case State::withdrawn:
      if (request->asked.in_batch) return note_deaths(who, message.raw);
      return violate(fmt::format("{} is answered though it was cancelled: {}", number, brief(message.raw)));
    case State::abandoned:
      return violate(fmt::format("{} is answered though the caller is gone: {}", number, brief(message.raw)));
    case State::open:
      break;
    default:
      return violate(fmt::format("{} is answered before it was asked: {}", number, brief(message.raw)));
  }
  request->state = State::answered;
  if (number == stop_asked_ && (message.is_error || message.kind == Kind::error)) stop_was_refused();
  for (const auto& [id, of] : rounds_[who])
    if (of == number)
      return violate(fmt::format("{} is answered, and its client is still asked {}: {}", number, id,
                                 brief(message.raw)));
  if (const auto took = clock_.since(request->since);
      took > request->asked.limit && !request->asked.is_listen)
    violate(fmt::format("{} is answered after {} ms: {}", number, took.count(), brief(message.raw)));
  note_deaths(who, message.raw);
  if (judge_era(who, *request, message)) judge_words(*request, message);
}

// By its own server, with its own number; or by mcpivot, which says so.
void Oracle::judge_words(Request& request, const Message& message) {
  const Asked& asked = request.asked;
  if (!asked.is_call) return;
  // What pivot_call says about whose answer it is must not pass for mcpivot's own reason.
  std::string without_heading;
  std::string_view raw = message.raw;
  if (const auto begins = raw.find(asked.heading); !asked.heading.empty() && begins != std::string_view::npos)
    raw = without_heading = std::string(raw).erase(begins, asked.heading.size());
  const bool has_heading = !without_heading.empty();
  if (raw.find(R"(\", tool \")") != std::string_view::npos)
    return violate(fmt::format("{} says whose answer it is wrongly: {}", asked.number, brief(raw)));
  const int number = asked.of == 0 ? asked.number : asked.of;
  const std::string mark = fmt::format("#{}.", number);
  const auto at = raw.find(mark);
  const bool by_us = raw.find("[mcpivot]") != std::string_view::npos;
  if (at != std::string_view::npos) {
    std::size_t begin = at;
    while (begin > 0 && raw[begin - 1] != '@') --begin;
    const std::string_view by = raw.substr(begin, at - begin);
    const bool shared = by == own_name(asked.server) && shared_.contains(own_name(asked.server));
    if (!asked.server.empty() && by != asked.server && !shared)
      return violate(
          fmt::format("{} was for {}, and {} answered: {}", asked.number, asked.server, by, brief(raw)));
    // What a server printed may be quoted in the report of its death, which names it anyway.
    const bool quoted = raw.find("(death ") != std::string_view::npos && raw.find("(death ") < at;
    if (!asked.heading.empty() && !has_heading && !quoted && message.kind == Kind::result &&
        find_member(message.text(message.result), "content").starts_with('['))
      return violate(fmt::format("{} was called by pivot_call, and its answer does not say so: {}",
                                 asked.number, brief(raw)));
    if (!quoted) count_use(asked);
    if (requests_.at(number).executed == 0)
      return violate(fmt::format("{} was answered, but never executed", asked.number));
    request.well = true;
    return;
  }
  if (!by_us && message.kind == Kind::result && raw.find('@') != std::string_view::npos)
    return violate(fmt::format("{} got the answer of another: {}", asked.number, brief(raw)));
  // While the client reads nothing, mcpivot doesn't read from its servers either, so a time limit may come
  // first.
  const bool otherwise = raw.find("timed out after") != std::string_view::npos ||
                         raw.find("mcpivot is shutting down") != std::string_view::npos;
  if (request.death > 0 && !asked.may_repeat && !otherwise &&
      raw.find(fmt::format("(death {})", request.death)) == std::string_view::npos)
    return violate(fmt::format("{} was under way at death {}, which its answer does not tell: {}",
                               asked.number, request.death, brief(raw)));
  judge_excuse(asked, raw);
  if (message.kind == Kind::result && !by_us && !asked.is_task)
    violate(fmt::format("{} has an answer that says neither whose it is nor why not: {}", asked.number,
                        brief(raw)));
}

// Whether mcpivot's reason for not having an answer can be true.
void Oracle::judge_excuse(const Asked& asked, std::string_view raw) {
  const auto says = [&](std::string_view words) { return raw.find(words) != std::string_view::npos; };
  const auto request = requests_.find(asked.number);
  // If the client didn't know the tool, nobody knows which server it belongs to. A lone server gets what
  // names none that is there.
  const bool may_be_any = asked.server.empty() || (server_called && server_called(asked.server) == nullptr);
  const bool unheard = std::ranges::any_of(ignored_, [&](const auto& ignored) {
    return (may_be_any || ignored.first == asked.server) && ignored.second >= request->second.since;
  });
  if (all_listen && asked.is_prompt && !unheard && says("timed out after"))
    return violate(
        fmt::format("{} was answered, but mcpivot says that it was not: {}", asked.number, brief(raw)));
  if (says("requests wait for it already") && !asked.in_batch) {  // there, it may have been so a while ago
    const auto open = std::ranges::count_if(requests_, [&](const auto& entry) {
      return entry.second.asked.who == asked.who && entry.second.state == State::open;
    });
    if (open < least_of_a_crowd)
      return violate(fmt::format("{} finds no room to wait, though its client has {} requests open: {}",
                                 asked.number, open, brief(raw)));
  }
  // How long it has to, as every fleet has it; a call that goes on may have begun long ago.
  for (const auto& [words, least] : {std::pair("waited 2 s for it to be ready", Millis(2'000)),
                                     std::pair("waited 2.5 s for its turn", Millis(2'500)),
                                     std::pair("timed out after 2.5 s", Millis(2'500))})
    if (asked.of == 0 && says(words) && clock_.now() - request->second.since < least)
      return violate(
          fmt::format("{} is said to have waited longer than it has: {}", asked.number, brief(raw)));
  const auto call = requests_.find(asked.of == 0 ? asked.number : asked.of);
  if (all_listen && says("timed out after") && call->second.finished > mcpivot::Clock::Time() &&
      clock_.since(call->second.finished) > soon)
    return violate(fmt::format("{} was answered long ago, but mcpivot says that it was not: {}", asked.number,
                               brief(raw)));
  const mcpivot::Instance* const server =
      server_called && !asked.server.empty() ? server_called(asked.server) : nullptr;
  // In a batch it may have been so a while ago.
  if (server != nullptr && !asked.in_batch && server->state() == mcpivot::Instance::State::ready &&
      says("for it to be ready") && !says("a new generation takes its place") &&
      says(fmt::format(R"(server \"{}\" )", asked.server)))
    return violate(fmt::format("{} waited for a server that is ready: {}", asked.number, brief(raw)));
  // A daemon that rejects us is running: callers are told immediately instead of waiting for it, unless it
  // is being built or stopped, or can't run twice and an earlier generation still runs.
  if (server != nullptr && !asked.in_batch && server->life().is_refused() && !server->status().building &&
      !is_being_stopped(asked.server) && server->life().coming() == mcpivot::Life::Next::nothing &&
      says("for it to be ready") && !says("an earlier generation has yet to end") &&
      says(fmt::format(R"(server \"{}\" )", asked.server)))
    violate(fmt::format("{} waited for a server that had said no: {}", asked.number, brief(raw)));
}

// --- what servers do

void Oracle::executed(int number, const std::string& server) {
  if (number == 0) return;  // one of mcpivot's own names, which a server uses too
  const auto found = requests_.find(number);
  if (found == requests_.end())
    return violate(fmt::format("{} executed {}, which nobody asked for", server, number));
  Request& request = found->second;
  if (++request.executed > 1 + request.extra && !request.asked.may_repeat)
    violate(fmt::format("{} was executed twice, the second time by {}", number, server));
}

void Oracle::not_yet(int number) {
  if (const auto found = requests_.find(number); found != requests_.end()) ++found->second.extra;
}

void Oracle::finished(int number) {
  if (const auto found = requests_.find(number); found != requests_.end())
    found->second.finished = clock_.now();
}

int Oracle::died(const std::string& server, const std::vector<int>& open) {
  const bool guests = server.find('~') != std::string::npos;
  const int number = guests ? 1'000'000 + ++deaths_of_guests_ : ++deaths_;
  for (const int call : open) {
    const auto found = requests_.find(call);
    if (found != requests_.end() && found->second.state == State::open) found->second.death = number;
  }
  return number;
}

void Oracle::buried(const std::string& server, pid_t pid, int death, bool answered) {
  if (!serves(server, pid)) return;
  if (tells_model && tells_model(server)) untold_.push_back({death, server});
  const mcpivot::Instance* const of = server_called ? server_called(server) : nullptr;
  // The next one may be starting already; or the server may be a daemon by now, which starts on its own
  // schedule.
  if (answered && of != nullptr && of->life().coming() == mcpivot::Life::Next::nothing &&
      !of->status().building && !of->config().is_daemon())
    due_.emplace(server, clock_.now() + soon);
}

// A process that had answered something is restarted immediately.
void Oracle::born(const std::string& server) {
  refused_era_.erase(server);
  ++starts_[server];
  if (stopped_.erase(server) > 0)
    violate(fmt::format("{} was stopped on request, and is started though nobody asks for it", server));
  const auto due = due_.find(server);
  if (due == due_.end()) return;
  if (clock_.now() > due->second)
    violate(fmt::format("{} had answered before it died, and was not started again at once", server));
  due_.erase(due);
}

void Oracle::ended_with_tasks(const std::string& server, Millis since_last) {
  const mcpivot::Instance* const of = server_called ? server_called(server) : nullptr;
  if (of == nullptr || since_last >= of->config().call_timeout) return;
  if (of->trouble().find("nobody needed it") != std::string::npos)
    violate(fmt::format("{} was stopped because nobody needed it, though it had a task", server));
}

void Oracle::sent_to(const std::string& server, std::string_view line) {
  trace("to " + server, line);
  heard(line);
  if (cancelled_ != 0 && line.find(R"("notifications/cancelled")") != std::string_view::npos) cancelled_ = 0;
  if (line.find(R"("tools/call")") == std::string_view::npos) return;
  const auto message = mcpivot::read_message(line);
  if (!message) return violate("a line that was sent to a server isn't a message: " + brief(line));
  const std::string tool = mcpivot::string_value(message->text(message->name));
  // The next round of a call that a bridge makes keeps the permissions that it began with.
  const bool is_round = message->text(message->id).starts_with(R"("retry-)");
  if (allows && !is_round && !allows(server, tool))
    violate(fmt::format("{} was sent a call of {}, which the configuration forbids", server, tool));
  judge_capabilities(server, *message);
}

// A modern server is told the capabilities of the client that calls. A shared one is told none by a client
// that declared none, and none in a call that is replayed for its next generation.
void Oracle::judge_capabilities(const std::string& server, const Message& call) {
  const std::string_view told = find_member(call.text(call.meta), mcpivot::meta_key::client_capabilities);
  const auto at = call.raw.find(canary_begins);
  if (told.empty() || at == std::string_view::npos) return;
  int who = 0;
  const std::string_view digits = call.raw.substr(at + canary_begins.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), who);
  // A call continues as it began, possibly before its client identified itself.
  const bool excused =
      !shaken_.contains(-who) || call.request_state || mcpivot::same_id(call.text(call.name), R"("again")");
  if (told != capabilities(-who) && !(told == "{}" && excused && shared_.contains(own_name(server))))
    violate(fmt::format("{} is told what another client can do: {}", server, brief(call.raw)));
}

// A death counts as reported wherever its number appears, to a client of that server; "left out" covers all
// that were due.
void Oracle::note_deaths(int who, std::string_view line) {
  if (untold_.empty() || line.find("[mcpivot]") == std::string_view::npos) return;
  const bool left_out = line.find("earlier notices left out") != std::string_view::npos;
  std::erase_if(untold_, [&](const Untold& death) {
    if (who <= 0 && whose && whose(death.server) != who) return false;
    return left_out || line.find(fmt::format("(death {})", death.number)) != std::string_view::npos;
  });
}

// --- the end

bool Oracle::was_answered(int number) const {
  const auto found = requests_.find(number);
  return found != requests_.end() && found->second.state == State::answered;
}

bool Oracle::was_answered_well(int number) const {
  const auto found = requests_.find(number);
  return found != requests_.end() && found->second.well;
}

void Oracle::judge_end(bool of_mcpivot) {
  std::vector<int> never;
  for (const auto& [number, request] : requests_)
    if (request.state == State::open && (of_mcpivot || !request.asked.is_listen)) never.push_back(number);
  std::ranges::sort(never);
  for (const int number : never) violate(fmt::format("{} is never answered", number));
}

void Oracle::judge_deaths(int who) {
  for (const Untold& death : untold_)
    if (!whose || whose(death.server) == who)
      violate(fmt::format("death {} (of {}) is never told", death.number, death.server));
}

}  // namespace simulation
