#include "server/generation.h"

#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Batches exist in one version of the protocol only.
constexpr std::string_view version_with_batches = "2025-03-26";
// Something that left the process group may hold the pipes open forever: do not wait longer for last words.
constexpr std::chrono::milliseconds last_words_patience{200};
constexpr std::chrono::milliseconds useless_server_patience{100};
constexpr std::size_t garbage_shown = 500;

}  // namespace

std::expected<std::shared_ptr<Generation>, std::string> Generation::start(LinkContext& context, Guard& guard,
                                                                          const ServerConfig& config,
                                                                          int number, StderrRing& ring,
                                                                          Owner& owner) {
  auto process = Process::spawn(context.loop, guard, config.command);
  if (!process) return std::unexpected(process.error());
  std::shared_ptr<Generation> generation(
      new Generation(context, config, number, std::move(*process), ring, owner));
  generation->process_->on_exit([weak = generation->weak_from_this()](ExitStatus status) {
    if (auto self = weak.lock()) self->on_exit(status);
  });
  generation->link_->start(*generation);
  generation->stderr_->start();
  log_info("{}: generation {} started, pid {}", config.name, number, generation->pid());
  return generation;
}

Generation::Generation(LinkContext& context, const ServerConfig& config, int number,
                       std::shared_ptr<Process> process, StderrRing& ring, Owner& owner)
    : config_(config),
      number_(number),
      process_(std::move(process)),
      link_(std::make_shared<PipeLink>(
          context, config.name, PipeLink::Ends{process_->pipes().from_stdout, process_->pipes().to_stdin},
          config.max_message)),
      stderr_(std::make_shared<StderrReader>(context.loop, process_->pipes().from_stderr, config.name, ring)),
      ring_(ring),
      owner_(owner),
      last_words_(context.loop) {}

Generation::~Generation() {
  link_->close();
  stderr_->close();
}

void Generation::request(Asker& asker, const Message& message) {
  const IdText id(asked_.add(Requests::from(message, &asker)));
  link_->send(message,
              Edits().replace(message.id, id.view()).replace(message.progress_token, id.view()).list());
}

void Generation::notify(const Message& message) {
  link_->send(message, {});
}

bool Generation::cancel(Asker& client, const Message& cancelled) {
  const std::string_view id = cancelled.text(cancelled.request_id);
  const std::int64_t own = asked_.find(id, [&](Asker* asker) { return &asker->client() == &client; });
  if (own == 0) return false;
  auto request = asked_.take(own);
  link_->send(cancelled, Edits().replace(cancelled.request_id, IdText(own).view()).list());
  request->origin->withdrawn(request->id);
  return true;
}

void Generation::answer(const Message& message, std::string_view id) {
  link_->send(message, Edits().replace(message.id, id).list());
}

void Generation::progress(const Message& message, std::string_view token) {
  link_->send(message, Edits().replace(message.progress_token, token).list());
}

void Generation::end(std::chrono::milliseconds patience) {
  link_->finish();
  process_->end(patience);
}

std::vector<Generation::Requests::Taken> Generation::take_open() {
  return asked_.take_if([](const Requests::Request&) { return true; });
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
    owner_.on_notification(message);
  }
  if (owner_.clients_full()) link_->pause();
}

void Generation::on_answer(const Message& message) {
  if (!message.id) {
    // MCP 2025-11-25 allows it: an error that the server could tie to no request.
    owner_.on_notification(message);
    return;
  }
  auto request = asked_.take(own_id(message.text(message.id)));
  if (!request) {
    log_debug("{}: dropped an answer to {}, which nobody waits for", config_.name, message.text(message.id));
    return;
  }
  if (request->known == Method::initialize && message.kind == Kind::result) {
    const auto version = find_member(message.text(message.result), "protocolVersion");
    if (version.starts_with('"')) protocol_version_ = string_value(version);
  }
  request->origin->forward(message, Edits().replace(message.id, request->id).list());
}

void Generation::on_progress(const Message& message) {
  const auto token = asked_.find_token(own_id(message.text(message.progress_token)));
  if (!token) {
    log_debug("{}: dropped progress under the token {}, which is not (or no longer) known", config_.name,
              message.text(message.progress_token));
    return;
  }
  token->origin->client().forward(message, Edits().replace(message.progress_token, token->text).list());
}

void Generation::on_batch(std::string_view line) {
  auto elements =
      protocol_version_ == version_with_batches
          ? read_batch(line)
          : std::unexpected(Refusal{Refusal::not_a_message, "a batch, which its version has not", {}});
  if (!elements) {
    garbage(line, elements.error().reason);
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
  Skim skim;
  skim.feed(line);
  fail_answer(skim, fmt::format("server \"{}\" answered with something that is no MCP message: {}",
                                config_.name, refusal.reason));
}

void Generation::on_oversize(const Skim& skim, std::size_t limit) {
  const std::string why = fmt::format(
      "the message is {} bytes, over the limit of {}; raise it with --max-message, or ask for less",
      skim.size(), limit);
  log_warn("{}: dropped a message: {} (method {}, id {})", config_.name, why, skim.method(), skim.id());
  if (!skim.method().empty() && !skim.id().empty()) {
    link_->send(error_answer(skim.id(), code::invalid_request, why));
  } else {
    fail_answer(skim, fmt::format("server \"{}\" answered, but {}", config_.name, why));
  }
}

// If this was an answer to somebody, that somebody gets an error instead of waiting for ever.
void Generation::fail_answer(const Skim& skim, const std::string& why) {
  if (!skim.method().empty()) return;
  if (auto request = asked_.take(own_id(skim.id())))
    request->origin->answer(error_answer(request->id, code::internal_error, why));
}

void Generation::garbage(std::string_view line, std::string_view why) {
  const std::string_view shown = line.substr(0, garbage_shown);
  log_warn("{}: not forwarded, on stdout but no message ({}): {}{}", config_.name, why, shown,
           shown.size() < line.size() ? "…" : "");
  ring_.add(fmt::format("[stdout] {}", line));
}

void Generation::on_end(std::string_view why) {
  link_ended_ = true;
  if (process_->running() && how_it_died_.empty()) {
    // It lives, but can no longer be talked to. Usually it is about to exit and tells us how in a moment.
    log_debug("{}: the connection ended: {}", config_.name, why);
    link_->finish();
    process_->end(useless_server_patience);
  }
  die_when_settled();
}

void Generation::on_exit(ExitStatus status) {
  how_it_died_ = status.text();
  wait_for_last_words();
  die_when_settled();
}

void Generation::wait_for_last_words() {
  last_words_.expires_after(last_words_patience);
  last_words_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self) return;
    if (self->link_->paused()) return self->wait_for_last_words();  // it is the client that lets it wait
    self->link_ended_ = true;
    self->die_when_settled();
  });
}

// Dead is a generation that has exited and whose last answers have all been read.
void Generation::die_when_settled() {
  if (dead_ || how_it_died_.empty() || !link_ended_) return;
  dead_ = true;
  last_words_.cancel();
  stderr_->drain();
  link_->close();
  stderr_->close();
  log_info("{}: generation {} (pid {}) {}", config_.name, number_, pid(), how_it_died_);
  owner_.on_death(*this, how_it_died_);
}

}  // namespace mcpivot
