// One client: what it asked, what it was asked, and how it is answered. The session outlives every server.
// Its outlet knows how the client is reached.
//
// One thread.
#pragma once

#include <string>
#include <vector>

#include "gateway/outlet.h"
#include "rpc/request_table.h"
#include "rpc/skim.h"
#include "server/clients.h"

namespace mcpivot {

class Desk;

class Session final : private Peer {
 public:
  // The references must outlive the session.
  Session(Outlet& outlet, Clients& clients, Desk& desk);
  ~Session() override;

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // A message from the client, in this exchange.
  void take(std::uint32_t exchange, const Message& message);
  // What it sent wasn't a message, or was too long.
  void refuse(std::uint32_t exchange, std::string_view line, const Refusal& refusal);
  void refuse_oversize(const Skim& skim, std::size_t limit);
  // It has left this exchange, which cancels the request with this id.
  void abandon(std::uint32_t exchange, std::string_view id);

 private:
  using Requests = RequestTable<GenerationId>;

  // Peer
  void pass(ToClient& said) override;
  void answer(std::uint32_t exchange, std::string_view line) override { outlet_.answer(exchange, line); }
  void answer(std::uint32_t exchange, const Message& inside, std::span<const Edit> around) override {
    outlet_.answer(exchange, inside, around);
  }
  void tell(std::uint32_t exchange, std::string_view line) override { outlet_.tell(exchange, line); }
  void withdrawn(std::uint32_t exchange) override { outlet_.withdrawn(exchange); }
  bool full() const override { return outlet_.full(); }
  bool overflows() const override { return outlet_.overflows(); }
  void announce(std::string_view line) override;
  void agreed_version(std::string_view version) override { outlet_.agreed_version(version); }
  void resume() override { outlet_.resume(); }
  void forget(GenerationId from) override;
  std::vector<std::string> questions() const override;

  // A notification of our own, only for this client.
  void say(std::string_view line);
  // Reports to the observer what the client sent, and what became of that.
  void saw(Seen::What what, std::string_view raw, const Message* message, std::string_view why = {},
           std::uint32_t exchange = 0) const;
  void see_sent(GenerationId from, const Message& message, const Edits& edits, std::int64_t pair) const;
  void on_answer(const Message& message);
  void on_progress(const Message& message);
  void ask(GenerationId from, const Message& request);
  void ask_no_more(GenerationId from, const Message& cancelled);
  void refuse_held();
  void put(GenerationId from, const Message& request);

  Outlet& outlet_;
  Clients& clients_;
  Desk& desk_;
  ClientId id_;
  Requests asked_;            // servers' questions to the client, under our ids
  bool initialized_ = false;  // the client has said so; before that, it is asked nothing

  struct Held {
    GenerationId from;
    KeptMessage request;
  };
  std::vector<Held> held_;  // questions that came too early
  std::vector<std::string> announcements_;
};

}  // namespace mcpivot
