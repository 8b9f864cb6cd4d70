// Small parsers of outside text: addresses, headers, proxies, and what servers print to stderr.
#include <simdjson.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/output_ring.h"
#include "base/url.h"
#include "base/utf8.h"
#include "config/credentials.h"
#include "front/trusted_proxies.h"
#include "fuzz.h"
#include "link/proxy.h"
#include "rpc/answers.h"

namespace {

using namespace mcpivot;
using fuzz::check;

bool is_safe(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

void check_url(const Url& url) {
  check(!url.host.empty() && url.port != 0 && url.target.starts_with('/'), "an address is whole");
  check(is_safe(url.host) && is_safe(url.target), "it can stand in a request");
  check(url.target.find('#') == std::string::npos, "without a fragment");
  const auto again = parse_url(url.text());
  check(again.has_value(), "what an address is spelled as is an address");
  check(again->same_origin(url) && again->target == url.target, "the same one");
}

void check_urls(std::string_view base, std::string_view reference) {
  const auto url = parse_url(base);
  if (!url) return check(!url.error().empty(), "a refusal has a reason");
  check_url(*url);
  if (const auto resolved = resolve_reference(*url, reference)) check_url(*resolved);
  const std::string address(reference);
  const auto proxy = proxy_for(*url, [&](const char*) { return address.c_str(); });
  if (proxy && *proxy) check_url((*proxy)->url);
  if (proxy && *proxy)
    check((*proxy)->authorization.find_first_of("\r\n") == std::string::npos,
          "no line end gets into a header");
}

void check_headers(std::string_view text) {
  const auto found = Credentials::from_headers({std::string(text)}, [](const char* name) {
    return *name == 'A' ? "v" : *name == 'B' ? "x\r\ny: z" : nullptr;
  });
  if (!found) return check(!found.error().empty(), "a refusal has a reason");
  const std::string& lines = found->lines();
  check(std::ranges::count(lines, '\n') <= 1 && (lines.empty() || lines.ends_with("\r\n")),
        "a header is one line");
  check(std::ranges::count(lines, '\r') <= 1, "in every sense");
}

void check_forwarded(std::string_view network, std::string_view list) {
  TrustedProxies proxies;
  if (const auto added = proxies.add(network); !added)
    check(!added.error().empty(), "a refusal has a reason");
  check(proxies.add("127.0.0.1").has_value(), "this machine can be trusted");
  HttpAsk ask;
  ask.peer = "127.0.0.1";
  for (const char* name : {"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}) ask.add(name, list);
  const std::string address = proxies.caller(ask).address;
  const auto parsed = parse_ip(address);
  check(parsed && ip_text(*parsed) == address, "nothing but an address gets into the log");
  ask.peer = "203.0.113.9";
  if (!proxies.trusts(ask.peer))
    check(proxies.caller(ask).address == ask.peer, "a stranger has no say about where it comes from");
}

std::string ring_text(std::string_view text, std::string_view cuts) {
  OutputRing ring;
  LineAssembler assembler;
  auto add = [&](const std::string& line) { ring.add(1, line); };
  for (const auto piece : fuzz::pieces(text, cuts)) assembler.feed(piece, add);
  assembler.rest(add);
  std::string all;
  for (const std::string& line : ring.lines_of(1)) {
    check(simdjson::validate_utf8(line.data(), line.size()), "a kept line is UTF-8");
    check(line.size() <= OutputRing::longest_line + 40, "and bounded");
    all += line + "\n";
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  check_urls(input.settings, input.text);
  check_headers(input.text);
  check_forwarded(input.settings, input.text);
  const std::string whole = ring_text(input.text, "\xff");
  fuzz::check_same(ring_text(input.text, {}), whole, "stderr, byte by byte");
  fuzz::check_same(ring_text(input.text, input.settings), whole, "stderr, in pieces");
  const std::string utf8 = as_utf8(input.text);
  check(simdjson::validate_utf8(utf8.data(), utf8.size()), "it is UTF-8");
  if (simdjson::validate_utf8(input.text.data(), input.text.size()))
    fuzz::check_same(utf8, input.text, "as it was");
  boost::system::error_code error;
  boost::json::parse(tool_answer("1", utf8, true), error);
  check(!error, "text in an answer is JSON");
  return 0;
}
