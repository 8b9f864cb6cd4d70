// A client at the end of one link that carries everything: stdin and stdout. Reads its messages, collects the
// answers to its batches, and stops reading while a server, or the client itself, doesn't keep up.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "gateway/outlet.h"
#include "gateway/session.h"
#include "rpc/link.h"

namespace mcpivot {

class LinkClient final : public Link::Handler, private Outlet {
 public:
  // All arguments must outlive it. `on_end` is called once, when the client is gone.
  LinkClient(Link& link, Clients& clients, Desk& desk, std::function<void(std::string_view why)> on_end);

  LinkClient(const LinkClient&) = delete;
  LinkClient& operator=(const LinkClient&) = delete;

 private:
  // The answers to a client's JSON-RPC batch: its requests are routed one by one, and their answers are sent
  // together, when the last one is there.
  struct Batch {
    int expected = 0;
    std::string answers;
  };

  // Outlet
  void answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) override;
  void answer(std::uint32_t exchange, std::string_view line) override;
  void withdrawn(std::uint32_t exchange) override;
  void tell(std::uint32_t, const Message& message, std::span<const Edit> edits) override {
    link_.send(message, edits);
  }
  void tell(std::uint32_t, std::string_view line) override { link_.send(line); }
  void ask(const Message& request, std::span<const Edit> edits) override { link_.send(request, edits); }
  void agreed_version(std::string_view version) override { batches_allowed_ = version == R"("2025-03-26")"; }
  bool full() const override { return link_.full(); }
  bool overflows() const override { return link_.overflows(); }
  void resume() override { link_.resume(); }

  // Link::Handler
  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override;
  void on_broken(std::string_view why) override { on_end(why); }  // a client that can't read is gone
  void on_end(std::string_view why) override { on_end_(why); }

  void settle_one(std::uint32_t batch);
  void pause_if_full();

  Link& link_;
  Desk& desk_;
  std::function<void(std::string_view)> on_end_;
  std::map<std::uint32_t, Batch> batches_;
  std::uint32_t last_batch_ = 0;
  bool batches_allowed_ = false;  // only one protocol version has them
  Session session_;
};

}  // namespace mcpivot
