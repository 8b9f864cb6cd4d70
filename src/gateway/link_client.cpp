#include "gateway/link_client.h"

#include <utility>

#include "gateway/desk.h"

namespace mcpivot {

LinkClient::LinkClient(Link& link, Clients& clients, Desk& desk, std::function<void(std::string_view)> on_end)
    : link_(link), desk_(desk), on_end_(std::move(on_end)), session_(*this, clients, desk) {}

void LinkClient::answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) {
  if (exchange == 0) return link_.send(message, edits);
  answer(exchange, spliced(message.raw, edits));
}

void LinkClient::answer(std::uint32_t exchange, std::string_view line) {
  if (exchange == 0) return link_.send(line);
  const auto found = batches_.find(exchange);
  if (found == batches_.end()) return;
  std::string& answers = found->second.answers;
  answers += answers.empty() ? '[' : ',';
  answers += line;
  settle_one(exchange);
}

void LinkClient::withdrawn(std::uint32_t exchange) {
  if (exchange != 0) settle_one(exchange);
}

// Sends the collected answers, if none is missing any more. A batch of notifications isn't answered.
void LinkClient::settle_one(std::uint32_t batch) {
  const auto found = batches_.find(batch);
  if (found == batches_.end() || --found->second.expected > 0) return;
  const std::string answers = std::move(found->second.answers);
  batches_.erase(found);
  if (!answers.empty()) link_.send(answers + "]");
}

void LinkClient::on_message(const Message& message) {
  session_.take(0, message);
  pause_if_full();
}

void LinkClient::on_batch(std::string_view line) {
  auto elements =
      batches_allowed_
          ? read_batch(line)
          : std::unexpected(Refusal{Refusal::not_a_message,
                                    "only protocol version 2025-03-26 has batches; send the messages "
                                    "one by one",
                                    {}});
  if (!elements) return on_unreadable(line, elements.error());
  const std::uint32_t batch = ++last_batch_;
  Batch& opened = batches_[batch];
  opened.expected = 1;  // for ourselves, so that it stays open until every element has been sent
  for (const std::string_view element : *elements) {
    auto message = read_message(element);
    if (!message || message->kind == Kind::request) ++opened.expected;
    if (message) {
      session_.take(batch, *message);
    } else {
      session_.refuse(batch, element, message.error());
    }
  }
  settle_one(batch);
  pause_if_full();
}

void LinkClient::on_unreadable(std::string_view line, const Refusal& refusal) {
  session_.refuse(0, line, refusal);
  pause_if_full();
}

void LinkClient::on_oversize(const Skim& skim, std::size_t limit) {
  session_.refuse_oversize(skim, limit);
}

void LinkClient::pause_if_full() {
  // Answers of our own go to the client without a server in between, so its own link counts too.
  if (desk_.full() || link_.full()) link_.pause();
}

void LinkClient::on_writable() {
  desk_.clients_writable();
  if (!desk_.full()) link_.resume();
}

}  // namespace mcpivot
