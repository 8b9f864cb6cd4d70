#include "oracle.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

namespace chaos {
namespace {

namespace json = boost::json;

constexpr auto names = std::to_array<const char*>(
    {"one answer", "in time", "connection", "bytes", "not twice", "says why", "model knows", "broken build"});
static_assert(names.size() == static_cast<std::size_t>(Promise::count));

// The text of a failed answer: the message of an error, or the texts of the result.
std::string words_of(const json::object& message) {
  if (const json::value* error = message.if_contains("error")) {
    const json::value* text = error->is_object() ? error->get_object().if_contains("message") : nullptr;
    return text && text->is_string() ? std::string(text->get_string()) : json::serialize(*error);
  }
  std::string words;
  const json::value* result = message.if_contains("result");
  if (result == nullptr || !result->is_object()) return words;
  const json::value* content = result->get_object().if_contains("content");
  if (content == nullptr || !content->is_array()) return words;
  for (const json::value& block : content->get_array())
    if (const json::value* text = block.is_object() ? block.get_object().if_contains("text") : nullptr)
      if (text->is_string()) words += std::string(text->get_string()) + "\n";
  return words;
}

bool is_failure(const json::object& message) {
  if (message.contains("error")) return true;
  const json::value* result = message.if_contains("result");
  if (result == nullptr || !result->is_object()) return false;
  const json::value* flag = result->get_object().if_contains("isError");
  return flag != nullptr && flag->is_bool() && flag->get_bool();
}

std::string shortened(const std::string& text, std::size_t size) {
  std::string line = text.substr(0, size);
  std::ranges::replace(line, '\n', ' ');
  return line + (text.size() > size ? "…" : "");
}

// What mcpivot says when a call didn't reach the server.
bool says_it_was_not_sent(const std::string& text) {
  return std::ranges::any_of(
      std::to_array<const char*>({"the request was not sent", "was not run", "was not sent to"}),
      [&](const char* words) { return text.find(words) != std::string::npos; });
}

}  // namespace

std::string name_of(Promise promise) {
  return names.at(static_cast<std::size_t>(promise));
}

void Oracle::sent(Request request) {
  index_[request.id] = requests_.size();
  requests_.push_back(std::move(request));
}

void Oracle::cancelled(const std::string& id, long now) {
  requests_[index_.at(id)].cancelled = now;
}

void Oracle::violate(Promise promise, long at, std::string what) {
  violations_.push_back({promise, at, std::move(what)});
}

std::string Oracle::received(const std::string& line, long now) {
  boost::system::error_code failed;
  const json::value parsed = json::parse(line, failed);
  if (failed || !parsed.is_object()) {
    violate(Promise::connection, now, "a line from mcpivot isn't a message: " + shortened(line, 200));
    return {};
  }
  const json::object& message = parsed.get_object();
  const json::value* id = message.if_contains("id");
  const json::value* method = message.if_contains("method");
  if (method == nullptr) {
    if (id == nullptr || id->is_null())
      violate(Promise::connection, now, "neither request nor answer: " + shortened(line, 200));
    else
      answer(json::serialize(*id), message, line, now);
    return {};
  }
  if (id != nullptr) {
    if (modern_)
      violate(Promise::connection, now, "a modern client was sent a request: " + shortened(line, 200));
    return R"({"jsonrpc":"2.0","id":)" + json::serialize(*id) + R"(,"result":)" +
           (*method == "elicitation/create" ? R"({"action":"accept","content":{}})" : R"({"roots":[]})") +
           "}";
  }
  notified(message, line, now);
  return {};
}

void Oracle::notified(const json::object& message, const std::string& line, long now) {
  const json::value& method = message.at("method");
  if (method == "notifications/progress") {
    const std::string token = json::serialize(message.at("params").at("progressToken"));
    const auto found = index_.find(token);
    if (found == index_.end())
      violate(Promise::one_answer, now, "progress of what nobody asked for: " + shortened(line, 200));
    else if (requests_[found->second].answers > 0)
      violate(Promise::one_answer, now, "progress after the answer: " + shortened(line, 200));
    return;
  }
  if (!modern_ || method == "notifications/message") return;
  boost::system::error_code failed;
  const json::value* subscription =
      message.at("params").find_pointer("/_meta/io.modelcontextprotocol~1subscriptionId", failed);
  if (subscription == nullptr || !listens_.contains(json::serialize(*subscription)))
    violate(Promise::connection, now, "news that nobody listens for: " + shortened(line, 200));
}

// What every answer to a modern client must contain. One that requires input is only a step.
void Oracle::judge_modern(const Request& request, const json::object& message, long now) {
  const json::value* result = message.if_contains("result");
  if (result == nullptr) return;
  const json::value* type = result->is_object() ? result->get_object().if_contains("resultType") : nullptr;
  if (type == nullptr)
    return violate(Promise::connection, now, request.what + " " + request.id + " has no resultType");
  if (*type != "input_required") return;
  const json::value* questions = result->get_object().if_contains("inputRequests");
  const json::value* state = result->get_object().if_contains("requestState");
  required_.push_back({request.id, questions ? questions->as_object() : json::object(),
                       state ? json::serialize(*state) : std::string()});
}

void Oracle::answer(const std::string& id, const json::object& message, const std::string& line, long now) {
  const auto found = index_.find(id);
  if (found == index_.end())
    return violate(Promise::one_answer, now, "an answer that nobody asked for: " + shortened(line, 200));
  Request& request = requests_[found->second];
  if (++request.answers > 1)
    return violate(Promise::one_answer, now, request.what + " " + id + " was answered twice");
  request.too_late = request.is_over;
  if (request.too_late)
    violate(Promise::one_answer, now, request.what + " " + id + " was answered after it was cancelled");
  request.answered = now;
  request.is_failure = is_failure(message);
  const std::string words = words_of(message);
  if (words.find("[mcpivot]") != std::string::npos) told_.emplace_back(now, words);
  const std::size_t steps = required_.size();
  if (modern_) judge_modern(request, message, now);
  if (request.is_failure)
    request.text = words;
  else if (required_.size() > steps)
    request.expect.clear();
  else if (!request.expect.empty() && line.find(request.expect) == std::string::npos)
    violate(Promise::bytes, now,
            request.what + " " + id + " expected " + shortened(request.expect, 200) + " and got " +
                shortened(line, 300));
  // A ping that was sent right after a cancellation: mcpivot has seen both.
  if (request.what == "ping-behind" && index_.contains(request.token))
    requests_[index_.at(request.token)].is_over = true;
}

void Oracle::connection_ended(long now) {
  ended_ = true;
  violate(Promise::connection, now, "mcpivot closed its stdout");
}

void Oracle::terminal_hangs(const std::string& command, long now) {
  violate(Promise::in_time, now, command + " in a terminal did not end");
}

bool Oracle::is_over(long now) const {
  return ended_ || std::ranges::all_of(requests_, [&](const Request& request) {
           return request.answers > 0 || request.cancelled >= 0 || now > request.deadline;
         });
}

bool Oracle::was_answered(const std::string& id) const {
  return requests_.at(index_.at(id)).answers > 0;
}

void Oracle::count(Promise promise, long begin, long end, bool kept) {
  for (const Fault& fault : faults_) {
    if (fault.begin > end || fault.end < begin) continue;
    auto& [tried, broken] = counts_[fault.what][promise];
    ++tried;
    if (!kept) ++broken;
  }
  auto& [tried, broken] = counts_["in all"][promise];
  ++tried;
  if (!kept) ++broken;
}

void Oracle::judge_request(const Request& request, const std::map<std::string, int>& executed, long now) {
  const long end = request.answered >= 0    ? request.answered
                   : request.cancelled >= 0 ? request.cancelled
                                            : now;
  const std::string what =
      request.what + " " + request.id + " of " + request.server + ", sent at " + std::to_string(request.sent);
  const bool missing = request.answers == 0 && request.cancelled < 0;
  if (missing) violate(Promise::one_answer, end, what + ", was never answered");
  count(Promise::one_answer, request.sent, end, !missing && request.answers <= 1 && !request.too_late);
  if (request.answers > 0) {
    const bool late = request.answered > request.deadline;
    if (late)
      violate(Promise::in_time, end,
              what + ", took " + std::to_string(request.answered - request.sent) +
                  " ms: " + shortened(request.text, 300));
    count(Promise::in_time, request.sent, end, !late);
  }
  if (!request.expect.empty() && request.answers > 0 && !request.is_failure)
    count(Promise::bytes, request.sent, end, std::ranges::none_of(violations_, [&](const Violation& broken) {
            return broken.promise == Promise::bytes && broken.at == request.answered;
          }));
  if (!request.token.empty() && request.what != "ping-behind") {
    const auto found = executed.find(request.token);
    const int times = found == executed.end() ? 0 : found->second;
    std::string wrong;
    if (times > 1) wrong = ", was executed " + std::to_string(times) + " times";
    if (times == 0 && request.answers > 0 && !request.is_failure) wrong = ", was answered but not executed";
    if (times > 0 && request.is_failure && says_it_was_not_sent(request.text))
      wrong = ", was executed, and the answer says it was not sent: " + shortened(request.text, 200);
    if (!wrong.empty()) violate(Promise::not_twice, end, what + wrong);
    count(Promise::not_twice, request.sent, end, wrong.empty());
  }
  if (request.is_failure && !request.may_fail) {
    const bool says = request.text.find("mcpivot") != std::string::npos ||
                      request.text.find('"' + request.server + '"') != std::string::npos;
    if (!says)
      violate(Promise::says_why, end, what + ", failed and said only: " + shortened(request.text, 300));
    count(Promise::says_why, request.sent, end, says);
  }
  if (request.what == "broken-build") {
    // Anyone else who breaks the server at that time may be told instead, or may have run the failing build.
    const bool others_build = std::ranges::any_of(faults_, [&](const Fault& fault) {
      return (fault.what.starts_with("hangup") || fault.what == "terminal") && fault.begin <= end &&
             fault.end >= request.sent;
    });
    const bool told =
        (request.is_failure && request.text.find("mcpivot") != std::string::npos) || others_build;
    if (!told) violate(Promise::broken_build, end, what + ", got: " + shortened(request.text, 300));
    count(Promise::broken_build, request.sent, end, told);
  }
}

void Oracle::judge_deaths() {
  for (const Fault& fault : faults_) {
    if (fault.what != "kill" && fault.what != "segv" && fault.what != "crash" && fault.what != "tear")
      continue;
    if (fault.server == "gamma") continue;  // inactive: it is only logged
    const auto about_it = [&](const std::pair<long, std::string>& telling) {
      return telling.first >= fault.begin && telling.second.find(fault.server) != std::string::npos;
    };
    const bool told = std::ranges::any_of(told_, about_it);
    if (!told)
      violate(Promise::model_knows, fault.begin,
              fault.what + " of " + fault.server + " at " + std::to_string(fault.begin) + " was never told");
    for (const std::string& row : {fault.what, std::string("in all")}) {
      auto& [tried, broken] = counts_[row][Promise::model_knows];
      ++tried;
      if (!told) ++broken;
    }
  }
}

void Oracle::judge(const std::map<std::string, int>& executed, long now) {
  for (const Request& request : requests_) judge_request(request, executed, now);
  judge_deaths();
  for (const Fault& fault : faults_)
    count(Promise::connection, fault.begin, fault.begin,
          std::ranges::none_of(violations_, [&](const auto& broken) {
            return broken.promise == Promise::connection && broken.at >= fault.begin &&
                   broken.at <= fault.end;
          }));
  std::ranges::stable_sort(violations_, {}, &Violation::at);
}

std::string Oracle::table() const {
  std::ostringstream out;
  out << std::left << std::setw(16) << "fault" << std::right << std::setw(7) << "times";
  for (const char* name : names) out << std::setw(14) << name;
  out << "\n";
  auto row = [&](const std::string& what, long times) {
    out << std::left << std::setw(16) << what << std::right << std::setw(7) << times;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto counts = counts_.find(what);
      std::string cell = "-";
      if (counts != counts_.end())
        if (const auto found = counts->second.find(static_cast<Promise>(i)); found != counts->second.end())
          cell = std::to_string(found->second.first) +
                 (found->second.second > 0 ? " !" + std::to_string(found->second.second) : "");
      out << std::setw(14) << cell;
    }
    out << "\n";
  };
  std::map<std::string, long> times;
  for (const Fault& fault : faults_) ++times[fault.what];
  for (const auto& [what, number] : times) row(what, number);
  row("in all", static_cast<long>(faults_.size()));
  out << "(a cell: how often the promise was tried under that fault; \"!n\": broken n times)\n";
  return out.str();
}

