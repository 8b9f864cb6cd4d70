#include "server/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "mcp/era.h"
#include "mcp/initialize.h"
#include "mcp/request_meta.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A server whose pages never end must not keep us busy forever.
constexpr int most_pages = 1000;

std::string error_text(const Message& answer) {
  const std::string_view message = find_member(answer.text(answer.error), "message");
  return message.starts_with('"') ? string_value(message) : std::string(answer.text(answer.error));
}

// A server may announce prompts or resources and support only some of their methods.
bool knows_no_such_list(ListKind kind, const Message& answer) {
  return kind != ListKind::tools && find_member(answer.text(answer.error), "code") == "-32601";
}

std::string_view http_status(const Message& error) {
  return find_member(find_member(error.text(error.error), "data"), "httpStatus");
}

// A server that is broken or busy may work in a moment.
bool is_final(const Message& error) {
  const std::string_view status = http_status(error);
  return !status.starts_with('5') && status != "408" && status != "425" && status != "429";
}

// One fetch_lists() under way: all lists at once, each page by page.
struct Fetch : std::enable_shared_from_this<Fetch> {
  Generation& generation;
  FetchedLists lists;
  std::size_t open = 0;
  std::function<void(FetchedLists)> on_done;

  Fetch(Generation& of, std::function<void(FetchedLists)> done) : generation(of), on_done(std::move(done)) {}

  void page(ListKind kind, const std::string& cursor, int number) {
    const std::string params = cursor.empty() ? "" : fmt::format(R"({{"cursor":{}}})", cursor);
    generation.inquire(words(kind).method, params,
                       [self = shared_from_this(), kind, cursor, number](const Message& answer) {
                         self->on_page(kind, cursor, number, answer);
                       });
  }

  void on_page(ListKind kind, const std::string& cursor, int number, const Message& answer) {
    const std::string_view result =
        answer.kind == Kind::result ? answer.text(answer.result) : std::string_view();
    std::string next;
    if (answer.kind != Kind::result) {
      if (!knows_no_such_list(kind, answer))
        refuse(kind, fmt::format("was refused: {}", error_text(answer)), is_final(answer));
    } else if (!find_member(result, words(kind).member).starts_with('[')) {
      refuse(kind, fmt::format("returned no list of {}", words(kind).member));
    } else {
      next = lists.catalog.add_page(kind, result);
      if (kind == ListKind::tools && !next.starts_with('"'))
        generation.learn_tools(lists.catalog.list(ListKind::tools));
    }
    if (next.starts_with('"')) {
      if (number < most_pages && next != cursor) return page(kind, next, number + 1);
      refuse(kind, fmt::format("doesn't end (after {} pages)", number));
    }
    if (--open == 0) on_done(std::move(lists));
  }

  void refuse(ListKind kind, const std::string& how, bool final = false) {
    lists.catalog.list(kind).clear();
    lists.refusals.push_back({kind, fmt::format("{} {}", words(kind).method, how), final});
  }
};

// Whether a server can take such a call at all.
bool takes(Era era, std::string_view initialize_result, std::string_view method) {
  if (era == Era::modern) return method == "tools/call";  // it has no lasting settings
  if (method == "logging/setLevel") return has_capability(initialize_result, "logging");
  return method != "resources/subscribe" || takes_subscriptions(initialize_result);
}

// What is wrong with the result of a handshake; empty: nothing.
std::string fault_in_handshake(Era era, std::string_view result) {
  if (!result.starts_with('{')) return "it isn't an object";
  if (era == Era::modern && !is_discover_result(result)) return "it names no supportedVersions";
  if (era == Era::legacy && !find_member(result, "protocolVersion").starts_with('"'))
    return "it names no protocolVersion";
  if (!find_member(result, "capabilities").starts_with('{')) return "it names no capabilities";
  return {};
}

}  // namespace

bool speaks_of_era(const Message& error) {
  const std::string_view status = http_status(error);
  return status != "401" && status != "403" && !status.starts_with('5');
}

void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(FetchedLists)> on_done) {
  if (kinds.empty()) return on_done({});
  auto fetch = std::make_shared<Fetch>(generation, std::move(on_done));
  fetch->open = kinds.size();
  for (const ListKind kind : kinds) fetch->page(kind, {}, 1);
}

Handshake::Handshake(Generation& generation, std::string hello, Era era, std::vector<Replay::Call> calls,
                     MayMake may_make)
    : generation_(generation),
      hello_(std::move(hello)),
      era_(era),
      calls_(std::move(calls)),
      may_make_(std::move(may_make)) {}

void Handshake::start(std::function<void()> on_open, OnDone on_done) {
  on_open_ = std::move(on_open);
  on_done_ = std::move(on_done);
  const auto on_answer = [weak = weak_from_this()](const Message& answer) {
    if (auto self = weak.lock()) self->on_opened(answer);
  };
  if (era_ == Era::legacy) {
    opening_ = generation_.inquire("initialize", hello_, on_answer);
    return;
  }
  const auto on_first_answer = [weak = weak_from_this(), on_answer](const Message& answer) {
    const auto self = weak.lock();
    if (!self || !wants_modern_again(answer)) return on_answer(answer);
    self->opening_ = self->generation_.inquire("server/discover", {}, on_answer);
  };
  opening_ = generation_.inquire("server/discover", {}, on_first_answer);
}

