// The user of an instance, which is told what happens to it: a client's desk, or all desks that share the
// instance (SharedInstance). It is all that an instance knows about them.
//
// One thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/generation.h"

namespace mcpivot {

class Instance;

class InstanceWatcher {
 public:
  virtual ~InstanceWatcher() = default;
  // An instance that was full() accepts messages again.
  virtual void on_writable(const Instance& instance) = 0;
  // catalog() has changed.
  virtual void on_catalog(const Instance& instance) = 0;
  // It is ready, or won't be for now: no caller needs to wait any longer to know what it offers.
  virtual void on_settled(const Instance& /*instance*/) {}
  // It is being stopped on request: earlier requests must not start it again afterwards.
  virtual void on_stop(const Instance& /*instance*/) {}
  // What it offers differs from what clients have seen.
  virtual void on_list_changed(const Instance& instance, ListKind kind) = 0;
  // Passes its server's answer on to the client that made the request, with notices for the model.
  virtual void pass_answer(const Instance& instance, const Generation::Requests::Request& request,
                           ToClient& said) = 0;
  // Passes on whatever else its server sends.
  virtual void pass(const Instance& instance, ToClient& said) = 0;
  // Whether it is in a model's context; and a notice for these models, except those of clients that know
  // already.
  virtual bool is_active(const Instance& instance) const = 0;
  virtual void tell_model(const Instance& instance, const std::string& words,
                          std::span<const ClientId> know) = 0;
  // The name under which this client sees one of its tools or prompts.
  virtual std::string shown_name(const Instance& instance, ClientId client, ListKind kind,
                                 const std::string& own) = 0;
  // Whether the user lets this client's request through: the client still has the server, and if it calls a
  // tool, it may call that one, and by pivot_call if it does so. `name` is as JSON spells it; empty: there
  // is none. Nobody as the client stands for any of them.
  virtual bool allows(const Instance& instance, Asker asker, Method method, std::string_view name) const = 0;
};

}  // namespace mcpivot
