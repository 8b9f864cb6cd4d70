// Many MCP clients over Streamable HTTP, in one thread, so that the generator uses little: each has its
// own session, if the server gives it one, and makes calls on connections that are kept. It may also
// have its own stream open (GET). Every answer is checked: it must be the one to this client's call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "against/front.h"
#include "against/http_answer.h"
#include "times.h"

class WebClients {
 public:
  struct Call {
    Clock::time_point begun;
    double us = -1;  // how long it took; less than 0: it was lost
  };
  struct Calls {
    std::vector<Call> all;
    double seconds = 0;
    std::string problem{};  // of the first that was lost

    size_t lost() const;
    double per_second() const;
    std::vector<double> times_us() const;
  };
  // What should happen while calls are made, and how long after the first.
  struct Event {
    Clock::duration after;
    std::function<void()> happens;
  };
  enum class Farewell : std::uint8_t {
    proper,  // connections are closed
    reset,   // and in the middle of what they bring
    silent,  // without a word to the server; needs a privilege, else as `reset`
  };

  explicit WebClients(const HttpAddress& address);
  ~WebClients();
  WebClients(const WebClients&) = delete;
  WebClients& operator=(const WebClients&) = delete;

  size_t size() const { return clients_.size(); }
  // This many more, which initialize and ask for the tools. Throws Failure, like all of these functions.
  void open(size_t count);
  // The last `count` of them, or all, open their own streams.
  void listen(size_t count = SIZE_MAX);
  // Each client calls again as soon as it is answered, for this long.
  Calls call_in_turn(Clock::duration time, size_t answer_size);
  // This many calls a second, of one client after the other, whether answers arrive or not. A call begins
  // when it is due.
  Calls call_at_pace(double per_second, Clock::duration time, std::vector<Event> events);
  // Reads what arrives, for this long.
  void wait(Clock::duration time);
  // Closes all connections, and forgets all clients: their sessions are left as they are.
  void leave(Farewell farewell);

  // How many of the streams are open.
  size_t streams() const;
  // How often each client's stream delivered this since the last call.
  std::vector<size_t> take_list_changes();

 private:
  enum class For : std::uint8_t { nothing, initialize, initialized, list, call, stream };
  struct Client {
    std::string headers;  // with its session, if it has one
    std::int64_t last_id = 1;
    size_t list_changes = 0;
    bool listens = false;
  };
  struct Connection {
    int fd = -1;
    For use = For::nothing;
    size_t client = 0;
    std::int64_t id = 0;
    size_t call = 0;
    std::string expected;  // in the answer,
    size_t least = 0;      // which has so many bytes
    std::string said;      // the answer
    HttpAnswer answer;
  };

  Connection& idle();
  void drop(int fd);
  void send(Connection& connection, For use, size_t client, std::string_view method, std::string_view headers,
            std::string_view body);
  void shake_hands(size_t client);
  void begin_call(Calls& calls, size_t client, size_t answer_size, Clock::time_point due);
  // Whatever arrives until then, but at least what is already there.
  void read_until(Clock::time_point until);
  void read_from(int fd);
  void on_ended(Connection& connection);
  void on_lost(Connection& connection, const std::string& why);
  void on_call_ended(Connection& connection, const std::string& problem);
  void await(const std::function<bool()>& done, std::string_view what);

  HttpAddress address_;
  int loop_;
  std::map<int, Connection> connections_;
  std::vector<int> idle_;
  std::vector<Client> clients_;
  size_t shaking_hands_ = 0;
  size_t opening_ = 0;  // streams
  Calls* calls_ = nullptr;
  size_t calls_open_ = 0;
  std::function<void(size_t client)> on_answered_;
  std::string trouble_;
  std::vector<char> buffer_;
};
