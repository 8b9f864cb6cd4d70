#include "server/server.h"

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

std::string_view text(Server::State state) {
  switch (state) {
    case Server::State::stopped:
      return "stopped";
    case Server::State::ready:
      return "ready";
    case Server::State::failed:
      return "failed";
  }
  return "?";
}

// "the call of \"search\"", "tools/list"
std::string describe(const Generation::Requests::Request& request) {
  if (request.name.empty()) return string_value(request.method);
  return fmt::format("{} of {}", string_value(request.method), request.name);
}

}  // namespace

Server::Server(LinkContext& context, Guard& guard, ServerConfig config)
    : context_(context), guard_(guard), config_(std::move(config)) {}

void Server::start() {
  auto generation = Generation::start(context_, guard_, config_, ++generations_, ring_, *this);
  if (generation) {
    current_ = std::move(*generation);
    become(State::ready, {});
  } else {
    become(State::failed, generation.error());
  }
}

void Server::stop(std::chrono::milliseconds patience, std::function<void()> stopped) {
  if (!current_) return stopped();
  stopped_ = std::move(stopped);
  current_->end(patience);
}

void Server::request(Asker& asker, const Message& message) {
  if (current_) return current_->request(asker, message);
  answer_why_not(Generation::Requests::from(message, &asker), reason_);
}

void Server::notify(const Message& message) {
  if (current_) current_->notify(message);
}

void Server::cancel(Asker& client, const Message& cancelled) {
  if (!current_ || !current_->cancel(client, cancelled))
    log_debug("{}: a cancellation of {}, which is not under way", config_.name,
              cancelled.text(cancelled.request_id));
}

void Server::on_notification(const Message& message) {
  for (Asker* client : clients_) client->forward(message, {});
}

void Server::on_request(Generation& from, const Message& request) {
  if (clients_.empty()) {
    from.answer(error_answer(request.text(request.id), code::connection_closed, "no client is connected"));
  } else {
    clients_.front()->ask(from, request);
  }
}

void Server::on_cancelled(Generation& from, const Message& cancelled) {
  for (Asker* client : clients_) client->ask_no_more(from, cancelled);
}

bool Server::clients_full() const {
  return std::ranges::any_of(clients_, [](const Asker* client) { return client->full(); });
}

void Server::on_writable() {
  if (on_writable_) on_writable_();
}

void Server::on_death(Generation& generation, const std::string& how) {
  const std::string why = how + (stopped_ ? ", because mcpivot ends" : "");
  for (const auto& [own, request] : generation.take_open())
    answer_why_not(request, fmt::format("{} while it worked on {}", why, describe(request)));
  for (Asker* client : clients_) client->forget(generation);
  become(stopped_ ? State::stopped : State::failed, "it " + why);
  current_.reset();
  on_writable();  // nobody may wait for a dead server to read
  if (stopped_) std::exchange(stopped_, nullptr)();
}

void Server::become(State state, std::string reason) {
  log_info("{}: {} -> {}{}{}", config_.name, text(state_), text(state), reason.empty() ? "" : ": ", reason);
  state_ = state;
  reason_ = std::move(reason);
}

void Server::answer_why_not(const Generation::Requests::Request& request, const std::string& why) const {
  std::string message = fmt::format("server \"{}\" is not running: {}", config_.name, why);
  if (!ring_.lines().empty()) message += fmt::format(". Last line on its stderr: {}", ring_.lines().back());
  request.origin->answer(error_answer(request.id, code::connection_closed, message));
}

}  // namespace mcpivot
