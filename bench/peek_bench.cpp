// How fast is a message read? read_message() validates the whole line and finds what determines its path, in
// one pass. For comparison, the same line through simdjson (on demand, the same members looked up, all of it
// walked) and through Boost.JSON's full parser.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <boost/json.hpp>
#include <string>

#include "rpc/message.h"
#include "sample_text.h"

namespace {

// A tool call with a text of this size.
std::string call(std::size_t size) {
  std::string text;
  while (text.size() < size) text += R"(The quick brown fox, \n\"quoted\" and plain. )";
  return R"({"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"echo","arguments":{"text":")" +
         text + R"("},"_meta":{"progressToken":"t-1"}}})";
}

void mcpivot_reads(benchmark::State& state) {
  const std::string line = call(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(mcpivot::read_message(line));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * line.size()));
}

void simdjson_on_demand(benchmark::State& state) {
  const simdjson::padded_string line(call(static_cast<std::size_t>(state.range(0))));
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    simdjson::ondemand::document document = parser.iterate(line);
    simdjson::ondemand::object message = document.get_object();
    for (auto field : message) {
      const std::string_view key = field.unescaped_key();
      if (key == "params") {
        for (auto param : field.value().get_object())
          benchmark::DoNotOptimize(param.value().raw_json_token());
      } else {
        benchmark::DoNotOptimize(field.value().raw_json_token());
      }
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * line.size()));
}

void simdjson_dom(benchmark::State& state) {
  const simdjson::padded_string line(call(static_cast<std::size_t>(state.range(0))));
  simdjson::dom::parser parser;
  for (auto _ : state) benchmark::DoNotOptimize(parser.parse(line).error());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * line.size()));
}

void boost_json(benchmark::State& state) {
  const std::string line = call(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(boost::json::parse(line));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * line.size()));
}

}  // namespace

BENCHMARK(mcpivot_reads)->Arg(60)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(simdjson_on_demand)->Arg(60)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(simdjson_dom)->Arg(60)->Arg(10'000)->Arg(1'000'000);
BENCHMARK(boost_json)->Arg(60)->Arg(10'000)->Arg(1'000'000);
BENCHMARK_MAIN();
