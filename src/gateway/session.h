// One client's connection: what it asked, what it was asked, and how it is told. The session outlives every
// server.
//
// One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rpc/link.h"
#include "rpc/request_table.h"
#include "server/clients.h"

namespace mcpivot {

class Desk;

class Session final : public Link::Handler, private Peer {
 public:
  // The link and the others must outlive the session. `on_end` is called once, when the client has gone.
  Session(Link& link, Clients& clients, Desk& desk, std::function<void(std::string_view why)> on_end);
  ~Session() override;

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  // The answers to a client's JSON-RPC batch: its requests go their ways one by one, and what they are
  // answered with leaves together, when the last of them is there.
  struct Batch {
    int expected = 0;
    std::string answers;
  };
  using Requests = RequestTable<GenerationId>;

  // Peer
  void pass(ToClient& said) override;
  void answer(std::uint32_t batch, std::string_view line) override;
  void answer(std::uint32_t batch, const Message& inside, std::span<const Edit> around) override;
  void withdrawn(std::uint32_t batch) override;
  bool full() const override { return link_.full(); }
  bool overflows() const override { return link_.overflows(); }
  void announce(std::string_view line) override;
  void agreed_version(std::string_view version) override { batches_allowed_ = version == R"("2025-03-26")"; }
  void resume() override { link_.resume(); }
  void forget(GenerationId from) override;
  std::vector<std::string> questions() const override;

  // Link::Handler
  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override;
  void on_broken(std::string_view why) override { on_end(why); }  // a client that does not read is gone
  void on_end(std::string_view why) override;

  void take(std::uint32_t batch, const Message& message);
  void settle_one(std::uint32_t batch);
  // Of our own making, and for nobody but this client.
  void say(std::string_view line, Seen::What what = Seen::What::made);
  void send(GenerationId from, const Message& message, const Edits& edits, std::int64_t pair);
  // What the client said, and what became of that.
  void saw(Seen::What what, std::string_view raw, const Message* message, std::string_view why = {}) const;
  void on_answer(const Message& message);
  void on_progress(const Message& message);
  void pause_if_full();
  void ask(GenerationId from, const Message& request);
  void ask_no_more(GenerationId from, const Message& cancelled);
  void put(GenerationId from, const Message& request);

  Link& link_;
  Clients& clients_;
  Desk& desk_;
  ClientId id_;
  std::function<void(std::string_view)> on_end_;
  Requests asked_;  // what servers asked the client, under ids of ours
  std::map<std::uint32_t, Batch> batches_;
  std::uint32_t last_batch_ = 0;
  bool batches_allowed_ = false;  // they are part of one protocol version only
  bool initialized_ = false;      // the client has said so; before that it is asked nothing

  struct Held {
    GenerationId from;
    KeptMessage request;
  };
  std::vector<Held> held_;  // what servers asked too early
  std::vector<std::string> announcements_;
};

}  // namespace mcpivot
