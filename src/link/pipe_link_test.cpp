#include "link/pipe_link.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <stdexcept>
#include <string>

namespace mcpivot {
namespace {

// Throws on its first message.
struct Clumsy final : Link::Handler {
  void on_message(const Message&) override {
    if (++messages == 1) throw std::runtime_error("oh");
  }
  void on_batch(std::string_view) override {}
  void on_unreadable(std::string_view, const Refusal&) override { throw std::runtime_error("oh dear"); }
  void on_oversize(const Skim&, std::size_t) override {}
  void on_writable() override {}
  void on_broken(std::string_view) override { broken = true; }
  void on_end(std::string_view) override { ended = true; }
  int messages = 0;
  bool ended = false;
  bool broken = false;
};

TEST(PipeLink, keeps_reading_after_an_exception_in_its_handler) {
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  boost::asio::io_context loop;
  LinkContext context{.loop = loop};
  const auto link = std::make_shared<PipeLink>(context, "peer",
                                               PipeLink::Ends{Descriptor(in[0]), Descriptor(out[1])}, 1000);
  Clumsy handler;
  link->start(handler);
  const std::string message = R"({"jsonrpc":"2.0","method":"a"})";
  const std::string all = message + "\nnonsense\n" + message + "\n" + message;
  ASSERT_EQ(::write(in[1], all.data(), all.size()), static_cast<ssize_t>(all.size()));
  ::close(in[1]);
  while (!handler.ended && loop.run_one() > 0) {
  }
  EXPECT_EQ(handler.messages, 3);
  EXPECT_TRUE(handler.ended);
  link->close();
  ::close(out[0]);
}

TEST(PipeLink, sending_to_a_closed_peer_reports_the_break_from_the_event_loop) {
  ::signal(SIGPIPE, SIG_IGN);
  int in[2];
  int out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  boost::asio::io_context loop;
  LinkContext context{.loop = loop};
  const auto link = std::make_shared<PipeLink>(context, "peer",
                                               PipeLink::Ends{Descriptor(in[0]), Descriptor(out[1])}, 1000);
  Clumsy handler;
  link->start(handler);
  ::close(out[0]);
  link->send(R"({"jsonrpc":"2.0","method":"a"})");
  EXPECT_FALSE(handler.broken) << "not yet";
  while (!handler.broken && loop.run_one() > 0) {
  }
  EXPECT_TRUE(handler.broken);
  link->close();
  ::close(in[1]);
}

}  // namespace
}  // namespace mcpivot
