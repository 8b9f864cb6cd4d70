// A simulated terminal: somebody who steers mcpivot from elsewhere, as the control socket's visitors do. It
// asks with mcpivot's own tools or for a tool of any server, may be gone before it is answered, and must then
// never be answered any more.
#pragma once

#include "gateway/gateway.h"
#include "oracle.h"

namespace simulation {

class Terminal final : public mcpivot::Asker {
 public:
  Terminal(mcpivot::Gateway& gateway, mcpivot::ControlTools& tools, Oracle& oracle, int who)
      : gateway_(gateway), tools_(tools), oracle_(oracle), who_(who) {}

  void type(int number, const std::string& text);
  // The gateway forgets it.
  void leave();
  bool left() const { return left_; }

  // Asker
  mcpivot::Asker& client() override { return *this; }
  void forward(const mcpivot::Message& message, std::span<const mcpivot::Edit> edits) override {
    answer(spliced(message.raw, edits));
  }
  void answer(std::string_view line) override;
  void withdrawn(std::string_view) override {}
  void ask(mcpivot::Generation&, const mcpivot::Message&) override {}
  void ask_no_more(mcpivot::Generation&, const mcpivot::Message&) override {}
  void forget(mcpivot::Generation&) override {}
  bool full() const override { return false; }

 private:
  mcpivot::Gateway& gateway_;
  mcpivot::ControlTools& tools_;
  Oracle& oracle_;
  int who_;
  bool left_ = false;
};

}  // namespace simulation
