#include "cli/serve_options.h"

#include <CLI/CLI.hpp>

#include "base/url.h"
#include "cli/command_help.h"

namespace mcpivot {
namespace {

constexpr const char* serve_footer = R"(
Example: the servers of a file, for every client on this machine
  mcpivot serve --listen 127.0.0.1:7420 --config mcpivot.json
  claude mcp add --transport http all http://127.0.0.1:7420/mcp

Example: for other machines, each with a token of its own
  mcpivot serve --listen '*:7420' --cert cert.pem --key key.pem \
    --token-file tokens -- node server.js

Example: for everyone with an access token of your authorization server
  mcpivot serve --listen 127.0.0.1:7420 --trusted-proxy 127.0.0.1 \
    --public-url https://example.com/mcp --audience https://example.com/mcp \
    --oauth-issuer https://login.example.com --config mcpivot.json

Each client has servers of its own, started when it first needs them, unless
they are shared (--sharing, or "sharing": "shared" in the configuration).)";

}  // namespace

CLI::App* add_serve_command(CLI::App& app, ServeTexts& texts, std::string& drain) {
  CLI::App* const serve = add_command(app, "serve", "--listen ADDRESS [OPTIONS] [-- COMMAND [ARG...]]",
                                      "Serve many clients over Streamable HTTP, isolated from each other");
  serve->fallthrough();
  serve->footer(serve_footer);
  ServeOptions& options = texts.options;
  serve
      ->add_option("--listen", options.listens,
                   "Address to listen on (repeatable): 127.0.0.1:7420, localhost:7420, '*:7420' for all "
                   "addresses, or unix:PATH")
      ->option_text("ADDRESS")
      ->allow_extra_args(false)
      ->required();
  serve
      ->add_option("--token-file", options.token_file,
                   "The clients' tokens, a line each: NAME TOKEN [PROFILE]; required beyond this machine")
      ->option_text("FILE");
  serve
      ->add_option("--oauth-issuer", options.oauth_issuer,
                   "Accept access tokens (JWTs) of this authorization server, for --audience; together with "
                   "--token-file, either kind of token is accepted")
      ->option_text("URL");
  serve
      ->add_option("--audience", options.audience,
                   "What these tokens must be issued for: mcpivot's own address, https://example.com/mcp")
      ->option_text("URI");
  serve->add_flag("--no-auth", options.no_auth,
                  "Accept anyone who can reach the address, also from other machines");
  serve
      ->add_option("--cert", options.certificate,
                   "Serve HTTPS with this certificate; reloaded when it changes")
      ->option_text("FILE");
  serve->add_option("--key", options.key, "The certificate's key")->option_text("FILE");
  serve
      ->add_option("--public-url", options.public_url,
                   "The URL that clients use, if a proxy is in front: https://example.com/mcp")
      ->option_text("URL");
  serve->add_option("--allow-host", options.hosts, "Another Host name to accept (repeatable)")
      ->option_text("NAME")
      ->allow_extra_args(false);
  serve
      ->add_option("--allow-origin", options.origins,
                   "Accept requests from web pages of this origin (repeatable): https://example.com, or *")
      ->option_text("ORIGIN")
      ->allow_extra_args(false);
  serve
      ->add_option("--trusted-proxy", options.trusted_proxies,
                   "Trust X-Forwarded-For, -Proto and -Host from this proxy (repeatable): an address, "
                   "a network, or unix")
      ->option_text("ADDRESS|CIDR")
      ->allow_extra_args(false);
  serve
      ->add_option("--session-key-file", options.session_key_file,
                   "The key that encrypts session ids (default: session.key under "
                   "$XDG_STATE_HOME/mcpivot, created if missing)")
      ->option_text("FILE");
  serve
      ->add_option("--session-idle", texts.session_idle,
                   "How long a client may be idle before its servers are stopped (default: 10m)")
      ->option_text("TIME");
  serve
      ->add_option("--sharing", texts.sharing,
                   "per-client (the default): each client has its own instance of a server; shared: all have "
                   "one. For servers that don't set \"sharing\" themselves")
      ->option_text("HOW")
      ->check(CLI::IsMember({"per-client", "shared"}));
  serve
      ->add_option("--max-instances", options.max_instances,
                   "How many per-client servers may run at once (default: 256)")
      ->option_text("NUMBER")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  // The one option for all servers that means more here.
  serve
      ->add_option("--drain", drain,
                   "How long calls in flight may take to finish when mcpivot exits, and on an old server "
                   "(default: 10s)")
      ->option_text("TIME");
  return serve;
}

ServeOptions serve_options(const ServeTexts& texts, const ServerTexts& server) {
  ServeOptions serve = texts.options;
  if (serve.certificate.empty() != serve.key.empty())
    throw CLI::ValidationError(serve.key.empty() ? "--cert" : "--key", "--cert and --key go together");
  if (texts.sharing == "shared") serve.sharing = Sharing::shared;
  if (!texts.session_idle.empty()) serve.session_idle = duration_option("--session-idle", texts.session_idle);
  if (const std::string& drain = server.durations.at("--drain"); !drain.empty())
    serve.drain = duration_option("--drain", drain);
  if (!serve.public_url.empty())
    if (const auto url = parse_url(serve.public_url); !url)
      throw CLI::ValidationError("--public-url", url.error());
  return serve;
}

}  // namespace mcpivot