void Handshake::on_opened(const Message& answer) {
  const std::string_view method = era_ == Era::legacy ? "initialize" : "server/discover";
  if (answer.kind != Kind::result) {
    std::string words = error_text(answer);  // a bridge's error already says what was rejected
    const std::string name = generation_.config().name + ": ";
    if (words.starts_with(name)) words.erase(0, name.size());  // the reader knows which server it is about
    return on_done_(std::unexpected(Failure{
        words.starts_with("the server ") ? words : fmt::format("the server rejected `{}`: {}", method, words),
        speaks_of_era(answer), is_final(answer)}));
  }
  outcome_.initialize_result = answer.text(answer.result);
  if (const std::string fault = fault_in_handshake(era_, outcome_.initialize_result); !fault.empty())
    return on_done_(
        std::unexpected(Failure{.why = fmt::format("its answer to {} isn't valid MCP: {}", method, fault),
                                .refused = false,
                                .final = true}));
  if (era_ == Era::modern && !offers_modern(outcome_.initialize_result))
    return on_done_(std::unexpected(
        Failure{.why = fmt::format("it doesn't offer protocol version {}", string_value(modern_version)),
                .refused = true,
                .final = true}));
  opened_ = true;
  on_open_();
  if (era_ == Era::legacy) {
    generation_.notify(request_line({}, "notifications/initialized", {}));
  } else {
    generation_.listen(outcome_.initialize_result);
  }
  fetch();
}

void Handshake::fetch() {
  std::vector<ListKind> kinds;
  for (const ListKind kind : all_lists)
    if (has_capability(outcome_.initialize_result, words(kind).capability)) kinds.push_back(kind);
  fetch_lists(generation_, kinds, [weak = weak_from_this()](FetchedLists lists) {
    auto self = weak.lock();
    if (!self) return;
    self->outcome_.lists = std::move(lists);
    self->replay_from(0);
  });
}

bool Handshake::make_up_for(std::vector<Replay::Call> calls, const Outcome& outcome) {
  using Key = std::pair<std::string_view, std::string>;
  const auto key_of = [](const Replay::Call& call) { return Key(call.method, call.params); };
  const auto keys_of = [&](const std::vector<Replay::Call>& list) {
    std::set<Key> keys;
    for (const Replay::Call& call : list) keys.insert(key_of(call));
    return keys;
  };
  const std::set<Key> wanted = keys_of(calls);
  std::ranges::move(std::exchange(calls_, {}), std::back_inserter(made_));
  std::erase_if(made_, [&](const Replay::Call& call) {
    if (wanted.contains(key_of(call))) return false;
    if (call.method == "resources/subscribe" && takes(era_, outcome.initialize_result, call.method))
      generation_.inquire("resources/unsubscribe", call.params, [](const Message&) {});
    return true;
  });
  const std::set<Key> made = keys_of(made_);
  std::erase_if(calls, [&](const Replay::Call& call) { return made.contains(key_of(call)); });
  if (calls.empty()) return false;
  const auto keep = shared_from_this();
  calls_ = std::move(calls);
  outcome_ = {.initialize_result = outcome.initialize_result, .lists = {}, .failed_replays = {}};
  replay_from(0);
  return true;
}

bool Handshake::finish_without_replay(std::string_view why) {
  if (replaying() == nullptr) return false;
  generation_.inquire_no_more(inquiry_);
  outcome_.failed_replays.push_back(fmt::format("{} ({})", calls_[replaying_].label, why));
  for (std::size_t i = replaying_ + 1; i < calls_.size(); ++i)
    outcome_.failed_replays.push_back(fmt::format("{} (there was no time left)", calls_[i].label));
  replaying_ = calls_.size();
  on_done_(std::move(outcome_));
  return true;
}

void Handshake::replay_from(std::size_t index) {
  const auto may = [this](const Replay::Call& call) {
    return takes(era_, outcome_.initialize_result, call.method) && may_make_(call);
  };
  while (index < calls_.size() && !may(calls_[index])) ++index;
  replaying_ = index;
  if (index == calls_.size()) return on_done_(std::move(outcome_));
  const std::int64_t inquiry = generation_.inquire(
      calls_[index].method, calls_[index].params, [weak = weak_from_this(), index](const Message& answer) {
        auto self = weak.lock();
        if (!self) return;
        const std::string_view result = answer.text(answer.result);
        const std::string why = answer.kind != Kind::result ? error_text(answer)
                                : answer.is_error           ? "isError"
                                : is_input_required(result) ? "it asks for input"
                                                            : "";
        if (!why.empty())
          self->outcome_.failed_replays.push_back(fmt::format("{} ({})", self->calls_[index].label, why));
        self->replay_from(index + 1);
      });
  if (replaying_ == index) inquiry_ = inquiry;  // else it has been answered, and another one is under way
}

}  // namespace mcpivot
