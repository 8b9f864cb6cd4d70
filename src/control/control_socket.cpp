#include "control/control_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/user_folders.h"
#include "control/described.h"
#include "control/running_mcpivots.h"
#include "link/pipe_link.h"
#include "log/last_resort.h"
#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/kept_message.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t longest_message = 10'000'000;
constexpr std::size_t most_visitors = 32;
// Unread answers, not counting the last one.
constexpr std::size_t most_unread = 64 * 1024 * 1024;
constexpr std::chrono::milliseconds accept_pause{100};
constexpr std::chrono::milliseconds farewell{100};  // for servers that terminals started

// A path where nobody listens. A live process may have our pid if it is in another container that shares the
// folder.
std::string free_path(const std::string& folder) {
  std::string path = fmt::format("{}/{}.sock", folder, ::getpid());
  for (int next = 2; is_listening(path); ++next)
    path = fmt::format("{}/{}-{}.sock", folder, ::getpid(), next);
  return path;
}

}  // namespace

// A connected terminal.
class ControlSocket::Visitor final : public Link::Handler,
                                     private Peer,
                                     public std::enable_shared_from_this<Visitor> {
 public:
  Visitor(ControlSocket& owner, PipeLink::Ends ends)
      : owner_(owner),
        id_(owner.clients_.next()),
        link_(std::make_shared<PipeLink>(owner.context_, "terminal", std::move(ends), longest_message)) {
    owner_.clients_.add(id_, *this);
  }
  ~Visitor() override {
    owner_.clients_.remove(id_);
    link_->close();
  }
  void start() { link_->start(*this); }

 private:
  // Peer
  void pass(ToClient& said) override { answer(0, said.message, said.edits.list()); }
  void answer(std::uint32_t, const Message& inside, std::span<const Edit> around) override {
    if (!reads()) return;
    link_->send(inside, around);
    pause_if_full();
  }
  void answer(std::uint32_t, std::string_view line) override {
    if (!reads()) return;
    link_->send(line);
    pause_if_full();
  }
  bool full() const override { return link_->full(); }

  // Link::Handler
  void on_message(const Message& message) override;
  void on_batch(std::string_view) override {
    refuse(error_answer({}, code::invalid_request, "send the messages one by one"));
  }
  void on_unreadable(std::string_view, const Refusal& refusal) override {
    refuse(error_answer(refusal.id, refusal.code, refusal.reason));
  }
  void on_oversize(const Skim& skim, std::size_t) override {
    refuse(error_answer(skim.id(), code::invalid_request, "the message is too long"));
  }
  void on_writable() override { link_->resume(); }
  void on_broken(std::string_view) override { leave(); }
  void on_end(std::string_view) override { leave(); }

  // The way that all answers take.
  void say(std::string_view line) { owner_.clients_.answer({.client = id_}, line); }
  void refuse(std::string_view line) { owner_.clients_.refuse({.client = id_}, line); }

  // Its requests keep running, but their answers have nowhere to go, and the gateway must not keep a
  // reference to us.
  void leave() {
    if (left_) return;
    left_ = true;
    link_->finish();
    // Doesn't keep us alive: this may never run, and be dropped only when everything that we refer to is
    // gone.
    boost::asio::post(owner_.context_.loop, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      ControlSocket& owner = self->owner_;
      if (owner.seat_) {
        owner.seat_->desk.forget(self->id_);
        owner.seat_->tools.forget(self->id_);
      }
      owner.visitors_.remove(self);
      if (owner.visitors_.empty()) owner.leave_seat();
    });
  }

  // No more requests are read from a terminal that doesn't read its answers.
  void pause_if_full() {
    if (full()) link_->pause();
  }

  // Whether something may be sent to it. Requests from before it was paused are still answered; a terminal
  // that asked for that much and reads nothing counts as gone.
  bool reads() {
    if (link_->unsent() <= most_unread) return true;
    if (!left_) log_warn("control socket: disconnected a terminal that doesn't read its answers");
    leave();
    return false;
  }

  json::object status(std::string_view params) const;
  std::string tools() const;
  json::value logs(std::string_view params) const;
  void call(const Message& message);
  void call_server(const std::string& name, const Message& message);
  void with_tools(std::string_view tool, bool may_start, std::function<void(Visitor&)> then);
  void list_sessions(std::string_view id) const;
  void turn_journal(std::string_view id, std::string_view params);
  void end_session(std::string_view id, std::string_view params) const;

  ControlSocket& owner_;
  ClientId id_;
  std::shared_ptr<PipeLink> link_;
  bool left_ = false;
};

