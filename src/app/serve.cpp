#include "app/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/engine.h"
#include "base/files.h"
#include "base/user_folders.h"
#include "control/control_socket.h"
#include "front/access_tokens.h"
#include "front/http_gate.h"
#include "front/http_server.h"
#include "front/session_keys.h"
#include "front/session_store.h"
#include "log/log.h"
#include "oauth/fetch.h"
#include "proc/descriptor_limit.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// For the last answers to be written.
constexpr milliseconds last_answers{150};
constexpr milliseconds last_writes{1'000};

std::chrono::sys_seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Why the options can't be satisfied.
struct Unfit {
  std::string why;
};

template <class Value>
Value value_or_unfit(std::expected<Value, std::string> made) {
  if (!made) throw Unfit{made.error()};
  return std::move(*made);
}

// Whether clients need a token.
bool has_tokens(const ServeOptions& options) {
  return !options.token_file.empty() || !options.oauth_issuer.empty();
}

std::vector<ListenAddress> addresses_in(const ServeOptions& options) {
  std::vector<ListenAddress> addresses;
  for (const std::string& text : options.listens)
    addresses.push_back(value_or_unfit(parse_listen_address(text)));
  for (const ListenAddress& address : addresses)
    if (!address.is_local() && !has_tokens(options) && !options.no_auth)
      throw Unfit{
          fmt::format("--listen {}: other machines can reach this address. Give them tokens with "
                      "--token-file FILE or --oauth-issuer URL, or add --no-auth if anyone who reaches it "
                      "may use these servers.",
                      address.text())};
  if (!options.trusted_proxies.empty() && !has_tokens(options) && !options.no_auth)
    throw Unfit{
        "--trusted-proxy: anyone who reaches the proxy gets in. Give clients tokens with --token-file FILE "
        "or "
        "--oauth-issuer URL, or add --no-auth if the proxy does the authentication."};
  return addresses;
}

TrustedProxies proxies_in(const ServeOptions& options) {
  TrustedProxies proxies;
  for (const std::string& text : options.trusted_proxies)
    if (const auto added = proxies.add(text); !added)
      throw Unfit{fmt::format("--trusted-proxy: {}.", added.error())};
  return proxies;
}

void check_oauth(const ServeOptions& options) {
  if (options.oauth_issuer.empty() != options.audience.empty())
    throw Unfit{
        options.audience.empty()
            ? "--oauth-issuer: --audience is missing. It says what tokens must be issued for; without it, "
              "tokens for any other service of this issuer would be accepted here."
            : "--audience: --oauth-issuer is missing."};
  if (options.oauth_issuer.empty()) return;
  if (options.no_auth)
    throw Unfit{
        "--no-auth accepts anyone, and --oauth-issuer only clients with a token. Remove one of them."};
  if (const std::string fault = fault_in_issuer(options.oauth_issuer); !fault.empty())
    throw Unfit{fmt::format("--oauth-issuer: {}.", fault)};
  if (const std::string fault = fault_in_audience(options.audience); !fault.empty())
    throw Unfit{fmt::format("--audience: {}.", fault)};
}

// The issuer is the operator's own choice, so it may be anywhere.
std::shared_ptr<AccessTokens> access_tokens_of(const ServeOptions& options, boost::asio::io_context& loop,
                                               Timers& timers) {
  check_oauth(options);
  if (options.oauth_issuer.empty()) return nullptr;
  auto fetcher = std::make_shared<Fetcher>(
      loop, Fetcher::Options{.most_bytes = KeySet::longest, .patience = IssuerKeys::Pace().patience});
  return std::make_shared<AccessTokens>(
      timers, JwtRules{.issuer = options.oauth_issuer, .audience = options.audience},
      [fetcher = std::move(fetcher)](const Url& url, IssuerKeys::Got got) {
        FetchRequest request;
        request.url = url;
        fetcher->fetch(std::move(request),
                       [got = std::move(got)](std::expected<FetchAnswer, std::string> answer) {
                         if (!answer) return got(std::unexpected(std::move(answer.error())));
                         got(IssuerKeys::Document{.status = answer->status, .body = std::move(answer->body)});
                       });
      });
}

Admission admission_of(const ServeOptions& options, std::shared_ptr<AccessTokens> oauth) {
  AdmissionRules rules{.listens = addresses_in(options),
                       .hosts = options.hosts,
                       .origins = options.origins,
                       .public_url = options.public_url,
                       .proxies = proxies_in(options),
                       .tokens = {},
                       .oauth = std::move(oauth)};
  if (!options.token_file.empty()) rules.tokens = value_or_unfit(Tokens::load(options.token_file));
  return Admission(std::move(rules));
}

// Empty: there is no folder for it.
std::string key_file_of(const ServeOptions& options) {
  if (!options.session_key_file.empty()) return absolute_path(options.session_key_file);
  const std::string folder = state_folder();
  return folder.empty() ? folder : folder + "/session.key";
}

// Without a home directory, it is next to the key.
std::string store_of(const ServeOptions& options) {
  const std::string folder = state_folder();
  if (!folder.empty()) return folder + "/sessions.db";
  return std::filesystem::path(key_file_of(options)).replace_filename("sessions.db");
}

SessionSeal seal_of(const ServeOptions& options) {
  const std::string file = key_file_of(options);
  if (file.empty())
    throw Unfit{
        "there is no home folder for the key of session ids; name a file with "
        "--session-key-file."};
  const bool given = !options.session_key_file.empty();
  return SessionSeal(value_or_unfit(given ? SessionKeys::load(file) : SessionKeys::load_or_make(file)));
}

// Each client has a connection or two; half of the descriptors are left for servers.
HttpLimits limits_here() {
  HttpLimits limits;
  limits.connections = std::min(limits.connections, raise_descriptor_limit() / 2);
  return limits;
}

// Each client has its own servers, which are started when it first needs them, without mcpivot's own
// secrets. It may not build or restart them, or read their output. Its activations are stored with its
// session.
void adapt(GatewayConfig& config, Sharing sharing) {
  for (ServerEntry& entry : config.servers) {
    entry.start = StartMode::lazy;
    entry.server.command.own_env_only = true;
    if (!entry.sharing) entry.server.sharing = sharing;
    entry.server.for_many = true;
  }
  config.remember = false;
  if (!config.trouble.empty()) config.trouble = "the configuration has errors; see mcpivot's log";
  config.powers = no_powers;
}

class ServingProgram {
 public:
  ServingProgram(const Options& options, Guard& guard)
      : options_(*options.serve),
        engine_(
            options, guard, [this](const std::string& signal) { shut_down(signal); },
            [this](GatewayConfig& config) { adapt(config, options_.sharing); }),
        store_(engine_.loop(), store_of(options_)),
        oauth_(access_tokens_of(options_, engine_.loop(), engine_.world().timers())),
        gate_(engine_.world(), engine_.clients(), engine_.gateway(), store_, admission_of(options_, oauth_),
              seal_of(options_),
              {.session_idle = options_.session_idle, .most_instances = options_.max_instances}),
        server_(engine_.loop(), engine_.context().corks, gate_, limits_here()),
        control_(engine_.context(), engine_.world(), engine_.clients(), engine_.gateway(), gate_,
                 options.log.name),
        deadline_(engine_.loop()) {
    gate_.serve(server_);
    if (oauth_) oauth_->on_keys([this] { gate_.on_keys(); });
    control_.set_configuration_file(engine_.configuration_file());
    control_.set_journal([this](bool on) { return engine_.journal().turn(on); });
  }

  int run() {
    if (const auto opened = store_.open(now()); !opened) log_warn("{}", opened.error());
    control_.open();
    listen();
    watch_files();
    if (oauth_) oauth_->fetch_keys();
    engine_.start();
    engine_.run();
    server_.close();
    store_.close(last_writes);
    return 0;  // it was asked to end; container runtimes treat anything else as a crash
  }

 private:
  void listen() {
    const bool tls = !options_.certificate.empty();
    if (tls)
      if (const auto used = server_.use_tls(options_.certificate, options_.key); !used)
        throw Unfit{used.error()};
    for (const ListenAddress& address : addresses_in(options_)) {
      const bool on_socket = address.kind == ListenAddress::Kind::unix_socket;
      const auto bound = value_or_unfit(server_.listen(address, tls && !on_socket));
      if (on_socket) tell(address.text());
      for (const std::string& one : bound.addresses)
        tell(fmt::format("{}://{}/mcp", tls ? "https" : "http", one));
    }
  }
  static void tell(const std::string& where) {
    log_info("listening on {}", where);
    std::fprintf(stderr, "mcpivot: listening on %s\n", where.c_str());
  }

  void watch(const std::string& file, std::function<void()> changed) {
    if (file.empty()) return;
    watches_.push_back(std::make_unique<ReplacementWatcher>(
        engine_.loop(), file, ReplacementWatcher::Options(), std::move(changed),
        [](const std::string& problem) { log_warn("{}", problem); }));
  }
  void watch_files() {
    watch(options_.token_file, [this] {
      if (auto tokens = Tokens::load(options_.token_file)) {
        gate_.use(std::move(*tokens));
      } else {
        log_warn("{}; keeping the old tokens", tokens.error());
      }
    });
    const std::string keys_file = key_file_of(options_);
    watch(keys_file, [this, keys_file] {
      if (auto keys = SessionKeys::load(keys_file)) {
        gate_.use(std::move(*keys));
        log_info("{} was reloaded", keys_file);
      } else {
        log_warn("{}; keeping the old keys of session ids", keys.error());
      }
    });
    const auto reload_tls = [this] {
      if (const auto loaded = server_.reload_tls(); !loaded)
        log_warn("{}; keeping the old certificate", loaded.error());
    };
    watch(options_.certificate, reload_tls);
    watch(options_.key, reload_tls);
  }

  // Calls in flight are answered first, then the servers end.
  void shut_down(const std::string& why) {
    log_info("{}: finishing requests in flight", why);
    gate_.drain(options_.drain, [this, why] {
      server_.stop_accepting();
      engine_.shut_down(why, [this] { finish(); });
    });
  }
  void finish() {
    gate_.close();
    deadline_.expires_after(last_answers);
    deadline_.async_wait([this](const boost::system::error_code&) { engine_.loop().stop(); });
  }

  const ServeOptions& options_;
  Engine engine_;
  SessionStore store_;
  std::shared_ptr<AccessTokens> oauth_;  // none: no --oauth-issuer
  HttpGate gate_;
  HttpServer server_;
  ControlSocket control_;
  boost::asio::steady_timer deadline_;
  std::vector<std::unique_ptr<ReplacementWatcher>> watches_;
};

}  // namespace

int serve(const Options& options, Guard& guard) {
  try {
    ServingProgram program(options, guard);
    return program.run();
  } catch (const Unfit& unfit) {
    std::fprintf(stderr, "mcpivot serve: %s\n", unfit.why.c_str());
    return 2;
  }
}

}  // namespace mcpivot
