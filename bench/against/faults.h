// What happens to a client's calls when something goes wrong behind the proxy: the server is replaced, is
// killed, its daemon is away, or the proxy itself is killed. Each returns what was observed, as JSON for the
// report; what a subject can't do is also an observation.
#pragma once

#include <boost/json.hpp>
#include <vector>

#include "subjects.h"

// A new build replaces the server's file while 500 calls a second continue; `ask`: and the subject is asked
// for it in its own way.
boost::json::object replace_server(const Subject& subject, const Place& place, bool ask);

// SIGKILL to the server with a call in flight; then calls until they work again, for at most 10 s.
boost::json::object kill_server(const Subject& subject, const Place& place);

// One daemon for all of them is away for `seconds`, while each gets 10 calls a second. By name.
boost::json::object leave_for(const std::vector<const Subject*>& subjects, const Place& place, int seconds);

// How many processes are left 3 s after SIGKILL to the proxy; the server has a helper, and ignores the
// end of its input.
boost::json::object kill_proxy(const Subject& subject, const Place& place);
