#include "app/journal.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/text.h"
#include "config/credentials.h"
#include "log/log.h"

namespace mcpivot {
namespace {

constexpr std::chrono::seconds last_writes{5};

void add_secret(std::vector<Secret>& secrets, std::string_view name, std::string_view value) {
  if (Redactor::is_secret(name, value)) secrets.push_back({std::string(name), std::string(value)});
}

// "--api-key=VALUE", or "--api-key VALUE"
void add_arguments(std::vector<Secret>& secrets, const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (!argv[i].starts_with("-")) continue;
    const auto equals = argv[i].find('=');
    const std::string name(trimmed(std::string_view(argv[i]).substr(0, equals)));
    // Only what is called a secret is one: arguments are seen by everybody.
    if (!Redactor::is_secret(name, "0000")) continue;
    const std::string value = equals != std::string::npos ? argv[i].substr(equals + 1)
                              : i + 1 < argv.size()       ? argv[i + 1]
                                                          : std::string();
    add_secret(secrets, name, value);
  }
}

}  // namespace

std::vector<Secret> secrets_in(const GatewayConfig& config) {
  std::vector<Secret> secrets;
  for (const ServerEntry& entry : config.servers) {
    const ServerConfig& server = entry.server;
    for (const auto& [name, value] : server.command.env) add_secret(secrets, name, value);
    add_arguments(secrets, server.command.argv);
    for (const std::string& header : server.http.headers) {
      const auto read = Credentials::from_headers({header}, own_variable);
      if (!read) continue;
      const std::string_view line = trimmed(read->lines());
      const auto colon = line.find(':');
      const std::string_view name = line.substr(0, colon);
      const std::string_view value = trimmed(line.substr(colon + 1));
      if (value.size() >= 4) secrets.push_back({std::string(name), std::string(value)});
      // The token alone, without its scheme.
      if (const auto space = value.rfind(' '); space != std::string_view::npos && value.size() - space > 4)
        secrets.push_back({std::string(name), std::string(value.substr(space + 1))});
    }
  }
  return secrets;
}

Journal::Journal(boost::asio::io_context& loop, Clients& clients, const Clock& clock, std::string name)
    : loop_(loop), clients_(clients), clock_(clock), name_(std::move(name)) {}

Journal::~Journal() {
  close(std::chrono::milliseconds(0));
}

void Journal::configure(const GatewayConfig& config) {
  redactor_ = Redactor(secrets_in(config), config.journal.redact);
  const bool switched = config.journal.on != std::exchange(config_, config.journal).on;
  if (writing_) writing_->writer->set_redactor(redactor_);
  if (!switched) return;
  if (const auto done = set(config.journal.on); !done) log_warn("no journal: {}", done.error());
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
  JournalSettings settings{.folder = journal_folder(),
                           .name = name_,
                           .limits = {.age = std::chrono::days(config_.days), .bytes = config_.bytes},
                           .redactor = redactor_};
  if (settings.folder.empty())
    return std::unexpected("there is no home folder to write it to; set HOME or XDG_STATE_HOME");
  if (last_) last_->close(std::chrono::milliseconds(0));
  const auto tell = [&loop = loop_](std::string words) {
    boost::asio::post(loop, [words = std::move(words)] { log_warn("{}", words); });
  };
  const auto on_end = [calls = history_.calls](const CallRow& call, std::string_view request,
                                               std::string_view answer) {
    calls->add(call, request, answer);
  };
  Writing writing{.writer = std::make_shared<JournalWriter>(std::move(settings), tell, on_end),
                  .observer = {}};
  writing.observer = std::make_unique<JournalObserver>(writing.writer->queue(),
                                                       [writer = writing.writer.get()] { writer->wake(); });
  writing.writer->start();
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
