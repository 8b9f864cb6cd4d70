#include "server/generation.h"

#include <algorithm>
#include <utility>

#include "base/greediest.h"
#include "bridge/make_bridge.h"
#include "log/log.h"
#include "mcp/catalog.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Batches exist in only one version of the protocol.
constexpr std::size_t most_told = 4096;
constexpr std::string_view version_with_batches = R"("2025-03-26")";
constexpr std::size_t most_tasks = 1024;  // beyond this, tasks of the client that has the most are forgotten
// Progress keeps a call alive, but no longer than this many times the limit for one without.
constexpr int most_patience = 6;

}  // namespace

bool ends_task(std::string_view method) {
  return method == "tasks/result" || method == "tasks/cancel";
}

std::expected<std::shared_ptr<Generation>, std::string> Generation::start(World& world,
                                                                          const Clients& clients,
                                                                          ConfigRef config, GenerationId id,
                                                                          OutputRing& ring, Owner& owner,
                                                                          const Backend* predecessor) {
  auto backend = world.make_backend(config, id, ring, predecessor);
  if (!backend) return std::unexpected(backend.error());
  std::shared_ptr<Generation> generation(
      new Generation(world, clients, std::move(config), id, std::move(*backend), ring, owner));
  log_info("{}: generation {} started, {}", generation->config().name, id.number,
           generation->backend().where());
  generation->backend_->start(*generation,
                              [weak = generation->weak_from_this()](const Backend::Ending& ending) {
                                if (auto self = weak.lock()) self->die(ending);
                              });
  return generation;
}

Generation::Generation(World& world, const Clients& clients, ConfigRef config, GenerationId id,
                       std::shared_ptr<Backend> backend, OutputRing& ring, Owner& owner)
    : world_(world),
      clock_(world.timers()),
      clients_(clients),
      config_(std::move(config)),
      id_(id),
      backend_(std::move(backend)),
      link_(backend_->link()),
      ring_(ring),
      owner_(owner),
      late_(world.timers()),
      bridge_wake_(world.timers()),
      listen_wake_(world.timers()),
      started_(world.timers().now()),
      asked_(world.timers()) {
  asked_.tally().counts = id.instance.client == ClientId::nobody;
}

Generation::~Generation() {
  backend_->close();
}

void Generation::meet(Era server, std::string_view hello, Era client) {
  hello_ = hello;
  dialect_ = client;
  // It may have calls from before the handshake, whose clients are being asked.
  const bool bridge_fits = bridge_ && server == era_;
  era_ = server;
  if (!bridge_fits) {
    retired_ = std::move(bridge_);  // it may be what called us
    bridge_wake_.cancel();
  }
  listen_wake_.cancel();
  UpstreamListen::Owner& owner = *this;
  listen_ =
      client == Era::modern ? std::make_unique<UpstreamListen>(owner, UpstreamListen::core_ids) : nullptr;
  backend_->speak(server);
  if (server != client && !bridge_) build_bridge();
}

std::string_view Generation::legacy_version() const {
  const std::string_view bridges = bridge_ ? bridge_->version() : std::string_view();
  return bridges.empty() ? find_member(initialize_result_, "protocolVersion") : bridges;
}

std::string Generation::protocol() const {
  const std::string_view version = era_ == Era::modern ? modern_version : legacy_version();
  return fmt::format("{} ({} era{})", version.empty() ? "unknown" : string_value(version), text(era_),
                     bridge_ ? ", bridged" : "");
}

void Generation::build_bridge() {
  const bool shared = id_.instance.client == ClientId::nobody;
  bridge_ = make_bridge(era_, *this, clock_, hello_, initialize_result_, shared);
}

void Generation::listen(std::string_view discover_result) {
  if (listen_) listen_->want_lists(discover_result, meta_members(hello_));
}

void Generation::listen(const Uris& uris) {
  if (!listen_) return;
  ListenFilter wanted = listen_->wanted();
  wanted.uris = uris;
  std::erase_if(refused_uris_, [&](const std::string& uri) { return wanted.uris.erase(uri) == 0; });
  listen_->want(std::move(wanted), meta_members(hello_));
}

