// One life of a server: its process, the link to it, and the requests that it has not answered yet. Gives
// each request an id of our own on the way in, and its old id back on the way out.
//
// A generation is born running and dies once: by itself, or because end() was called. Everything that it owed
// is then the owner's to settle: take_open() has it. One thread.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "link/pipe_link.h"
#include "proc/process.h"
#include "proc/stderr_reader.h"
#include "proc/stderr_ring.h"
#include "rpc/request_table.h"
#include "server/asker.h"
#include "server/config.h"

namespace mcpivot {

class Generation final : public Link::Handler, public std::enable_shared_from_this<Generation> {
 public:
  using Requests = RequestTable<Asker*>;

  class Owner {
   public:
    virtual ~Owner() = default;
    // An answer to a client's request, its id not yet put back.
    virtual void on_answer(const Requests::Request& request, const Message& message) = 0;
    // A notification that is for every client, or a request that the owner must find a client for.
    virtual void on_notification(Generation& from, const Message& message) = 0;
    virtual void on_request(Generation& from, const Message& request) = 0;
    virtual void on_cancelled(Generation& from, const Message& cancelled) = 0;  // a request of its own
    virtual bool clients_full() const = 0;
    virtual void on_writable() = 0;
    // Nothing is open any more; said after each answer that made it so.
    virtual void on_idle(Generation& generation) = 0;
    // It is dead and nothing more comes of it.
    virtual void on_death(Generation& generation, ExitStatus status) = 0;
  };

  static std::expected<std::shared_ptr<Generation>, std::string> start(LinkContext& context, Guard& guard,
                                                                       const ServerConfig& config, int number,
                                                                       StderrRing& ring, Owner& owner);
  ~Generation() override;

  // A request from a client. It will be answered, or be among take_open() at the end.
  void request(Asker& asker, const Message& message, bool repeated = false);
  // A question of our own, whose answer no client sees. `params` is JSON text, or empty. If the generation
  // dies first, nobody is called.
  using OnAnswer = std::function<void(const Message& answer)>;
  void inquire(std::string_view method, std::string_view params, OnAnswer on_answer);
  // A notification from a client, passed on as it is; or one of our own.
  void notify(const Message& message);
  void notify(std::string_view line) { link_->send(line); }
  // A client takes a request back. False: this generation does not know it.
  bool cancel(Asker& client, const Message& cancelled);
  // A client's answer to a request of this server's, which the server knows by this id.
  void answer(const Message& message, std::string_view id);
  void answer(std::string_view line) { link_->send(line); }
  // A client's progress on such a request; the server's own token is put in.
  void progress(const Message& message, std::string_view token);

  bool full() const { return link_->full(); }
  // The clients read again.
  void resume() {
    heard_ = true;
    link_->resume();
  }

  // Closes its stdin, then ends it within twice the patience. on_death() follows.
  void end(std::chrono::milliseconds patience);
  bool ending() const { return ending_; }
  bool dead() const { return dead_; }

  struct Open {
    Requests::Request request;
    bool reached_the_server;  // it may have taken effect
  };
  // All that clients asked and were not answered, in order.
  std::vector<Open> take_open();
  std::size_t open() const { return asked_.size(); }
  std::size_t calls() const;  // those of clients alone
  // What has been asked longer ago than this, without an answer or progress since; it is cancelled at the
  // server.
  std::vector<Requests::Request> take_overdue(std::chrono::milliseconds patience);

  // What it wrote to stderr, as far as the ring still has it.
  std::vector<std::string> stderr_lines() const;

  int number() const { return number_; }
  pid_t pid() const { return process_->pid(); }
  std::chrono::steady_clock::time_point started() const { return process_->started(); }

 private:
  class Inquiry;

  Generation(LinkContext& context, const ServerConfig& config, int number, std::shared_ptr<Process> process,
             StderrRing& ring, Owner& owner);

  void on_message(const Message& message) override;
  void on_batch(std::string_view line) override;
  void on_unreadable(std::string_view line, const Refusal& refusal) override;
  void on_oversize(const Skim& skim, std::size_t limit) override;
  void on_writable() override { owner_.on_writable(); }
  void on_broken(std::string_view why) override;
  void on_end(std::string_view why) override;

  void on_answer(const Message& message);
  void on_progress(const Message& message);
  void on_exit(ExitStatus status);
  void wait_for_last_words();
  void garbage(std::string_view line, std::string_view why);
  void fail_answers(std::string_view line, const std::string& why);
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
  std::list<std::unique_ptr<Inquiry>> inquiries_;
  std::optional<ExitStatus> exited_;
  bool batches_ = false;  // its protocol version has them
  bool link_ended_ = false;
  bool ending_ = false;
  bool heard_ = false;  // since we last looked
  bool dead_ = false;
};

}  // namespace mcpivot
