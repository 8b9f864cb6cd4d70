#include "app/journal.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "log/log.h"
#include "world/journal_secrets.h"

namespace mcpivot {
namespace {

constexpr std::chrono::seconds last_writes{5};

}  // namespace

Journal::Journal(boost::asio::io_context& loop, Clients& clients, const Clock& clock, std::string name)
    : loop_(loop), clients_(clients), clock_(clock), name_(std::move(name)) {}

Journal::~Journal() {
  close(std::chrono::milliseconds(0));
}

void Journal::configure(const GatewayConfig& config) {
  add_secrets(secrets_, secrets_in(config));
  redactor_ = Redactor(secrets_, config.journal.redact);
  const bool switched = config.journal.on != std::exchange(config_, config.journal).on;
  if (writing_) {
    writing_->writer->set_redactor(redactor_);
    writing_->writer->set_limits(limits());
  }
  if (!switched) return;
  if (const auto done = set(config.journal.on); !done) log_warn("no journal: {}", done.error());
}

JournalLimits Journal::limits() const {
  return {.age = std::chrono::days(config_.days), .bytes = config_.bytes};
}

std::expected<void, std::string> Journal::set(bool on) {
  if (on == is_on()) return {};
  if (!on) {
    clients_.ignore(*writing_->observer);
    clients_.set_history(nullptr);
    writing_->writer->close_soon(last_writes);
    last_ = std::move(writing_->writer);
    writing_.reset();
    log_info("the journal is off");
    return {};
  }
  JournalSettings settings{
      .folder = journal_folder(), .name = name_, .limits = limits(), .redactor = redactor_};
  if (settings.folder.empty())
    return std::unexpected("there is no home folder to write it to; set HOME or XDG_STATE_HOME");
  for (auto& [client, name] : names_())
    settings.clients.emplace_back(std::to_underlying(client), std::move(name));
  if (last_) last_->close(std::chrono::milliseconds(0));
  const auto tell = [&loop = loop_](std::string words) {
    boost::asio::post(loop, [words = std::move(words)] { log_warn("{}", words); });
  };
  const auto on_end = [calls = history_.calls](const CallBook::Ended& ended) {
    calls->add(ended.call, ended.arguments, ended.answer);
  };
  Writing writing{.writer = std::make_shared<JournalWriter>(std::move(settings), tell, on_end),
                  .observer = {}};
  writing.observer = std::make_unique<JournalObserver>(writing.writer->queue(),
                                                       [writer = writing.writer.get()] { writer->wake(); });
  if (auto started = writing.writer->start(); !started) return started;
  clients_.observe(*writing.observer, clock_, true);
  clients_.set_history(&history_);
  log_info("the journal is on: {}, session {}", journal_folder(), writing.writer->session());
  writing_ = std::move(writing);
  return {};
}

std::expected<std::string, std::string> Journal::turn(bool on) {
  if (auto done = set(on); !done) return std::unexpected(std::move(done.error()));
  return session();
}

void Journal::close(std::chrono::milliseconds longest) {
  if (writing_) {
    clients_.ignore(*writing_->observer);
    clients_.set_history(nullptr);
    last_ = std::move(writing_->writer);
    writing_.reset();
  }
  if (last_ && !last_->close(longest)) log_warn("the journal's last messages could not be written");
  last_.reset();
}

}  // namespace mcpivot
