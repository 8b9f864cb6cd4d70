#include "server/generation.h"

#include <algorithm>

#include "base/contains.h"
#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Batches exist in one version of the protocol only.
constexpr std::string_view version_with_batches = R"("2025-03-26")";
constexpr std::size_t garbage_shown = 500;
constexpr std::size_t most_tasks = 1024;
// Progress keeps a call alive, but not longer than so many times the limit for one without.
constexpr int most_patience = 6;

}  // namespace

std::expected<std::shared_ptr<Generation>, std::string> Generation::start(World& world,
                                                                          const Clients& clients,
                                                                          ConfigRef config, GenerationId id,
                                                                          OutputRing& ring, Owner& owner,
                                                                          const Backend* predecessor) {
  auto backend = world.make_backend(config, id, ring, predecessor);
  if (!backend) return std::unexpected(backend.error());
  std::shared_ptr<Generation> generation(
      new Generation(world.timers(), clients, std::move(config), id, std::move(*backend), ring, owner));
  log_info("{}: generation {} started, {}", generation->config().name, id.number,
           generation->backend().where());
  generation->backend_->start(*generation,
                              [weak = generation->weak_from_this()](const Backend::Ending& ending) {
                                if (auto self = weak.lock()) self->die(ending);
                              });
  return generation;
}

Generation::Generation(Timers& timers, const Clients& clients, ConfigRef config, GenerationId id,
                       std::shared_ptr<Backend> backend, OutputRing& ring, Owner& owner)
    : clock_(timers),
      clients_(clients),
      config_(std::move(config)),
      id_(id),
      backend_(std::move(backend)),
      link_(backend_->link()),
      ring_(ring),
      owner_(owner),
      late_(timers),
      started_(timers.now()),
      asked_(timers) {}

Generation::~Generation() {
  backend_->close();
}

void Generation::request(Asker asker, const Message& message, int sent_before) {
  const std::int64_t own = asked_.add(message, asker);
  const IdText id(own);
  link_.send(message,
             Edits().replace(message.id, id.view()).replace(message.progress_token, id.view()).list());
  Requests::Request& request = *asked_.find(own);
  request.sent_before = sent_before;
  request.position = link_.position();
  last_asked_ = request.asked;
}

std::int64_t Generation::inquire(std::string_view method, std::string_view params, OnAnswer on_answer) {
  const std::int64_t own = asked_.add_own({});
  inquiries_.emplace(own, std::move(on_answer));
  if (method == "initialize") asked_.find(own)->known = Method::initialize;
  link_.send(request_line(IdText(own).view(), method, params));
  return own;
}

void Generation::inquire_no_more(std::int64_t inquiry) {
  if (inquiries_.erase(inquiry) == 0) return;
  asked_.close(inquiry);
  link_.send(cancellation(IdText(inquiry).view(), "it took too long"));
}

void Generation::notify(const Message& message) {
  link_.send(message, {});
}

void Generation::answer_inquiry(std::int64_t own, const Message& message) {
  const auto inquiry = inquiries_.extract(own);
  if (!inquiry.empty()) inquiry.mapped()(message);
}

bool Generation::cancel(ClientId client, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  const std::int64_t own =
      asked_.find_original(id, [&](const Asker& asker) { return asker.client == client; });
  if (own == 0) return false;
  const Asker asker = asked_.find(own)->origin;
  asked_.close(own);
  link_.send(cancelled, Edits().replace(cancelled.request_id, IdText(own).view()).list());
  clients_.withdrawn(asker);
  tell_if_idle();
  return true;
}

void Generation::forget(ClientId client) {
  const auto is_from = [&](const Asker& asker) { return asker.client == client; };
  for (const auto& taken :
       asked_.take_if([&](const Requests::Request& open) { return is_from(open.origin); }))
    link_.send(cancellation(IdText(taken.own).view(), "whoever asked is gone"));
  asked_.drop_tokens(is_from);
  tell_if_idle();
}

void Generation::answer(const Message& message, std::string_view id) {
  link_.send(message, Edits().replace(message.id, id).list());
}

void Generation::progress(const Message& message, std::string_view token) {
  link_.send(message, Edits().replace(message.progress_token, token).list());
}

