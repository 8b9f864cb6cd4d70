#include "front/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mcpivot {
namespace {

using Step = RequestReader::Step;

constexpr RequestReader::Limits usual{.header_bytes = 1000, .body_bytes = 100};

struct Story {
  std::vector<std::string> requests;  // "METHOD target body"
  int refused = 0;
  std::string why;
  std::size_t left = 0;
};

// How these bytes are read if they arrive this many at a time.
Story read(std::string_view bytes, std::size_t step = 1'000'000, RequestReader::Limits limits = usual) {
  RequestReader reader(limits, {});
  Story story;
  std::string in;
  while (!bytes.empty()) {
    in += bytes.substr(0, step);
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (;;) {
      std::string_view rest = in;
      const Step now = reader.read(rest);
      in.erase(0, in.size() - rest.size());
      if (now == Step::more) break;
      if (now == Step::refused) {
        story.refused = reader.refusal().status;
        story.why = reader.refusal().body;
        return story;
      }
      if (now == Step::request) {
        story.requests.push_back(reader.ask().method + " " + reader.ask().target + " " + reader.take_body());
        reader.next();
      }
    }
  }
  story.left = in.size();
  return story;
}

std::string with(std::string_view headers) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(headers) + "\r\n";
}

TEST(RequestReader, reads_the_same_requests_however_the_bytes_are_split) {
  const std::string all =
      "\r\nGET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /b HTTP/1.1\r\nhost: x\r\nContent-Length: 5\r\n\r\nhello"
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "3;name=\"v\"\r\nfoo\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\nHost: y\r\n\r\n"
      "POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "DELETE / HTTP/1.0\r\n\r\n";
  const std::vector<std::string> requests{"GET /a?b=c ", "POST /b hello", "POST /c foo0123456789abcdef",
                                          "POST /d ", "DELETE / "};
  for (const std::size_t step : {1UL, 2UL, 3UL, 5UL, 7UL, 64UL, 1'000'000UL}) {
    const Story story = read(all, step);
    EXPECT_EQ(story.refused, 0) << step << ": " << story.why;
    EXPECT_EQ(story.requests, requests) << step;
    EXPECT_EQ(story.left, 0U);
  }
}

