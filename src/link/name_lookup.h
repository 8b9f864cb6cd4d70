// Looks up the addresses of host names, each in a thread of its own: the system may take half a minute for a
// name that it can't find, and neither other names nor the end of mcpivot may wait for that. Asio's own
// resolver has one thread for all names, and waits for it at the end.
//
//   NameLookup& lookup = NameLookup::of(loop);
//
// A name that is being looked up isn't looked up a second time. Lives as long as the loop, and keeps it
// running while somebody waits. One thread.
#pragma once

#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mcpivot {

class NameLookup : public boost::asio::execution_context::service {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  using Found = std::function<void(const boost::system::error_code&, const Endpoints&)>;
  // Names that are looked up at the same time; beyond this, a lookup fails at once.
  static constexpr std::size_t most_names = 256;

  static NameLookup& of(boost::asio::io_context& loop);

  // `found` is called from the event loop.
  void look_up(const std::string& host, std::uint16_t port, Found found);

  // Only for the loop.
  static inline boost::asio::execution_context::id id;
  explicit NameLookup(boost::asio::io_context& loop);

 private:
  using Name = std::pair<std::string, std::uint16_t>;
  struct Waiting {
    std::vector<Found> callbacks{};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  };
  struct Way;

  void shutdown() override;
  void tell(const Name& name, const boost::system::error_code& error, const Endpoints& endpoints);

  boost::asio::io_context& loop_;
  std::shared_ptr<Way> way_;  // of a thread back to us
  std::map<Name, Waiting> waiting_;
};

}  // namespace mcpivot