void ControlSocket::Visitor::on_message(const Message& message) {
  if (owner_.clients_.observed())
    owner_.clients_.saw({.way = Seen::Way::from_client,
                         .what = Seen::What::passed,
                         .client = id_,
                         .terminal = true,
                         .raw = message.raw,
                         .message = &message});
  if (message.kind != Kind::request) return;
  const std::string method = string_value(message.text(message.method));
  const std::string_view id = message.text(message.id);
  if (method == "status")
    return say(result_answer(id, json::serialize(status(message.text(message.params)))));
  if (method == "logs") return say(result_answer(id, json::serialize(logs(message.text(message.params)))));
  if (message.known == Method::tools_list) {
    const bool only_known = find_member(message.text(message.params), "onlyKnown") == "true";
    return with_tools({}, !only_known,
                      [id = std::string(id)](Visitor& self) { self.say(result_answer(id, self.tools())); });
  }
  if (message.known == Method::tools_call) return call(message);
  if (method == "journal" && owner_.set_journal_) return turn_journal(id, message.text(message.params));
  if (owner_.crowd_ != nullptr && method == "sessions") return list_sessions(id);
  if (owner_.crowd_ != nullptr && method == "sessions/end")
    return end_session(id, message.text(message.params));
  refuse(error_answer(id, code::method_not_found, "Method not found: " + method));
}

json::object ControlSocket::Visitor::status(std::string_view params) const {
  Desk& desk = owner_.seat().desk;
  ControlTools::Fleet& fleet = desk.fleet();
  json::array servers;
  for (const auto& member : fleet.members()) {
    const Routes::Cost cost = fleet.names().cost(*member);
    servers.push_back(owner_.crowd_ == nullptr
                          ? described(*member, cost)
                          : described_for_all(*member, cost, fleet.instances(*member),
                                              [this](ClientId client) { return owner_.label(client); }));
  }
  std::error_code error;
  json::object status{{"pid", ::getpid()},
                      {"version", MCPIVOT_VERSION},
                      {"name", owner_.name_},
                      {"client", owner_.crowd_ == nullptr ? desk.client_name() : std::string()},
                      {"folder", fs::current_path(error).string()},
                      {"config", owner_.configuration_file_},
                      {"servers", std::move(servers)}};
  if (owner_.crowd_ != nullptr)
    describe_clients(status, owner_.crowd_->facts(), find_member(params, "allClients") == "true");
  return status;
}

void ControlSocket::Visitor::list_sessions(std::string_view id) const {
  owner_.crowd_->list_sessions(
      [&clients = owner_.clients_, to = id_, id = std::string(id)](SessionList list) {
        json::array sessions;
        for (const SessionFacts& session : list.sessions) sessions.push_back(described(session));
        clients.answer({.client = to},
                       result_answer(id, json::serialize(json::object{{"sessions", std::move(sessions)},
                                                                      {"leftOut", list.left_out}})));
      });
}

void ControlSocket::Visitor::end_session(std::string_view id, std::string_view params) const {
  const std::string_view wanted = find_member(params, "id");
  owner_.crowd_->end_session(
      wanted.starts_with('"') ? string_value(wanted) : std::string(),
      [&clients = owner_.clients_, to = id_,
       id = std::string(id)](const std::expected<SessionFacts, std::string>& ended) {
        if (!ended)
          return clients.refuse({.client = to}, error_answer(id, code::invalid_params, ended.error()));
        clients.answer({.client = to}, result_answer(id, json::serialize(described(*ended))));
      });
}