// We don't know what changed while nobody listened, so everything may have.
void Generation::on_listening(const ListenFilter&, const ListenFilter& honoured, bool gap) {
  if (!gap) return;
  for (const std::string& uri : honoured.uris) {
    const std::string line =
        request_line({}, "notifications/resources/updated", fmt::format(R"({{"uri":{}}})", quote(uri)));
    pass(*read_message(line), {});
  }
  for (const ListKind kind : {ListKind::tools, ListKind::prompts, ListKind::resources}) {
    const std::string line = request_line({}, words(kind).notification, {});
    pass(*read_message(line), {});
  }
}

void Generation::on_refused(const ListenFilter& asked, bool refused, int code, std::string_view why) {
  log_info("{}: it doesn't announce changes: {} ({})", config_->name, why, code);
  if (!refused || !listen_->holds()) return;
  // What was added since the last one must be the reason, which is no reason to hear of nothing else.
  for (const std::string& uri : asked.uris) {
    if (listen_->honours(uri)) continue;
    refused_uris_.insert(uri);
    listen_->give_up(uri);
  }
}

// A generation that is ending needs no news.
void Generation::wake_listen(std::chrono::milliseconds after) {
  listen_wake_.set(after, [this] {
    if (listen_ && course_ == Course::serves && !dead_) listen_->wake();
  });
}

void Generation::wake_bridge(std::chrono::milliseconds after) {
  bridge_wake_.set(after, [this] {
    if (bridge_ && course_ == Course::serves && !dead_) bridge_->wake();
  });
}

// Whether a message was about our own listen, and needs no further handling.
bool Generation::is_heard(const Message& message, std::span<const Edit> edits) {
  if (edits.empty()) return listen_->from_server(message) == UpstreamListen::Verdict::done;
  const std::string line = spliced(message.raw, edits);
  return listen_->from_server(*read_message(line)) == UpstreamListen::Verdict::done;
}

void Generation::expire() {
  if (bridge_) bridge_->expire();
  if (listen_) listen_->expire();
}

void Generation::request(ToServer& asked) {
  if (asked.asker.era != era_ && !bridge_) [[unlikely]]
    build_bridge();
  const Message& message = asked.message;
  const std::int64_t own = asked_.add(message, asked.asker, asked.edits.list());
  const IdText id(own);
  asked.edits.replace(message.id, id.view()).replace(message.progress_token, id.view());
  if (clients_.observed()) [[unlikely]]
    see_request(asked, asked.name != message.text(message.name), own);
  // Before the request: its position in the stream will tell whether it reached the server.
  if (listen_) listen_->use();
  put(asked.asker.client, message, asked.edits.list());
  Requests::Request* const request = asked_.find(own);
  if (request == nullptr) return;  // a bridge has answered it already
  request->sent_before = asked.sent_before;
  request->position = link_.position();
  last_asked_ = request->asked;
}

void Generation::see_request(const ToServer& asked, bool renamed, std::int64_t own) const {
  clients_.saw({.way = Seen::Way::to_server,
                .what = asked.sent_before.count > 0 ? Seen::What::retried
                        : renamed                   ? Seen::What::changed
                                                    : Seen::What::passed,
                .client = asked.asker.client,
                .exchange = asked.asker.exchange,
                .server = config_->name,
                .generation = id_,
                .pair = own,
                .bridged = bridge_ != nullptr,
                .raw = asked.message.raw,
                .edits = asked.edits.list(),
                .message = &asked.message});
}

void Generation::send(ClientId client, const Message& message, const Edits& edits, std::int64_t pair) {
  if (clients_.observed())
    clients_.saw({.way = Seen::Way::to_server,
                  .what = Seen::What::passed,
                  .client = client,
                  .server = config_->name,
                  .generation = id_,
                  .pair = pair,
                  .raw = message.raw,
                  .edits = edits.list(),
                  .message = &message});
  put(client, message, edits.list());
}

void Generation::send(std::string_view line, std::int64_t pair) {
  if (clients_.observed())
    clients_.saw({.way = Seen::Way::to_server,
                  .what = Seen::What::made,
                  .server = config_->name,
                  .generation = id_,
                  .pair = pair,
                  .raw = line});
  bridge_ ? bridge_->from_client(*read_message(line), {}) : link_.send(line);
}

