// One client's connection: what it asked, what it was asked, and how it is told. The session outlives every
// server.
//
// One thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "link/link.h"
#include "rpc/request_table.h"
#include "server/asker.h"

namespace mcpivot {

class Gateway;

class Session final : public Link::Handler, public Asker {
 public:
  // The link must outlive the session. `on_end` is called once, when the client has gone.
  Session(Link& link, Gateway& gateway, std::function<void(std::string_view why)> on_end);
  ~Session() override;

  // The servers take messages again.
  void resume() { link_.resume(); }
  // The protocol version that the handshake ended with, as JSON text.
  void agreed_version(std::string_view version) { batches_allowed_ = version == R"("2025-03-26")"; }

  // A notification that a client may miss before it is initialized: it waits until then.
  void announce(std::string_view line);

  // Asker
  Asker& client() override { return *this; }
  void forward(const Message& message, std::span<const Edit> edits) override { link_.send(message, edits); }
  void answer(std::string_view line) override { link_.send(line); }
  void withdrawn(std::string_view) override {}
  void ask(Generation& from, const Message& request) override;
  void ask_no_more(Generation& from, const Message& cancelled) override;
  void forget(Generation& from) override;
  bool full() const override { return link_.full(); }

 private:
  class Batch;
  using Requests = RequestTable<Generation*>;

  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override;
  void on_broken(std::string_view why) override { on_end(why); }  // a client that does not read is gone
  void on_end(std::string_view why) override;

  void take(Asker& asker, const Message& message);
  void on_answer(const Message& message);
  void on_progress(const Message& message);
  void pause_if_full();
  void put(Generation& from, const Message& request);

  Link& link_;
  Gateway& gateway_;
  std::function<void(std::string_view)> on_end_;
  Requests asked_;  // what servers asked the client, under ids of ours
  std::list<std::unique_ptr<Batch>> batches_;
  bool batches_allowed_ = false;  // they are part of one protocol version only
  bool initialized_ = false;      // the client has said so; before that it is asked nothing

  struct Held {
    Generation* from;
    KeptMessage request;
  };
  std::vector<Held> held_;  // what servers asked too early
  std::vector<std::string> announcements_;
};

}  // namespace mcpivot