// As the servers spell them: a parsed tree would turn very large numbers into invalid JSON.
std::string ControlSocket::Visitor::tools() const {
  std::string all;
  for (const Routes::Named& tool : owner_.seat().desk.fleet().names().all_tools()) {
    const std::string_view members = std::string_view(tool.json).substr(0, tool.json.rfind('}'));
    all += fmt::format(R"({}{},"server":{},"active":{}}})", all.empty() ? "" : ",", members,
                       quote(tool.member->name()), tool.member->active());
  }
  return fmt::format(R"({{"tools":[{}]}})", all);
}

// Numbered lines of stderr; `after` skips those that were sent before.
json::value ControlSocket::Visitor::logs(std::string_view params) const {
  const std::string_view wanted = find_member(params, "server");
  const std::string name = wanted.starts_with('"') ? string_value(wanted) : std::string();
  const std::string after_text(find_member(params, "after"));
  const std::uint64_t after = after_text.empty() ? 0 : std::strtoull(after_text.c_str(), nullptr, 10);
  json::array lines;
  std::uint64_t last = after;
  ControlTools::Fleet& fleet = owner_.seat().desk.fleet();
  for (const auto& member : fleet.members()) {
    if (!name.empty() && member->name() != name) continue;
    for (const Instance* const instance : fleet.instances(*member)) {
      const std::string whose = owner_.crowd_ == nullptr ? std::string() : owner_.label(instance->client());
      for (const OutputRing::Line& line : instance->ring().lines()) {
        if (line.number <= after) continue;
        last = std::max(last, line.number);
        json::object described{
            {"server", member->name()},
            {"generation", line.generation},
            {"number", line.number},
            {"atMs",
             std::chrono::duration_cast<std::chrono::milliseconds>(line.at.time_since_epoch()).count()},
            {"text", line.text}};
        if (!whose.empty()) described["client"] = whose;
        lines.push_back(std::move(described));
      }
    }
  }
  std::ranges::sort(lines, {},
                    [](const json::value& line) { return line.at("number").to_number<std::uint64_t>(); });
  return {{"lines", std::move(lines)}, {"last", last}};
}

void ControlSocket::Visitor::turn_journal(std::string_view id, std::string_view params) {
  const std::string_view on = find_member(params, "on");
  if (on != "true" && on != "false")
    return refuse(error_answer(id, code::invalid_params, "journal: \"on\" must be true or false"));
  const auto session = owner_.set_journal_(on == "true");
  if (!session) return refuse(error_answer(id, code::internal_error, session.error()));
  say(result_answer(id, json::serialize(json::object{{"session", *session}})));
}

void ControlSocket::Visitor::call(const Message& message) {
  const std::string name = message.name ? string_value(message.text(message.name)) : std::string();
  Seat& seat = owner_.seat();
  if (seat.tools.has(name)) return seat.tools.call({.client = id_}, message);
  with_tools(name, true,
             [name, kept = KeptMessage(message)](Visitor& self) { self.call_server(name, kept.message()); });
}

void ControlSocket::Visitor::call_server(const std::string& name, const Message& message) {
  Seat& seat = owner_.seat();
  ControlTools::Fleet& fleet = seat.desk.fleet();
  if (const Routes::Target* target = fleet.names().tool(name))
    return fleet.call_tool({.client = id_}, message, *target);
  const std::string why_not = seat.tools.why_not(name);
  refuse(error_answer(message.text(message.id), code::invalid_params,
                      why_not.empty()
                          ? fmt::format("no tool is called {}{}", name, seat.tools.words_of_starts(name))
                          : why_not));
}

// With one client, there is just what that client's servers offer.
void ControlSocket::Visitor::with_tools(std::string_view tool, bool may_start,
                                        std::function<void(Visitor&)> then) {
  if (owner_.crowd_ == nullptr) return then(*this);
  owner_.seat().desk.learn_tools(tool, may_start, [weak = weak_from_this(), then = std::move(then)] {
    if (const auto self = weak.lock(); self && !self->left_) then(*self);
  });
}

ControlSocket::ControlSocket(LinkContext& context, World& world, Clients& clients, std::string name)
    : context_(context),
      world_(world),
      clients_(clients),
      name_(std::move(name)),
      acceptor_(context.loop),
      pause_(context.loop) {}