TEST(RequestReader, rejects_ambiguous_requests) {
  struct Case {
    const char* what;
    std::string bytes;
    int status = 400;
  };
  const std::vector<Case> cases{
      {"both lengths", with("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n"},
      {"both, the other way round",
       with("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + "0\r\n\r\n"},
      {"both, though neither is chunked", with("Transfer-Encoding: x\r\nContent-Length: 3\r\n") + "abc"},
      {"two lengths that differ", with("Content-Length: 3\r\nContent-Length: 4\r\n") + "abcd"},
      {"two lengths that agree", with("Content-Length: 3\r\nContent-Length: 3\r\n") + "abc"},
      {"a list of lengths", with("Content-Length: 3, 3\r\n") + "abc"},
      {"a length with a sign", with("Content-Length: +3\r\n") + "abc"},
      {"a negative length", with("Content-Length: -3\r\n") + "abc"},
      {"a length that overflows", with("Content-Length: 18446744073709551617\r\n") + "a"},
      {"an empty length", with("Content-Length:\r\n")},
      {"no Host", "GET / HTTP/1.1\r\n\r\n"},
      {"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHOST: a\r\n\r\n"},
      {"a folded header", with("X: a\r\n b\r\n")},
      {"a header that is folded with a tab", with("X: a\r\n\tb\r\n")},
      {"a folded Transfer-Encoding", with("Transfer-Encoding:\r\n chunked\r\n") + "0\r\n\r\n"},
      {"a first header with a blank before it", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
      {"a blank before the colon", with("Transfer-Encoding : chunked\r\n") + "0\r\n\r\n"},
      {"lines that end in LF", "GET / HTTP/1.1\nHost: a\n\n"},
      {"one line that ends in LF", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"},
      {"a lone CR", with("X: a\rb\r\n")},
      {"a NUL in a value", with(std::string("X: a\0b\r\n", 8))},
      {"a header without a colon", with("what is this\r\n")},
      {"a header without a name", with(": x\r\n")},
      {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"a blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"no version", "GET /\r\nHost: a\r\n\r\n"},
      {"a chunk's size that isn't hexadecimal", with("Transfer-Encoding: chunked\r\n") + "xyz\r\n\r\n"},
      {"a chunk's size with a prefix", with("Transfer-Encoding: chunked\r\n") + "0x3\r\nabc\r\n0\r\n\r\n"},
      {"a chunk's size that is negative", with("Transfer-Encoding: chunked\r\n") + "-3\r\nabc\r\n0\r\n\r\n"},
      {"a chunk that is longer than it says",
       with("Transfer-Encoding: chunked\r\n") + "3\r\nabcdef\r\n0\r\n\r\n"},
      {"another encoding", with("Transfer-Encoding: gzip\r\n"), 501},
      {"chunked before another encoding", with("Transfer-Encoding: chunked, gzip\r\n"), 501},
      {"another encoding before chunked", with("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"chunked, in two headers", with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 501},
      {"an encoding that only looks like it", with("Transfer-Encoding: xchunked\r\n"), 501},
      {"an unknown expectation", with("Expect: the unexpected\r\n"), 417},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"a TLS handshake", "\x16\x03\x01\x02"},
      {"no HTTP at all", "\x01\x02\x03"},
      {"JSON", "{\"jsonrpc\":\"2.0\"}"},
  };
  for (const Case& one : cases) {
    for (const std::size_t step : {1UL, 1'000'000UL}) {
      const Story story = read(one.bytes, step);
      EXPECT_EQ(story.refused, one.status) << one.what << " (" << step << " at a time): " << story.why;
      EXPECT_TRUE(story.requests.empty()) << one.what;
      EXPECT_TRUE(story.why.empty() || story.why.ends_with(".\n")) << story.why;
    }
  }
}

TEST(RequestReader, the_host_in_an_absolute_target_overrides_the_host_header) {
  const auto read_head = [](const std::string& target) {
    RequestReader reader(usual, {});
    const std::string text = "GET " + target + " HTTP/1.1\r\nHost: other\r\n\r\n";
    std::string_view bytes = text;
    if (reader.read(bytes) != Step::head) return std::string("refused");
    return reader.ask().target + " at " + std::string(reader.ask().header("host"));
  };
  EXPECT_EQ(read_head("/mcp"), "/mcp at other");
  EXPECT_EQ(read_head("http://here:7420/mcp?a=b"), "/mcp?a=b at here:7420");
  EXPECT_EQ(read_head("HTTPS://[::1]/mcp"), "/mcp at [::1]");
  EXPECT_EQ(read_head("http://here"), "/ at here");
  EXPECT_EQ(read_head("http://here?q"), "/?q at here");
  EXPECT_EQ(read_head("ftp://here/mcp"), "ftp://here/mcp at other");
  for (const char* wrong : {"http:///mcp", "http://", "http://localhost@evil/mcp"})
    EXPECT_EQ(read_head(wrong), "refused") << wrong;
}

TEST(RequestReader, a_head_of_exactly_the_limit_passes_and_a_larger_one_does_not) {
  const std::size_t rest = with("X: \r\n").size();
  for (const std::size_t step : {1UL, 100UL, 1'000'000UL}) {
    const auto sized = [&](std::size_t size) { return with("X: " + std::string(size - rest, 'x') + "\r\n"); };
    EXPECT_EQ(read(sized(usual.header_bytes), step).requests.size(), 1U);
    EXPECT_EQ(read(sized(usual.header_bytes + 1), step).refused, 431);
    EXPECT_EQ(read(std::string(5000, 'x'), step).refused, 431);
  }
}

TEST(RequestReader, the_number_of_headers_is_limited) {
  std::string headers;
  for (int i = 0; i < 1000; ++i) headers += "a" + std::to_string(i) + ": \r\n";
  const RequestReader::Limits large{.header_bytes = 100'000, .body_bytes = 100};
  EXPECT_EQ(read(with(headers), 1'000'000, large).refused, 431);
  headers.clear();
  for (int i = 0; i < 1000; ++i) headers += "a: b\r\n";
  EXPECT_EQ(read(with(headers), 1'000'000, large).refused, 431) << "also if they are all the same";
}

TEST(RequestReader, a_body_of_exactly_the_limit_passes_and_a_larger_one_does_not) {
  const std::string most(usual.body_bytes, 'x');
  for (const std::size_t step : {1UL, 50UL, 1'000'000UL}) {
    EXPECT_EQ(read(with("Content-Length: 100\r\n") + most, step).requests.size(), 1U);
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + "64\r\n" + most + "\r\n0\r\n\r\n", step)
                  .requests.size(),
              1U);
    EXPECT_EQ(read(with("Content-Length: 101\r\n") + most + "x", step).refused, 413);
    // As soon as it is announced.
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + "65\r\n", step).refused, 413);
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + "ffffffffffffffff\r\n", step).refused, 413);
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + "64\r\n" + most + "\r\n1\r\n", step).refused,
              413);
  }
}

