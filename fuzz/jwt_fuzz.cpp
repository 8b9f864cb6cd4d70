// Access tokens and key sets, as received before anyone is admitted. The first byte says which: a token as it
// is, the header and the claims of one (a line each, so that the fuzzer need not learn base64), or a key set.
#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/contains.h"
#include "fuzz.h"
#include "oauth/jwks.h"
#include "oauth/jwt.h"

namespace {

using namespace mcpivot;
using fuzz::check;
namespace json = boost::json;

// The examples of RFC 8037 and RFC 7517.
const KeySet& keys() {
  static const KeySet set = *KeySet::read(
      R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},)"
      R"({"kty":"EC","crv":"P-256","kid":"b","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",)"
      R"("y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]})");
  return set;
}

void check_token(std::string_view text) {
  const auto token = read_jwt(text);
  if (!token) return check(!token.error().empty(), "a refusal has words");
  check(text.starts_with(token->content) && text[token->content.size()] == '.',
        "the content is the beginning");
  check(!token->subject.empty() && token->subject.size() <= Jwt::longest_subject, "a subject is short");
  check(keys().verify(*token) != KeySet::Finding::genuine, "nothing made up is genuine");
  // A plainer reader, which would take the last of two, finds the same.
  const auto dot = token->content.find('.');
  json::parse_options options;
  options.max_depth = 2'000;
  const auto claims = json::parse(*from_base64url(token->content.substr(dot + 1)), {}, options).as_object();
  check(claims.at("sub").as_string() == token->subject, "the subject is the one that others read");
  if (const auto* one = claims.at("aud").if_string())
    check(contains(token->audiences, std::string(*one)), "and so is the audience");
  const auto header = json::parse(*from_base64url(token->content.substr(0, dot)), {}, options).as_object();
  check(jwt_algorithm(header.at("alg").as_string().c_str()) == token->algorithm, "and the algorithm");
  check(!header.contains("crit"), "and nothing is critical");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'k':
      if (const auto set = KeySet::read(text)) check(set->size() > 0, "a set has keys");
      break;
    case 'p': {
      const auto end = std::min(text.find('\n'), text.size());
      check_token(base64url(text.substr(0, end)) + "." +
                  base64url(text.substr(std::min(end + 1, text.size()))) + ".AAAA");
      break;
    }
    default:
      check_token(text);
  }
  return 0;
}
