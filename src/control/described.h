// Servers, clients and sessions as terminals see them, as JSON.
//
// Plain functions. One thread.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <vector>

#include "gateway/crowd.h"
#include "gateway/routes.h"

namespace mcpivot {

// A client's server.
boost::json::object described(const Member& member, const Routes::Cost& cost);

// The same with many clients: all instances, except those that have not been needed yet.
using Label = std::function<std::string(ClientId client)>;
boost::json::object described_for_all(const Member& member, const Routes::Cost& cost,
                                      const std::vector<Instance*>& instances, const Label& label);

// Adds the clients to a status: how many, and the newest of them, or all.
void describe_clients(boost::json::object& status, const std::vector<ClientFacts>& clients, bool all);

boost::json::object described(const SessionFacts& session);

}  // namespace mcpivot