std::string Oracle::summary() const {
  struct Line {
    long sent = 0, good = 0, failed = 0, cancelled = 0;
    std::vector<long> times{};
  };
  std::map<std::string, Line> lines;
  for (const Request& request : requests_) {
    Line& line = lines[request.what];
    ++line.sent;
    if (request.answers > 0) {
      ++(request.is_failure ? line.failed : line.good);
      line.times.push_back(request.answered - request.sent);
    } else if (request.cancelled >= 0) {
      ++line.cancelled;
    }
  }
  std::ostringstream out;
  out << std::left << std::setw(16) << "request" << std::right;
  for (const char* title : {"sent", "good", "with reason", "cancelled", "p50 ms", "p99 ms", "max ms"})
    out << std::setw(13) << title;
  out << "\n";
  for (auto& [what, line] : lines) {
    std::ranges::sort(line.times);
    const auto at = [&times = line.times](std::size_t hundredths) {
      return times.empty() ? 0 : times[(times.size() - 1) * hundredths / 100];
    };
    out << std::left << std::setw(16) << what << std::right;
    for (const long number : {line.sent, line.good, line.failed, line.cancelled, at(50), at(99), at(100)})
      out << std::setw(13) << number;
    out << "\n";
  }
  return out.str();
}

std::string Oracle::trace() const {
  std::multimap<long, std::string> lines;
  for (const Fault& fault : faults_)
    lines.emplace(fault.begin,
                  "fault " + fault.what + " " + fault.server + " until " + std::to_string(fault.end));
  for (const Request& request : requests_) {
    lines.emplace(request.sent,
                  "sent " + request.id + " " + request.what + " " + request.server + " " + request.token);
    if (request.cancelled >= 0) lines.emplace(request.cancelled, "cancelled " + request.id);
    if (request.answered >= 0)
      lines.emplace(request.answered, "answered " + request.id +
                                          (request.is_failure ? " failed: " : " good") +
                                          shortened(request.text, 300));
  }
  for (const Violation& broken : violations_)
    lines.emplace(broken.at, "BROKEN " + name_of(broken.promise) + ": " + broken.what);
  std::ostringstream out;
  for (const auto& [at, line] : lines) out << "# " << at << " " << line << "\n";
  return out.str();
}

}  // namespace chaos
