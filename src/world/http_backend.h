// A server that is an HTTP daemon: a generation is one session with it. The daemon itself isn't ours; it
// keeps running when the session ends.
//
// One thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>

#include "link/http_link.h"
#include "link/pipe_link.h"
#include "proc/guard.h"
#include "server/backend.h"

namespace mcpivot {

class HttpBackend final : public Backend, public std::enable_shared_from_this<HttpBackend> {
 public:
  // The error says what is wrong with the configuration; whether the daemon is there turns out later.
  // Without an authorizer, the configured headers are all that we have to show.
  static std::expected<std::shared_ptr<Backend>, std::string> connect(
      LinkContext& context, const ServerConfig& config, std::shared_ptr<Authorizer> authorizer = nullptr);
  ~HttpBackend() override { close(); }

  Link& link() override { return *link_; }
  void start(Link::Handler& handler, OnEnd on_end) override;
  void speak(Era era) override { link_->speak(era); }
  void learn_tools(std::vector<Item>& tools) override { link_->learn_tools(tools); }
  void end(std::chrono::milliseconds patience) override;
  void close() override;
  void on_link_end(std::string_view why) override;
  const KindTraits& traits() const override { return daemon_traits; }
  std::string where() const override { return url_; }
  void describe(const Describe& line) const override;

 private:
  HttpBackend(LinkContext& context, std::string url, std::shared_ptr<HttpLink> link);
  void ended(const std::string& how, bool forgotten);

  std::string url_;
  std::shared_ptr<HttpLink> link_;
  boost::asio::steady_timer farewell_;
  OnEnd on_end_;
};

}  // namespace mcpivot
