#include "gateway/client_listens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_uris = 1024;  // of one listen
constexpr std::size_t most_uris_of_all = 4096;

}  // namespace

std::string ClientListens::open(std::uint32_t exchange, const Message& request) {
  if (open_.size() >= most_listens) return {};
  ListenFilter wanted = listen_filter_of(find_member(request.text(request.params), "notifications"));
  std::size_t others = 0;
  for (const Listen& listen : open_) others += listen.wanted.uris.size();
  const std::size_t most = std::min(most_uris, most_uris_of_all - others);
  while (wanted.uris.size() > most) wanted.uris.erase(std::prev(wanted.uris.end()));
  const Listen& listen =
      open_.emplace_back(exchange, std::string(request.text(request.id)), std::move(wanted));
  return listen_acknowledged(listen.id, listen.wanted);
}

std::optional<std::uint32_t> ClientListens::close(std::uint32_t exchange, std::string_view id) {
  const auto found = std::ranges::find_if(open_, [&](const Listen& listen) {
    return (exchange == 0 || listen.exchange == exchange) && same_id(listen.id, id);
  });
  if (found == open_.end()) return std::nullopt;
  const std::uint32_t closed = found->exchange;
  open_.erase(found);
  return closed;
}

std::vector<ClientListens::Line> ClientListens::changed(ListKind kind) const {
  std::vector<Line> lines;
  for (const Listen& listen : open_)
    if (listen.wanted.has(kind))
      lines.push_back({listen.exchange, request_line({}, words(kind).notification,
                                                     fmt::format("{{{}}}", subscription_meta(listen.id)))});
  return lines;
}

// The server's own params, with each subscription's id.
std::vector<ClientListens::Line> ClientListens::updated(const Message& notification) const {
  std::vector<Line> lines;
  for (const Listen& listen : open_)
    if (listen.wanted.wants(notification))
      lines.push_back({listen.exchange, with_subscription(notification, listen.id)});
  return lines;
}

std::vector<ClientListens::Line> ClientListens::farewells() const {
  std::vector<Line> lines;
  for (const Listen& listen : open_)
    lines.push_back(
        {listen.exchange, result_answer(listen.id, fmt::format(R"({{"resultType":"complete",{}}})",
                                                               subscription_meta(listen.id)))});
  return lines;
}

Uris ClientListens::uris() const {
  Uris all;
  for (const Listen& listen : open_) all.insert(listen.wanted.uris.begin(), listen.wanted.uris.end());
  return all;
}

}  // namespace mcpivot
