// A window of calls that is kept full.
#include "load.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "../sample_text.h"

namespace {

namespace json = boost::json;
constexpr auto patience = std::chrono::seconds(20);
constexpr size_t most_calls = 20'000;
constexpr size_t small = 1000;  // texts up to this size travel both ways

struct Call {
  std::string arguments;
  std::string text;
};

Call call_for(const Load& load) {
  if (load.size > small) return {fmt::format(R"({{"size":{}}})", load.size), sample_text(load.size)};
  const std::string text(load.size, 'x');
  return {fmt::format(R"({{"text":"{}"}})", text), text};
}

Incoming next_answer(Running& running) {
  for (;;) {
    auto incoming = running.front().receive(Clock::now() + patience);
    if (!incoming) throw Failure(fmt::format("no answer within {} s", patience.count()));
    if (!incoming->problem.empty()) throw Failure(incoming->problem);
    if (incoming->id >= 0) return *incoming;
  }
}

void check_one(Running& running, const Call& call) {
  const std::int64_t id = running.send_call(call.arguments);
  const Incoming answer = next_answer(running);
  if (answer.id != id) throw Failure("an answer to another call");
  boost::system::error_code problem;
  const json::value message = json::parse({answer.message.data(), answer.message.size()}, problem);
  if (problem) throw Failure("an answer that isn't valid JSON");
  boost::system::error_code missing;
  const json::value* text = message.find_pointer("/result/content/0/text", missing);
  if (text == nullptr || *text != json::value(call.text))
    throw Failure("a wrong answer: " + std::string(answer.message.substr(0, 120)));
}

}  // namespace

Turn run_load(Running& running, const Load& load, Clock::duration budget) {
  const Call call = call_for(load);
  check_one(running, call);
  const size_t least = std::max<size_t>(10, load.in_flight);
  std::vector<Clock::time_point> sent;
  std::vector<bool> answered;
  Turn turn;
  std::int64_t first = -1;
  const auto begin = Clock::now();
  const auto send_one = [&] {
    sent.push_back(Clock::now());
    answered.push_back(false);
    const std::int64_t id = running.send_call(call.arguments);
    if (first < 0) first = id;
  };
  const auto wants_more = [&] {
    return sent.size() < most_calls && (sent.size() < least || Clock::now() - begin < budget);
  };
  for (size_t i = 0; i < load.in_flight; ++i) send_one();
  while (turn.times_us.size() < sent.size()) {
    const Incoming answer = next_answer(running);
    const auto index = static_cast<size_t>(answer.id - first);
    if (answer.id < first || index >= sent.size() || answered[index]) throw Failure("an answer to no call");
    if (answer.message.size() < load.size)
      throw Failure("a wrong answer: " + std::string(answer.message.substr(0, 120)));
    answered[index] = true;
    turn.times_us.push_back(microseconds(answer.arrived - sent[index]));
    if (wants_more()) send_one();
  }
  turn.per_second =
      static_cast<double>(turn.times_us.size()) / std::chrono::duration<double>(Clock::now() - begin).count();
  return turn;
}
