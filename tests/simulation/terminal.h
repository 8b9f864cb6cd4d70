// A simulated terminal: someone who controls mcpivot from elsewhere, as the control socket's visitors do. It
// asks with mcpivot's own tools or for a tool of any server, may leave before it is answered, and must then
// never be answered.
#pragma once

#include "gateway/desk.h"
#include "oracle.h"

namespace simulation {

class Terminal final : private mcpivot::Peer {
 public:
  Terminal(mcpivot::Clients& clients, mcpivot::Desk& desk, mcpivot::ControlTools& tools, Oracle& oracle,
           int who)
      : clients_(clients), desk_(desk), tools_(tools), oracle_(oracle), who_(who), id_(clients.next()) {
    clients_.add(id_, *this);
  }
  ~Terminal() override { clients_.remove(id_); }

  void type(int number, const std::string& text);
  // The gateway forgets it.
  void leave();
  bool left() const { return left_; }
  mcpivot::ClientId id() const { return id_; }

 private:
  // Peer
  void pass(mcpivot::ToClient& said) override { answer(0, said.message, said.edits.list()); }
  void answer(std::uint32_t, const mcpivot::Message& inside, std::span<const mcpivot::Edit> around) override {
    answer(0, spliced(inside.raw, around));
  }
  void answer(std::uint32_t, std::string_view line) override;
  bool full() const override { return false; }

  mcpivot::Clients& clients_;
  mcpivot::Desk& desk_;
  mcpivot::ControlTools& tools_;
  Oracle& oracle_;
  int who_;
  mcpivot::ClientId id_;
  bool left_ = false;
};

}  // namespace simulation
