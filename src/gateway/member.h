// One of a client's servers: its instance, how it is shown, and whether its tools are in the client's
// context.
//
// One thread.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/tool_filter.h"
#include "server/server.h"

namespace mcpivot {

class Member final : private Instance::Watcher {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_writable() = 0;
    virtual void on_catalog() = 0;
    virtual void on_list_changed(const Member& member, ListKind kind) = 0;
    virtual void on_notification(const Member& member, const Message& message) = 0;
    virtual std::string shown_name(const Member& member, ListKind kind, const std::string& own) const = 0;
  };

  Member(World& world, Clients& clients, std::shared_ptr<Server> server, InstanceId id, ServerEntry entry,
         NoticeBoard& notices, Owner& owner);

  Instance& instance() { return instance_; }
  const Instance& instance() const { return instance_; }
  const ServerEntry& entry() const { return entry_; }
  const std::string& name() const { return entry_.server.name; }

  // Starts it, now or at its first use.
  void start();
  // Another configuration under the same name.
  void configure(ServerEntry entry);

  bool active() const { return active_; }
  // An inactive one stays warm, for as long as its entry says.
  void set_active(bool active);

  // How its tools and prompts are named in front of clients.
  Naming naming() const { return naming_; }
  void set_naming(Naming naming) { naming_ = naming; }

  // Which of its tools the user lets through.
  const ToolFilter& tools() const { return tools_; }

 private:
  void on_writable() override { owner_.on_writable(); }
  void on_catalog() override { owner_.on_catalog(); }
  void on_list_changed(ListKind kind) override { owner_.on_list_changed(*this, kind); }
  void on_notification(const Message& message) override { owner_.on_notification(*this, message); }
  bool tells_model() const override { return active_; }
  std::string shown_name(ListKind kind, const std::string& own) const override {
    return owner_.shown_name(*this, kind, own);
  }
  bool allows_call(std::string_view name) const override;

  void rest_later();

  Owner& owner_;
  ServerEntry entry_;
  std::shared_ptr<Server> server_;
  Instance instance_;
  ToolFilter tools_;
  Alarm idle_;
  bool started_ = false;  // it was told to start, now or at its first use
  bool active_ = false;
  Naming naming_ = Naming::prefixed;
};

}  // namespace mcpivot