void Generation::saw(Seen::What what, std::string_view raw, const Message* message,
                     std::string_view why) const {
  clients_.saw({.way = Seen::Way::from_server,
                .what = what,
                .server = config_->name,
                .generation = id_,
                .pair = message != nullptr && message->is_answer() ? own_id(message->text(message->id)) : 0,
                .bridged = bridge_ != nullptr,
                .raw = raw,
                .message = message,
                .why = why});
}

std::int64_t Generation::inquire(std::string_view method, std::string_view params, OnAnswer on_answer) {
  const std::int64_t own = asked_.add_own({});
  inquiries_.emplace(own, std::move(on_answer));
  if (method == "initialize") asked_.find(own)->known = Method::initialize;
  const std::string line = request_line(IdText(own).view(), method, params);
  send(dialect_ == Era::modern ? with_meta(line, meta_members(hello_)) : line, own);
  return own;
}

void Generation::tell(std::string_view method, std::string_view params) {
  if (link_.overflows()) return;
  told_.push_back(inquire(method, params, [](const Message&) {}));
  if (told_.size() <= most_told) return;
  drop_inquiry(told_.front());
  told_.pop_front();
}

void Generation::inquire_no_more(std::int64_t inquiry) {
  if (inquiries_.erase(inquiry) == 0) return;
  asked_.close(inquiry);
  send(cancellation(IdText(inquiry).view(), "it took too long"), inquiry);
}

void Generation::drop_inquiry(std::int64_t inquiry) {
  if (inquiries_.erase(inquiry) > 0) asked_.close(inquiry);
}

void Generation::notify(const Message& message) {
  send(id_.instance.client, message, {});
}

// Answers to our own questions are read, not passed on, so edits are applied at once.
void Generation::answer_inquiry(std::int64_t own, const Message& message, std::span<const Edit> edits) {
  const auto inquiry = inquiries_.extract(own);
  if (inquiry.empty()) return;
  if (edits.empty()) return inquiry.mapped()(message);
  const std::string line = spliced(message.raw, edits);
  inquiry.mapped()(*read_message(line));
}

std::int64_t Generation::own_of(std::string_view id) {
  return own_id(bridge_ ? bridge_->lost(id) : std::string(id));
}

bool Generation::cancel(Asker by, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  const std::int64_t own = asked_.find_original(id, [&](const Asker& asker) { return by.speaks_for(asker); });
  if (own == 0) return false;
  const Asker asker = asked_.find(own)->origin;
  asked_.close(own);
  const IdText own_text(own);
  send(by.client, cancelled, Edits().replace(cancelled.request_id, own_text.view()), own);
  clients_.withdrawn(asker, cancelled);
  tell_less();
  return true;
}

void Generation::forget(ClientId client) {
  const auto is_from = [&](const Asker& asker) { return asker.client == client; };
  for (const auto& taken :
       asked_.take_if([&](const Requests::Request& open) { return is_from(open.origin); }))
    send(cancellation(IdText(taken.own).view(), "the caller is gone"), taken.own);
  asked_.drop_tokens(is_from);
  if (bridge_) bridge_->forget(static_cast<std::uint64_t>(client));
  for (const auto& [id, owner] : std::exchange(tasks_, {})) {
    if (owner != client)
      tasks_.emplace(id, owner);
    else if (!ending())
      inquire("tasks/cancel", fmt::format(R"({{"taskId":{}}})", id), [](const Message&) {});
  }
  tell_less();
}

void Generation::answer(ClientId by, const Message& message, std::string_view id) {
  send(by, message, Edits().replace(message.id, id), own_id(message.text(message.id)));
}

void Generation::progress(ClientId by, const Message& message, std::string_view token) {
  Edits edits;
  edits.replace(message.progress_token, edits.keep(token));  // its request may end on the way
  send(by, message, edits);
}

void Generation::end(std::chrono::milliseconds patience) {
  course_ = Course::ends;
  backend_->end(patience);
}