TEST(RequestReader, trailers_and_chunk_extensions_have_a_limit) {
  for (const std::size_t step : {1UL, 100UL, 1'000'000UL}) {
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + "1;" + std::string(5000, 'x'), step).refused,
              431);
    std::string trailers = "0\r\n";
    for (int i = 0; i < 500; ++i) trailers += "a: b\r\n";
    EXPECT_EQ(read(with("Transfer-Encoding: chunked\r\n") + trailers, step).refused, 431);
  }
}

TEST(RequestReader, reports_what_the_head_asks_of_the_connection) {
  const auto head = [](std::string_view bytes, auto look) {
    RequestReader reader(usual, {});
    EXPECT_EQ(reader.read(bytes), Step::head) << reader.refusal().body;
    look(reader);
  };
  head("GET / HTTP/1.1\r\nHost: a\r\n\r\n", [](const RequestReader& reader) {
    EXPECT_TRUE(reader.keeps_alive());
    EXPECT_FALSE(reader.is_http_1_0());
    EXPECT_FALSE(reader.announces_body());
    EXPECT_FALSE(reader.expects_continue());
  });
  head("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
       [](const RequestReader& reader) { EXPECT_FALSE(reader.keeps_alive()); });
  head("GET / HTTP/1.0\r\n\r\n", [](const RequestReader& reader) {
    EXPECT_FALSE(reader.keeps_alive());
    EXPECT_TRUE(reader.is_http_1_0());
  });
  head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       [](const RequestReader& reader) { EXPECT_TRUE(reader.keeps_alive()); });
  head(with("Content-Length: 3\r\nExpect: 100-Continue\r\n"), [](const RequestReader& reader) {
    EXPECT_TRUE(reader.announces_body());
    EXPECT_TRUE(reader.expects_continue());
    EXPECT_FALSE(reader.too_large());
  });
  head(with("Expect: 100-continue\r\n"), [](const RequestReader& reader) {
    EXPECT_FALSE(reader.expects_continue()) << "there is nothing to continue with";
  });
  head(with("Content-Length: 101\r\n"), [](const RequestReader& reader) { EXPECT_TRUE(reader.too_large()); });
  head(with("Transfer-Encoding: chunked\r\n"), [](const RequestReader& reader) {
    EXPECT_TRUE(reader.announces_body());
    EXPECT_FALSE(reader.too_large());
  });
}

TEST(HttpAsk, joins_the_values_of_a_repeated_header) {
  HttpAsk ask;
  ask.add("Accept", " text/html ");
  ask.add("Origin", "http://good");
  ask.add("accept", "text/plain");
  ask.add("ORIGIN", "http://evil");
  ask.add("Empty", "");
  EXPECT_EQ(ask.header("ACCEPT"), "text/html, text/plain");
  EXPECT_TRUE(ask.repeated("Accept"));
  EXPECT_EQ(ask.header("origin"), "http://good, http://evil") << "neither of them alone";
  EXPECT_TRUE(ask.has("empty"));
  EXPECT_EQ(ask.header("empty"), "");
  EXPECT_FALSE(ask.repeated("empty"));
  EXPECT_FALSE(ask.has("other"));
  EXPECT_FALSE(ask.repeated("other"));
  HttpAsk copy = ask;
  ask.clear();
  EXPECT_FALSE(ask.has("accept"));
  EXPECT_EQ(copy.header("accept"), "text/html, text/plain");
}

}  // namespace
}  // namespace mcpivot
