#include "server/handshake.h"

#include <fmt/format.h>

#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A server whose pages never end must not keep us for ever.
constexpr int most_pages = 1000;

std::string error_text(const Message& answer) {
  const std::string_view message = find_member(answer.text(answer.error), "message");
  return message.starts_with('"') ? string_value(message) : std::string(answer.text(answer.error));
}

// A server may say that it has prompts or resources and mean only some of their methods.
bool knows_no_such_list(ListKind kind, const Message& answer) {
  return kind != ListKind::tools && find_member(answer.text(answer.error), "code") == "-32601";
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
      if (!knows_no_such_list(kind, answer)) refuse(kind, fmt::format("was refused: {}", error_text(answer)));
    } else if (!find_member(result, words(kind).member).starts_with('[')) {
      refuse(kind, fmt::format("was answered without a list of {}", words(kind).member));
    } else {
      next = lists.catalog.add_page(kind, result);
    }
    if (next.starts_with('"')) {
      if (number < most_pages && next != cursor) return page(kind, next, number + 1);
      refuse(kind, fmt::format("does not come to an end (after {} pages)", number));
    }
    if (--open == 0) on_done(std::move(lists));
  }

  void refuse(ListKind kind, const std::string& how) {
    lists.catalog.list(kind).clear();
    lists.refusals.push_back({kind, fmt::format("{} {}", words(kind).method, how)});
  }
};

// Whether a server can take such a call at all.
bool takes(std::string_view initialize_result, std::string_view method) {
  if (method == "logging/setLevel") return has_capability(initialize_result, "logging");
  return method != "resources/subscribe" || takes_subscriptions(initialize_result);
}

// What is wrong with the result of a handshake; empty if it is one.
std::string fault_in_handshake(std::string_view result) {
  if (!result.starts_with('{')) return "it is no object";
  if (!find_member(result, "protocolVersion").starts_with('"')) return "it names no protocolVersion";
  if (!find_member(result, "capabilities").starts_with('{')) return "it names no capabilities";
  return {};
}

}  // namespace

void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(FetchedLists)> on_done) {
  if (kinds.empty()) return on_done({});
  auto fetch = std::make_shared<Fetch>(generation, std::move(on_done));
  fetch->open = kinds.size();
  for (const ListKind kind : kinds) fetch->page(kind, {}, 1);
}

Handshake::Handshake(Generation& generation, std::string hello, std::vector<Replay::Call> calls,
                     MayMake may_make, OnDone on_done)
    : generation_(generation),
      hello_(std::move(hello)),
      calls_(std::move(calls)),
      may_make_(std::move(may_make)),
      on_done_(std::move(on_done)) {}

void Handshake::start() {
  generation_.inquire("initialize", hello_, [weak = weak_from_this()](const Message& answer) {
    if (auto self = weak.lock()) self->on_initialized(answer);
  });
}

void Handshake::on_initialized(const Message& answer) {
  if (answer.kind != Kind::result)
    return on_done_(std::unexpected(fmt::format("it refused the handshake: {}", error_text(answer))));
  outcome_.initialize_result = answer.text(answer.result);
  if (const std::string fault = fault_in_handshake(outcome_.initialize_result); !fault.empty())
    return on_done_(
        std::unexpected(fmt::format("its answer to initialize is not what MCP asks for: {}", fault)));
  generation_.notify(request_line({}, "notifications/initialized", {}));
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
  replaying_ = calls_.size();
  if (index == calls_.size()) return on_done_(std::move(outcome_));
  if (!takes(outcome_.initialize_result, calls_[index].method) || !may_make_(calls_[index]))
    return replay_from(index + 1);
  replaying_ = index;
  inquiry_ = generation_.inquire(
      calls_[index].method, calls_[index].params, [weak = weak_from_this(), index](const Message& answer) {
        auto self = weak.lock();
        if (!self) return;
        const bool failed =
            answer.kind != Kind::result || find_member(answer.text(answer.result), "isError") == "true";
        if (failed)
          self->outcome_.failed_replays.push_back(
              fmt::format("{} ({})", self->calls_[index].label,
                          answer.kind == Kind::result ? std::string("isError") : error_text(answer)));
        self->replay_from(index + 1);
      });
}

}  // namespace mcpivot