void Generation::end(std::chrono::milliseconds patience) {
  ending_ = true;
  backend_->end(patience);
}

void Generation::end_by(std::chrono::milliseconds time, std::chrono::milliseconds patience) {
  late_.set(time, [this, time, patience] {
    const auto keep = shared_from_this();
    if (ending_) return;
    const std::chrono::milliseconds of_tasks = config_->call_timeout;
    if (tasks() > 0 && time < of_tasks) return end_by(of_tasks, patience);
    end(patience);
  });
}

std::vector<Generation::Open> Generation::take_open() {
  std::vector<Open> open;
  for (auto& [own, request] : asked_.take_if([](const Requests::Request& r) { return !r.kept.empty(); })) {
    const bool reached = link_.reached(request.position);
    open.push_back({std::move(request), reached});
  }
  return open;
}

std::size_t Generation::calls() const {
  return asked_.count_if([](const Requests::Request& open) { return !open.kept.empty(); });
}

std::vector<Generation::Requests::Request> Generation::take_overdue(std::chrono::milliseconds patience) {
  const auto before = clock_.now() - patience;
  const auto long_before = clock_.now() - most_patience * patience;
  std::vector<Requests::Request> overdue;
  for (auto& [own, request] : asked_.take_if([&](const Requests::Request& open) {
         return !open.kept.empty() && (open.since < before || open.asked < long_before);
       })) {
    link_.send(cancellation(IdText(own).view(), "it took too long"));
    overdue.push_back(std::move(request));
  }
  return overdue;
}

std::vector<std::string> Generation::stderr_lines() const {
  return ring_.lines_of(number());
}

void Generation::on_message(const Message& message) {
  if (message.is_answer()) {
    on_answer(message);
  } else if (message.kind == Kind::request) {
    owner_.on_request(*this, message);
  } else if (message.known == Method::progress) {
    on_progress(message);
  } else if (message.known == Method::cancelled && message.request_id) {
    owner_.on_cancelled(*this, message);
  } else {
    owner_.on_notification(*this, message);
  }
  if (owner_.clients_full()) link_.pause();
}

void Generation::on_answer(const Message& message) {
  if (!message.id) {
    // MCP 2025-11-25 allows it: an error that the server could tie to no request.
    owner_.on_notification(*this, message);
    return;
  }
  const std::int64_t own = own_id(message.text(message.id));
  const Requests::Hold hold(asked_);  // whoever gets the answer may ask the next thing at once
  const Requests::Request* request = asked_.find(own);
  if (request == nullptr) {
    log_debug("{}: dropped an answer to {}, which nobody waits for", config_->name, message.text(message.id));
    return;
  }
  if (request->kept.empty()) {
    if (request->known == Method::initialize && message.kind == Kind::result)
      batches_ = find_member(message.text(message.result), "protocolVersion") == version_with_batches;
    asked_.close(own);
    answer_inquiry(own, message);
  } else {
    if (request->task || (!tasks_.empty() && request->known == Method::other)) follow_task(*request, message);
    if (message.kind == Kind::result) asked_.keep_token(own, {.client = request->origin.client});
    owner_.on_answer(*request, message);
    answered_ = true;
    asked_.close(own);
  }
  tell_if_idle();
}

void Generation::follow_task(const Requests::Request& request, const Message& answer) {
  if (request.task) {
    const std::string_view id = find_member(find_member(answer.text(answer.result), "task"), "taskId");
    if (id.empty()) return;
    last_task_ = clock_.now();
    if (tasks_.size() < most_tasks) tasks_.emplace(id);
    begun_tasks_.emplace_back(id);
    if (begun_tasks_.size() > most_tasks) begun_tasks_.pop_front();
    return;
  }
  const std::string method = string_value(request.method());
  if (method != "tasks/result" && method != "tasks/cancel") return;
  const Message asked = request.kept.message();
  tasks_.erase(std::string(find_member(asked.text(asked.params), "taskId")));
}

bool Generation::has_task(std::string_view id) const {
  return contains(begun_tasks_, id);
}