ControlSocket::ControlSocket(LinkContext& context, World& world, Clients& clients, Desk& desk,
                             std::string name)
    : ControlSocket(context, world, clients, std::move(name)) {
  seat_.emplace(desk, ControlTools(world, clients, desk.fleet(), Compat::none));
}

ControlSocket::ControlSocket(LinkContext& context, World& world, Clients& clients, Gateway& gateway,
                             Crowd& crowd, std::string name)
    : ControlSocket(context, world, clients, std::move(name)) {
  gateway_ = &gateway;
  crowd_ = &crowd;
}

ControlSocket::Seat& ControlSocket::seat() {
  if (seat_) return *seat_;
  Desk& desk = gateway_->open_for_terminals();
  return seat_.emplace(desk, ControlTools(world_, clients_, desk.fleet(), Compat::none));
}

// Closes the terminals' own client, and with it the servers that were started for it.
void ControlSocket::leave_seat() {
  if (gateway_ == nullptr || !seat_) return;
  const ClientId client = seat_->desk.client();
  seat_.reset();
  gateway_->close(client, farewell);
}

// Whose an instance is.
std::string ControlSocket::label(ClientId client) const {
  if (client == ClientId::nobody) return "shared";
  if (seat_ && client == seat_->desk.client()) return "terminal";
  const std::string name = crowd_->label(client);
  return name.empty() ? "gone" : name;
}

ControlSocket::~ControlSocket() {
  std::error_code error;
  if (!path_.empty()) fs::remove(path_, error);
}

void ControlSocket::open() {
  const std::string folder = runtime_folder();
  if (folder.empty()) return;
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  ::chmod(folder.c_str(), 0700);
  if (!is_ours_alone(folder))
    return log_warn(
        "no control socket: {} isn't a folder of this user alone; \"mcpivot status\" won't find this "
        "mcpivot",
        folder);
  const std::string path = free_path(folder);
  fs::remove(path, ignored);  // of a dead process with our pid
  boost::system::error_code error;
  acceptor_.open(boost::asio::local::stream_protocol(), error);
  if (!error && path.size() < 108) {
    acceptor_.bind(boost::asio::local::stream_protocol::endpoint(path), error);
    if (!error) acceptor_.listen(8, error);
  } else if (!error) {
    error = boost::asio::error::name_too_long;
  }
  if (error) {
    log_warn("no control socket at {}: {}; \"mcpivot status\" won't find this mcpivot", path,
             error.message());
    return;
  }
  ::chmod(path.c_str(), 0600);
  path_ = path;
  accept();
}

void ControlSocket::accept() {
  acceptor_.async_accept(
      [this](const boost::system::error_code& error, boost::asio::local::stream_protocol::socket socket) {
        if (error == boost::asio::error::operation_aborted) return;
        if (error) return accept_later(error.message());
        survive("control socket", [&] { welcome(std::move(socket)); });
        accept();
      });
}

// For example, no descriptor is left; the terminal waits in the queue in the meantime.
void ControlSocket::accept_later(const std::string& why) {
  if (!std::exchange(refusing_, true)) log_warn("control socket: can't accept a terminal: {}", why);
  pause_.expires_after(accept_pause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error) accept();
  });
}

void ControlSocket::welcome(boost::asio::local::stream_protocol::socket socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool known = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || peer.uid != ::geteuid()) {
    log_warn("control socket: rejected a process of another user");
    return;
  }
  refusing_ = false;
  if (visitors_.size() >= most_visitors) {
    log_warn("control socket: rejected a terminal: {} are already connected", most_visitors);
    return;
  }
  const int second = ::fcntl(socket.native_handle(), F_DUPFD_CLOEXEC, 3);
  if (second < 0) {
    log_warn("control socket: rejected a terminal: {}", std::strerror(errno));
    return;
  }
  visitors_.push_back(
      std::make_shared<Visitor>(*this, PipeLink::Ends{Descriptor(socket.release()), Descriptor(second)}));
  visitors_.back()->start();
}

}  // namespace mcpivot