void Generation::end_by(std::chrono::milliseconds time, std::chrono::milliseconds patience) {
  late_.set(time, [this, time, patience] {
    const auto keep = shared_from_this();
    if (ending()) return;
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

std::size_t Generation::calls_of(ClientId client) const {
  const auto& open = asked_.tally().open;
  const auto found = open.find(client);
  return found == open.end() ? 0 : found->second;
}

bool Generation::has_calls_of(const std::function<bool(ClientId)>& whom) const {
  return asked_.count_if([&](const Requests::Request& open) {
    return !open.kept.empty() && whom(open.origin.client);
  }) > 0;
}

bool Generation::is_asked(Method method) const {
  return asked_.count_if([&](const Requests::Request& open) { return open.known == method; }) > 0;
}

std::vector<Generation::Requests::Request> Generation::take_overdue(std::chrono::milliseconds patience) {
  const auto before = clock_.now() - patience;
  const auto long_before = clock_.now() - most_patience * patience;
  std::vector<Requests::Request> overdue;
  for (auto& [own, request] : asked_.take_if([&](const Requests::Request& open) {
         return !open.kept.empty() && (open.since < before || open.asked < long_before);
       })) {
    send(cancellation(IdText(own).view(), "it took too long"), own);
    overdue.push_back(std::move(request));
  }
  return overdue;
}

std::vector<std::string> Generation::stderr_lines() const {
  return ring_.lines_of(number());
}

void Generation::on_message(const Message& message) {
  if (clients_.observed()) [[unlikely]]
    saw(Seen::What::passed, message.raw, &message);
  bridge_ ? bridge_->from_server(message) : take(message, {});
  retired_.reset();
  if (owner_.clients_full(*this)) link_.pause();
}

void Generation::take(const Message& message, std::span<const Edit> edits) {
  if (listen_ && is_heard(message, edits)) return;
  if (message.is_answer()) {
    on_answer(message, edits);
  } else if (message.known == Method::progress && message.kind == Kind::notification) {
    on_progress(message, edits);
  } else {
    pass(message, edits);
  }
}

// The generation doesn't know whom it is for.
void Generation::pass(const Message& message, std::span<const Edit> edits) {
  ToClient said{.message = message, .from = id_};
  said.edits.add_all(edits);
  owner_.on_said(*this, said);
}

// A single client is asked whatever its server asks; of several, the one whose call it is.
void Generation::ask(std::uint64_t client, const Message& message) {
  if (id_.instance.client != ClientId::nobody) return take(message, {});
  ToClient said{.message = message, .from = id_, .to = {.client = static_cast<ClientId>(client)}};
  owner_.on_said(*this, said);
}

// A separate function, so that on_answer() keeps the registers it needs.
[[gnu::noinline]] void Generation::pass_answer(std::int64_t own, const Requests::Request& request,
                                               const Message& message, std::span<const Edit> edits) {
  ToClient said{.message = message, .from = id_, .to = request.origin, .pair = own};
  if (!edits.empty()) said.edits.add_all(edits, message.id);
  said.edits.replace(message.id, request.id());
  owner_.on_answer(request, said);
}

void Generation::on_answer(const Message& message, std::span<const Edit> edits) {
  // MCP 2025-11-25 allows an error that the server couldn't tie to a request.
  if (!message.id) return pass(message, edits);
  const std::int64_t own = own_id(edited(message.raw, message.id, edits));
  const Requests::Hold hold(asked_);  // the one that gets the answer may send the next request at once
  const Requests::Request* request = asked_.find(own);
  if (request == nullptr)
    return saw(Seen::What::dropped, message.raw, &message, "a response that nobody is waiting for");
  if (request->kept.empty()) {
    if (request->known == Method::initialize && message.kind == Kind::result)
      initialize_result_ = message.text(message.result);
    asked_.close(own);
    answer_inquiry(own, message, edits);
  } else {
    if (request->task || (!tasks_.empty() && request->known == Method::other)) follow_task(*request, message);
    if (message.kind == Kind::result) asked_.keep_token(own, {.client = request->origin.client});
    pass_answer(own, *request, message, edits);
    answered_ = true;
    asked_.close(own);
  }
  tell_less();
}

void Generation::follow_task(const Requests::Request& request, const Message& answer) {
  if (request.task) {
    const std::string_view id = find_member(find_member(answer.text(answer.result), "task"), "taskId");
    if (id.empty()) return;
    last_task_ = clock_.now();
    const auto owner = [](const auto& task) { return task.second; };
    tasks_.emplace(id, request.origin.client);
    if (tasks_.size() > most_tasks) tasks_.erase(std::ranges::find(tasks_, greediest(tasks_, owner), owner));
    begun_tasks_.emplace_back(id, request.origin.client);
    if (begun_tasks_.size() > most_tasks)
      begun_tasks_.erase(std::ranges::find(begun_tasks_, greediest(begun_tasks_, owner), owner));
    return;
  }
  if (!ends_task(string_value(request.method()))) return;
  const Message asked = request.kept.message();
  tasks_.erase(std::string(find_member(asked.text(asked.params), "taskId")));
}

ClientId Generation::owner_of_task(std::string_view id) const {
  const auto begun = std::find_if(begun_tasks_.rbegin(), begun_tasks_.rend(),
                                  [&](const auto& task) { return task.first == id; });
  return begun == begun_tasks_.rend() ? ClientId::nobody : begun->second;
}

void Generation::on_progress(const Message& message, std::span<const Edit> edits) {
  const std::int64_t own = own_id(edited(message.raw, message.progress_token, edits));
  const auto token = asked_.find_token(own);
  asked_.touch(own);
  if (!token) return saw(Seen::What::dropped, message.raw, &message, "progress with an unknown token");
  ToClient said{.message = message, .from = id_, .to = token->origin, .pair = own};
  said.edits.add_all(edits, message.progress_token);
  said.edits.replace(message.progress_token, said.edits.keep(token->text));  // the request may end on the way
  owner_.on_said(*this, said);
}

void Generation::on_batch(std::string_view line) {
  auto elements = era_ == Era::legacy && legacy_version() == version_with_batches
                      ? read_batch(line)
                      : std::unexpected(Refusal{
                            Refusal::not_a_message, "a batch, which its protocol version doesn't have", {}});
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
  saw(Seen::What::refused, line, nullptr, refusal.reason);
  ring_.add(number(), fmt::format("[{}] {}", backend_->traits().garbage, line));
  // It may have been meant as an answer, for which a caller would wait in vain.
  fail_answers(line, fmt::format("server \"{}\" answered with something that isn't an MCP message: {}",
                                 config_->name, refusal.reason));
}

void Generation::on_oversize(const Skim& skim, std::size_t limit) {
  const std::string why =
      skim.size() > limit
          ? fmt::format(
                "the message is {} bytes, over the limit of {}; raise it with --max-message, or ask for less",
                skim.size(), limit)
          : fmt::format("mcpivot has no memory left for a message of {} bytes; ask for less", skim.size());
  saw(Seen::What::refused, {}, nullptr, fmt::format("{} (method {}, id {})", why, skim.method(), skim.id()));
  if (!skim.method().empty() && !skim.id().empty()) {
    answer(error_answer(skim.id(), code::invalid_request, why));
  } else {
    fail_answer(skim, fmt::format("server \"{}\" answered, but {}", config_->name, why));
  }
}

// A line with several messages, in an unsupported batch or run together without a newline, concerns several
// requests.
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

// If this was an answer, the caller gets an error instead of waiting forever.
void Generation::fail_answer(const Skim& skim, const std::string& why) {
  if (!skim.method().empty()) return;
  const std::int64_t own = own_of(skim.id());
  if (const auto request = asked_.take(own)) fail(own, *request, code::internal_error, why);
  tell_less();
}

// The caller gets an error as the answer.
void Generation::fail(std::int64_t own, const Requests::Request& request, int code, std::string_view why) {
  if (request.kept.empty()) {
    const std::string line = error_answer(IdText(own).view(), code, why);
    answer_inquiry(own, *read_message(line));
  } else {
    owner_.on_failed(request);
    clients_.refuse(request.origin, error_answer(request.id(), code, why));
  }
}

void Generation::on_lost(std::string_view id, bool reached, std::string_view why) {
  if (listen_ && listen_->lost(id)) return;
  const std::int64_t own = own_of(id);
  auto request = asked_.take(own);
  if (!request) return;
  if (request->kept.empty()) {
    fail(own, *request, code::connection_closed, why);
  } else {
    owner_.on_lost(*this, {std::move(*request), reached}, why);
  }
  tell_less();
}

void Generation::die(const Backend::Ending& ending) {
  const auto keep = shared_from_this();  // the owner drops a dead generation
  dead_ = true;
  log_info("{}: generation {} ({}) {}", config_->name, number(), backend_->where(), ending.how);
  owner_.on_death(*this, ending);
  backend_->close();
}

}  // namespace mcpivot