void Generation::on_progress(const Message& message) {
  const std::int64_t own = own_id(message.text(message.progress_token));
  const auto token = asked_.find_token(own);
  asked_.touch(own);
  if (!token) {
    log_debug("{}: dropped progress under the token {}, which is not (or no longer) known", config_->name,
              message.text(message.progress_token));
    return;
  }
  clients_.forward({.client = token->origin.client}, message,
                   Edits().replace(message.progress_token, token->text).list());
}

void Generation::on_batch(std::string_view line) {
  auto elements =
      batches_ ? read_batch(line)
               : std::unexpected(Refusal{Refusal::not_a_message, "a batch, which its version has not", {}});
  if (!elements) {
    on_unreadable(line, elements.error());
    return;
  }
  for (const std::string_view element : *elements) {
    if (auto message = read_message(element)) {
      on_message(*message);
    } else {
      on_unreadable(element, message.error());
    }
  }
}

void Generation::on_unreadable(std::string_view line, const Refusal& refusal) {
  garbage(line, refusal.reason);
  // Perhaps it was meant as an answer, and somebody would wait for it in vain.
  fail_answers(line, fmt::format("server \"{}\" answered with something that is no MCP message: {}",
                                 config_->name, refusal.reason));
}

void Generation::on_oversize(const Skim& skim, std::size_t limit) {
  const std::string why =
      skim.size() > limit
          ? fmt::format(
                "the message is {} bytes, over the limit of {}; raise it with --max-message, or ask for less",
                skim.size(), limit)
          : fmt::format("mcpivot has no memory for a message of {} bytes; ask for less", skim.size());
  log_warn("{}: dropped a message: {} (method {}, id {})", config_->name, why, skim.method(), skim.id());
  if (!skim.method().empty() && !skim.id().empty()) {
    link_.send(error_answer(skim.id(), code::invalid_request, why));
  } else {
    fail_answer(skim, fmt::format("server \"{}\" answered, but {}", config_->name, why));
  }
}

// A line that was several messages, in a batch that should not be or run together without a newline, concerns
// several.
void Generation::fail_answers(std::string_view line, const std::string& why) {
  if (is_batch(line)) line.remove_prefix(std::min(line.find('{'), line.size()));
  while (!line.empty()) {
    const auto seam = std::min(line.find("}{"), line.find("},{"));
    Skim skim;
    skim.feed(line.substr(0, seam == std::string_view::npos ? seam : seam + 1));
    fail_answer(skim, why);
    line.remove_prefix(seam == std::string_view::npos ? line.size() : line.find('{', seam + 1));
  }
}

// If this was an answer to somebody, that somebody gets an error instead of waiting for ever.
void Generation::fail_answer(const Skim& skim, const std::string& why) {
  if (!skim.method().empty()) return;
  const std::int64_t own = own_id(skim.id());
  if (const auto request = asked_.take(own)) fail(own, *request, code::internal_error, why);
  tell_if_idle();
}

// Whoever asked gets an error for an answer.
void Generation::fail(std::int64_t own, const Requests::Request& request, int code, std::string_view why) {
  if (request.kept.empty()) {
    const std::string line = error_answer(IdText(own).view(), code, why);
    answer_inquiry(own, *read_message(line));
  } else {
    clients_.answer(request.origin, error_answer(request.id(), code, why));
  }
}

void Generation::garbage(std::string_view line, std::string_view why) {
  const std::string_view shown = line.substr(0, garbage_shown);
  log_warn("{}: not forwarded, because it is no message ({}): {}{}", config_->name, why, shown,
           shown.size() < line.size() ? "…" : "");
  ring_.add(number(), fmt::format("[{}] {}", config_->is_daemon() ? "no message" : "stdout", line));
}

void Generation::on_lost(std::string_view id, bool reached, std::string_view why) {
  const std::int64_t own = own_id(id);
  auto request = asked_.take(own);
  if (!request) return;
  if (request->kept.empty()) {
    fail(own, *request, code::connection_closed, why);
  } else {
    owner_.on_lost(*this, {std::move(*request), reached}, why);
  }
  tell_if_idle();
}

void Generation::die(const Backend::Ending& ending) {
  const auto keep = shared_from_this();  // the owner lets go of the dead
  dead_ = true;
  log_info("{}: generation {} ({}) {}", config_->name, number(), backend_->where(), ending.how);
  owner_.on_death(*this, ending);
  backend_->close();
}

}  // namespace mcpivot
