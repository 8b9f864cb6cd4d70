#include "link/name_lookup.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/no_signals.h"
#include "log/last_resort.h"

namespace mcpivot {

using boost::asio::ip::tcp;
using boost::system::error_code;

// A thread that is still busy when the loop ends is left behind, and finds nobody here.
struct NameLookup::Way {
  std::mutex mutex;
  NameLookup* lookup;
};

NameLookup& NameLookup::of(boost::asio::io_context& loop) {
  return boost::asio::use_service<NameLookup>(loop);
}

NameLookup::NameLookup(boost::asio::io_context& loop)
    : service(loop), loop_(loop), way_(std::make_shared<Way>()) {
  way_->lookup = this;
}

void NameLookup::shutdown() {
  {
    const std::lock_guard lock(way_->mutex);
    way_->lookup = nullptr;
  }
  waiting_.clear();
}

void NameLookup::look_up(const std::string& host, std::uint16_t port, Found found) {
  const Name name(host, port);
  if (const auto known = waiting_.find(name); known != waiting_.end())
    return known->second.callbacks.push_back(std::move(found));
  const bool too_many = waiting_.size() >= most_names;
  waiting_.emplace(name, Waiting{.work = boost::asio::make_work_guard(loop_)})
      .first->second.callbacks.push_back(std::move(found));
  const auto ended = [way = way_, name](const error_code& error, Endpoints endpoints) {
    const std::lock_guard lock(way->mutex);
    if (way->lookup == nullptr) return;
    boost::asio::post(way->lookup->loop_,
                      [lookup = way->lookup, name, error, endpoints = std::move(endpoints)] {
                        lookup->tell(name, error, endpoints);
                      });
  };
  if (too_many) return ended(boost::asio::error::no_buffer_space, {});
  const auto work = [name, ended] {
    boost::asio::io_context own;
    tcp::resolver resolver(own);
    error_code error;
    Endpoints endpoints;
    for (const auto& entry : resolver.resolve(name.first, std::to_string(name.second), error))
      endpoints.push_back(entry.endpoint());
    ended(error, std::move(endpoints));
  };
  try {
    const NoSignals signals_are_for_the_loop;
    std::thread(work).detach();
  } catch (const std::system_error& error) {
    ended(error_code(error.code().value(), boost::system::system_category()), {});
  }
}

void NameLookup::tell(const Name& name, const error_code& error, const Endpoints& endpoints) {
  const auto ended = waiting_.extract(name);
  if (ended.empty()) return;
  for (const Found& found : ended.mapped().callbacks)
    survive("name lookup", [&] { found(error, endpoints); });
}

}  // namespace mcpivot
