#include "front/answer_head.h"

#include <fmt/format.h>

#include <array>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <iterator>

namespace mcpivot {
namespace {

// Rebuilt at most once a second. Day and month names are English in any locale.
const std::string& date_line() {
  static constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  static std::time_t made = -1;
  static std::string line;
  const std::time_t now = std::time(nullptr);
  if (now == made) return line;
  made = now;
  std::tm t{};
  ::gmtime_r(&now, &t);
  line = fmt::format(
      "Date: {}, {:02} {} {} {:02}:{:02}:{:02} GMT\r\n", days[static_cast<std::size_t>(t.tm_wday)], t.tm_mday,
      months[static_cast<std::size_t>(t.tm_mon)], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
  return line;
}

}  // namespace

std::string answer_head(const AnswerHead& head) {
  namespace http = boost::beast::http;
  const auto known = http::int_to_status(static_cast<unsigned>(head.status));
  const boost::beast::string_view reason =
      known == http::status::unknown ? boost::beast::string_view() : http::obsolete_reason(known);
  std::string text;
  text.reserve(160 + head.headers.size());
  fmt::format_to(std::back_inserter(text), "HTTP/1.1 {} {}\r\n", head.status,
                 std::string_view(reason.data(), reason.size()));
  text += date_line();
  text += head.headers;
  if (head.length) fmt::format_to(std::back_inserter(text), "Content-Length: {}\r\n", *head.length);
  if (head.chunked) text += "Transfer-Encoding: chunked\r\n";
  if (head.close) {
    text += "Connection: close\r\n";
  } else if (head.http_1_0) {
    text += "Connection: keep-alive\r\n";
  }
  text += "\r\n";
  return text;
}

bool may_have_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

}  // namespace mcpivot
