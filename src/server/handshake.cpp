#include "server/handshake.h"

#include <fmt/format.h>

#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// A server whose pages never end must not keep us for ever.
constexpr int most_pages = 1000;

// One fetch_lists() under way: all lists at once, each page by page.
struct Fetch : std::enable_shared_from_this<Fetch> {
  Generation& generation;
  Catalog catalog;
  std::size_t open = 0;
  std::function<void(Catalog)> on_done;

  Fetch(Generation& of, std::function<void(Catalog)> done) : generation(of), on_done(std::move(done)) {}

  void page(ListKind kind, const std::string& params, int number) {
    generation.inquire(words(kind).method, params,
                       [self = shared_from_this(), kind, number](const Message& answer) {
                         std::string cursor;
                         if (answer.kind == Kind::result)
                           cursor = self->catalog.add_page(kind, answer.text(answer.result));
                         if (cursor.starts_with('"') && number < most_pages)
                           return self->page(kind, fmt::format(R"({{"cursor":{}}})", cursor), number + 1);
                         if (--self->open == 0) self->on_done(std::move(self->catalog));
                       });
  }
};

// Whether a server can take such a call at all.
bool takes(std::string_view initialize_result, std::string_view method) {
  if (method == "logging/setLevel") return has_capability(initialize_result, "logging");
  return method != "resources/subscribe" || takes_subscriptions(initialize_result);
}

std::string error_text(const Message& answer) {
  const std::string_view message = find_member(answer.text(answer.error), "message");
  return message.starts_with('"') ? string_value(message) : std::string(answer.text(answer.error));
}

}  // namespace

void fetch_lists(Generation& generation, const std::vector<ListKind>& kinds,
                 std::function<void(Catalog)> on_done) {
  if (kinds.empty()) return on_done(Catalog());
  auto fetch = std::make_shared<Fetch>(generation, std::move(on_done));
  fetch->open = kinds.size();
  for (const ListKind kind : kinds) fetch->page(kind, {}, 1);
}

Handshake::Handshake(Generation& generation, std::string hello, std::vector<Replay::Call> calls,
                     OnDone on_done)
    : generation_(generation),
      hello_(std::move(hello)),
      calls_(std::move(calls)),
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
  generation_.notify(request_line({}, "notifications/initialized", {}));
  std::vector<ListKind> kinds;
  for (const ListKind kind : all_lists)
    if (has_capability(outcome_.initialize_result, words(kind).capability)) kinds.push_back(kind);
  fetch_lists(generation_, kinds, [weak = weak_from_this()](Catalog catalog) {
    auto self = weak.lock();
    if (!self) return;
    self->outcome_.catalog = std::move(catalog);
    self->replay_from(0);
  });
}

void Handshake::replay_from(std::size_t index) {
  if (index == calls_.size()) return on_done_(std::move(outcome_));
  if (!takes(outcome_.initialize_result, calls_[index].method)) return replay_from(index + 1);
  generation_.inquire(
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
