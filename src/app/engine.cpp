#include "app/engine.h"

#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "log/last_resort.h"
#include "log/log.h"
#include "proc/exit_status.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// A server has this long to exit after its stdin is closed, and as long again after SIGTERM. Some clients
// (including Claude Code) kill us half a second after they asked us to end.
constexpr milliseconds patience{100};
// For the answer of an authorization server that is about to replace a token.
constexpr milliseconds for_tokens{5'000};
constexpr milliseconds signal_burst{50};
// By then most servers have started and told what they offer, and mcpivot is as it will be for hours.
constexpr std::chrono::seconds settled{2};
// For the journal, at the end. Clients kill an mcpivot that takes long to exit.
constexpr milliseconds last_writes{200};

// Large messages come and go; without this, malloc would adapt and keep their memory.
void return_large_blocks_to_the_system() {
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

// Most of the program's and its libraries' pages that are mapped by now were needed only for the start: the
// command line, the configuration, relocations. They are released, and come back from the page cache when
// they are used.
void forget_the_start() {
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void*) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
          const std::uintptr_t page = ~static_cast<std::uintptr_t>(::getpagesize() - 1);
          const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & page;
          const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives addresses as numbers
          ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        }
        return 0;
      },
      nullptr);
}

// The first error in one line, and what to do about it, for notices and errors that are sent immediately.
std::string trouble_in(const LoadedConfig& loaded) {
  if (!loaded.has_errors()) return {};
  const std::string file = absolute_path(loaded.gateway.file).lexically_normal();
  const auto is_error = [](const Problem& problem) { return problem.severity == Problem::Severity::error; };
  std::string text = problem_text(file, *std::ranges::find_if(loaded.problems, is_error));
  std::ranges::replace(text, '\n', ' ');
  if (const auto errors = std::ranges::count_if(loaded.problems, is_error); errors > 1)
    text += fmt::format(" ({} more: \"mcpivot check {}\" lists them)", errors - 1, file);
  return fmt::format("{}{} Fix the file; mcpivot reads it again when it is saved.", text,
                     text.ends_with('?') ? "" : ".");
}

// The configuration that the options describe: their own, or that of the file they name. Problems with the
// file go to the log.
LoadedConfig load(const GatewayConfig& given) {
  LoadedConfig loaded;
  if (given.file.empty()) {
    loaded.gateway = given;
    return loaded;
  }
  loaded = load_config(given.file);
  loaded.gateway.file = given.file;
  loaded.gateway.compat = given.compat;
  if (given.front != Front::automatic) loaded.gateway.front = given.front;
  if (given.journal.on) loaded.gateway.journal.on = true;
  loaded.gateway.left_out =
      static_cast<std::size_t>(std::ranges::count(loaded.left_out, false, &LeftOut::disabled));
  loaded.gateway.trouble = trouble_in(loaded);
  for (const Problem& problem : loaded.problems) log_warn("{}", problem_text(given.file, problem));
  return loaded;
}

std::string errors_in(const LoadedConfig& loaded) {
  std::string text;
  for (const Problem& problem : loaded.problems)
    if (problem.severity == Problem::Severity::error)
      text += fmt::format("\n{}", problem_text(loaded.gateway.file, problem));
  return text;
}

}  // namespace

Engine::Engine(const Options& options, Guard& guard, OnSignal on_signal,
               std::function<void(GatewayConfig&)> adapt)
    : context_{.loop = loop_},
      options_(options),
      on_signal_(std::move(on_signal)),
      adapt_(std::move(adapt)),
      loaded_(configuration()),
      world_(context_, guard),
      journal_(loop_, clients_, world_.timers(), options.log.name),
      gateway_(world_, clients_, loaded_.gateway),
      signals_(loop_, SIGINT, SIGTERM),
      reload_signal_(loop_, SIGHUP),
      burst_(loop_),
      settling_(loop_) {
  return_large_blocks_to_the_system();
  world_.sign_ins().on_over([this](const std::string& server, const std::string& trouble) {
    gateway_.sign_in_over(server, trouble);
  });
  clients_.observe(message_log_, world_.timers(), log_enabled(LogLevel::trace));
  journal_.set_names([this] { return gateway_.client_names(); });
  journal_.configure(loaded_.gateway);
}

LoadedConfig Engine::configuration() const {
  LoadedConfig loaded = load(options_.gateway);
  if (adapt_) adapt_(loaded.gateway);
  return loaded;
}

std::string Engine::configuration_file() const {
  const std::string& file = options_.gateway.file;
  return file.empty() ? file : absolute_path(file).lexically_normal().string();
}

void Engine::start() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    exit_code_ = 128 + signal;
    on_signal_(signal_name(signal));
  });
  reload_on_signal();
  hold_reload_signal(false);
  watch_configuration();
}

// A bug of ours must not cost the client its connection: it is reported, and the rest goes on.
int Engine::run() {
  forget_the_start();
  settling_.expires_after(settled);
  settling_.async_wait([](const boost::system::error_code& error) {
    if (!error) forget_the_start();  // handshakes and first lists are part of it
  });
  for (bool done = false; !done;) {
    try {
      loop_.run();
      done = true;
    } catch (const std::exception& error) {
      report_mistake("event loop", error.what());
    }
  }
  journal_.close(last_writes);
  return exit_code_;
}

void Engine::reload_on_signal() {
  reload_signal_.async_wait([this](const boost::system::error_code& error, int) {
    if (error) return;
    if (!std::exchange(reload_due_, true)) reload_soon();
    reload_on_signal();
  });
}

// A burst of signals is one request; separate reloads would each restart every server.
void Engine::reload_soon() {
  burst_.expires_after(signal_burst);
  burst_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    reload_due_ = false;
    log_info("reloading after SIGHUP");
    if (!shutting_down_) gateway_.reload("after SIGHUP");
  });
}

void Engine::watch_configuration() {
  if (options_.gateway.file.empty()) return;
  if (loaded_.has_errors() && !options_.serve)
    gateway_.add_notice(fmt::format("[mcpivot] the configuration has errors:{}", errors_in(loaded_)));
  configuration_watch_ = std::make_unique<ReplacementWatcher>(
      loop_, options_.gateway.file, ReplacementWatcher::Options(), [this] { configuration_changed(); },
      [](const std::string& problem) { log_warn("{}", problem); });
}

// A file with errors changes nothing: the servers keep running as before.
void Engine::configuration_changed() {
  if (shutting_down_) return;
  log_info("{} changed", options_.gateway.file);
  const LoadedConfig loaded = configuration();
  if (!loaded.has_errors()) {
    journal_.configure(loaded.gateway);
    gateway_.configure(loaded.gateway);
    return world_.sign_ins().keep_only(loaded.gateway.servers);
  }
  gateway_.set_trouble(loaded.gateway.trouble);
  if (options_.serve) return;  // clients aren't told; it is in the log
  gateway_.add_notice(
      fmt::format("[mcpivot] the edited configuration has errors, so mcpivot keeps the previous one:{}",
                  errors_in(loaded)));
}

void Engine::shut_down(const std::string& why, std::function<void()> done) {
  if (std::exchange(shutting_down_, true)) return;
  log_info("ending: {}", why);
  gateway_.shut_down(patience,
                     [this, done = std::move(done)] { world_.sign_ins().settle(for_tokens, done); });
}

void hold_reload_signal(bool held) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGHUP);
  ::sigprocmask(held ? SIG_BLOCK : SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace mcpivot
