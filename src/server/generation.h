// One life of a server: its process, the link to it, and the requests that it has not answered yet. Gives
// each request an id of our own on the way in, and its old id back on the way out.
//
// A generation is born running and dies once: by itself, or because end() was called. Everything that it owed
// is then the owner's to settle: take_open() has it. One thread.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "link/pipe_link.h"
#include "proc/process.h"
#include "proc/stderr_reader.h"
#include "proc/stderr_ring.h"
#include "rpc/request_table.h"
#include "server/asker.h"

namespace mcpivot {

struct ServerConfig {
  std::string name;
  Command command;
  std::size_t max_message = 10'000'000;  // longest message toward the client, in bytes
};

class Generation final : public Link::Handler, public std::enable_shared_from_this<Generation> {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // A notification that is for every client, or a request that the owner must find a client for.
    virtual void on_notification(const Message& message) = 0;
    virtual void on_request(Generation& from, const Message& request) = 0;
    virtual void on_cancelled(Generation& from, const Message& cancelled) = 0;  // a request of its own
    virtual bool clients_full() const = 0;
    virtual void on_writable() = 0;
    // It is dead and nothing more comes of it. `how` is a phrase: "was killed by SIGSEGV".
    virtual void on_death(Generation& generation, const std::string& how) = 0;
  };
  using Requests = RequestTable<Asker*>;

  static std::expected<std::shared_ptr<Generation>, std::string> start(LinkContext& context, Guard& guard,
                                                                       const ServerConfig& config, int number,
                                                                       StderrRing& ring, Owner& owner);
  ~Generation() override;

  // A request from a client. It will be answered, or be among take_open() at the end.
  void request(Asker& asker, const Message& message);
  // A notification from a client, passed on as it is.
  void notify(const Message& message);
  // A client takes a request back. False: this generation does not know it.
  bool cancel(Asker& client, const Message& cancelled);
  // A client's answer to a request of this server's, which the server knows by this id.
  void answer(const Message& message, std::string_view id);
  void answer(std::string_view line) { link_->send(line); }
  // A client's progress on such a request; the server's own token is put in.
  void progress(const Message& message, std::string_view token);

  bool full() const { return link_->full(); }
  // The clients read again.
  void resume() { link_->resume(); }

  // Closes its stdin, then ends it within twice the patience. on_death() follows.
  void end(std::chrono::milliseconds patience);

  // All that was asked and not answered, in order.
  std::vector<Requests::Taken> take_open();

  int number() const { return number_; }
  pid_t pid() const { return process_->pid(); }
  // As it was agreed in the handshake; empty before that.
  const std::string& protocol_version() const { return protocol_version_; }

 private:
  Generation(LinkContext& context, const ServerConfig& config, int number, std::shared_ptr<Process> process,
             StderrRing& ring, Owner& owner);

  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override { owner_.on_writable(); }
  void on_end(std::string_view why) override;

  void on_answer(const Message& message);
  void on_progress(const Message& message);
  void on_exit(ExitStatus status);
  void wait_for_last_words();
  void garbage(std::string_view line, std::string_view why);
  void fail_answer(const Skim& skim, const std::string& why);
  void die_when_settled();

  const ServerConfig& config_;
  int number_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<PipeLink> link_;
  std::shared_ptr<StderrReader> stderr_;
  StderrRing& ring_;
  Owner& owner_;
  boost::asio::steady_timer last_words_;
  Requests asked_;
  std::string protocol_version_;
  std::string how_it_died_;
  bool link_ended_ = false;
  bool dead_ = false;
};

}  // namespace mcpivot
