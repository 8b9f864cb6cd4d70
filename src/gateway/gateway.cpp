#include "gateway/gateway.h"

namespace mcpivot {

Gateway::Gateway(Server& server) : server_(server) {
  server_.on_writable([this] {
    for (Session* session : sessions_) session->resume();
  });
}

void Gateway::add(Session& session) {
  sessions_.push_back(&session);
  server_.add_client(session);
}

}  // namespace mcpivot
