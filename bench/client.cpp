// The messages of the benchmark and the checks of their answers.
#include "client.h"

#include <fmt/format.h>

#include <algorithm>

#include "sample_text.h"

namespace {

// Every text differs, so that an answer with another call's id does not go unnoticed.
std::string text_of(uint64_t id) {
  return fmt::format(
      "call {:010}: grep -n \"TODO\" src/link/stdio.cpp src/rpc/message.cpp; then tell me why it fails", id);
}

std::string call_request(uint64_t id, std::string_view arguments) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{}}}}})"
      "\n",
      id, arguments);
}

std::string text_request(uint64_t id) {
  std::string text = text_of(id);
  for (size_t quote = text.find('"'); quote != std::string::npos; quote = text.find('"', quote + 2))
    text.insert(quote, 1, '\\');
  return call_request(id, fmt::format(R"({{"text":"{}"}})", text));
}

[[noreturn]] void wrong(std::string_view why, std::string_view line) {
  throw SubjectError(fmt::format("{}: {}", why, line.substr(0, 200)));
}

void check_text(const simdjson::dom::element& result, std::string_view expected) {
  std::string_view text;
  if (result["content"].at(0)["text"].get(text) != simdjson::SUCCESS)
    throw SubjectError("an answer without a text");
  if (text != expected)
    throw SubjectError(fmt::format("a wrong text: {} bytes for {} expected", text.size(), expected.size()));
}

bool lists_echo(const simdjson::dom::element& result) {
  simdjson::dom::array tools;
  if (result["tools"].get(tools) != simdjson::SUCCESS) return false;
  return std::any_of(tools.begin(), tools.end(), [](const simdjson::dom::element& tool) {
    std::string_view name;
    return tool["name"].get(name) == simdjson::SUCCESS && name == "echo";
  });
}

}  // namespace

Client::Client(const std::vector<std::string>& command) : started_(Clock::now()), subject_(command) {
  const uint64_t id = next_id_++;
  const Answer answer = exchange(
      id, fmt::format(
              R"({{"jsonrpc":"2.0","id":{},"method":"initialize","params":{{"protocolVersion":"2025-06-18",)"
              R"("capabilities":{{}},"clientInfo":{{"name":"relay_bench","version":"1.0.0"}}}}}})"
              "\n",
              id));
  start_time_ = answer.arrived - started_;
  std::string_view version;
  if (answer.result["protocolVersion"].get(version) != simdjson::SUCCESS)
    throw SubjectError("initialize was answered without a protocol version");
}

void Client::finish_handshake() {
  subject_.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  const uint64_t id = next_id_++;
  const Answer answer =
      exchange(id, fmt::format("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}}\n", id));
  if (!lists_echo(answer.result)) throw SubjectError("tools/list does not name the echo tool");
}

Clock::duration Client::call_with_text() {
  const uint64_t id = next_id_++;
  return timed_call(id, text_request(id), text_of(id));
}

Clock::duration Client::call_for_size(size_t size) {
  if (expected_.size() != size) expected_ = sample_text(size);
  const uint64_t id = next_id_++;
  return timed_call(id, call_request(id, fmt::format(R"({{"size":{}}})", size)), expected_);
}

Clock::duration Client::stream(size_t calls, size_t in_flight) {
  const uint64_t first_id = next_id_;
  next_id_ += calls;
  std::string requests;
  std::vector<size_t> ends = {0};  // ends[n]: where the first n requests end
  for (size_t i = 0; i < calls; ++i) {
    requests += text_request(first_id + i);
    ends.push_back(requests.size());
  }
  size_t sent = 0;
  const auto fill_window = [&](size_t answered) {
    const size_t wanted = std::min(calls, answered + in_flight);
    for (; sent < wanted; ++sent)
      subject_.send(std::string_view(requests).substr(ends[sent], ends[sent + 1] - ends[sent]));
  };
  const auto begin = Clock::now();
  fill_window(0);
  const std::string_view answers = subject_.read_lines(calls, fill_window);
  const auto duration = Clock::now() - begin;
  check_stream(answers, first_id, calls);
  return duration;
}

// Sends a request and waits for its answer; the clock stops before the answer is checked.
Client::Answer Client::exchange(uint64_t id, std::string_view request) {
  subject_.send(request);
  for (;;) {
    const std::string_view line = subject_.read_line();
    const auto arrived = Clock::now();
    auto answer = parse(line);
    if (!answer) continue;
    if (answer->id != id) wrong(fmt::format("not the answer to {}", id), line);
    answer->arrived = arrived;
    return *answer;
  }
}

Clock::duration Client::timed_call(uint64_t id, std::string_view request, std::string_view expected_text) {
  const auto begin = Clock::now();
  const Answer answer = exchange(id, request);
  check_text(answer.result, expected_text);
  return answer.arrived - begin;
}

// Empty for a notification, which may arrive at any time.
std::optional<Client::Answer> Client::parse(std::string_view line) {
  simdjson::dom::element message;
  if (parser_.parse(line.data(), line.size(), false).get(message) != simdjson::SUCCESS)
    wrong("not JSON", line);
  Answer answer;
  if (message["id"].get(answer.id) != simdjson::SUCCESS) {
    if (message["method"].error() == simdjson::SUCCESS) return std::nullopt;
    wrong("an answer without our id", line);
  }
  if (message["result"].get(answer.result) != simdjson::SUCCESS) wrong("not a result", line);
  return answer;
}

// Each call has one answer, in whatever order, and its own text was returned.
void Client::check_stream(std::string_view answers, uint64_t first_id, size_t calls) {
  std::vector<bool> answered(calls, false);
  size_t count = 0;
  while (!answers.empty()) {
    const size_t newline = std::min(answers.find('\n'), answers.size() - 1);
    const std::string_view line = answers.substr(0, newline);
    answers.remove_prefix(newline + 1);
    const auto answer = parse(line);
    if (!answer) wrong("a notification in the midst of the stream", line);
    const uint64_t index = answer->id - first_id;
    if (index >= calls || answered[index]) wrong("an answer to no call of the stream", line);
    answered[index] = true;
    check_text(answer->result, text_of(answer->id));
    ++count;
  }
  if (count != calls) throw SubjectError(fmt::format("{} answers to {} calls", count, calls));
}
