// Lets many messages leave in one write. Code that handles a read full of messages holds a Cork; links that
// are sent something in the meantime write it when the last cork is pulled.
//
// One thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "log/last_resort.h"

namespace mcpivot {

class Corkable {
 public:
  virtual ~Corkable() = default;
  virtual void flush() = 0;
};

class Corks {
 public:
  bool held() const { return held_ > 0; }
  void flush_later(std::shared_ptr<Corkable> link) { waiting_.push_back(std::move(link)); }

 private:
  friend class Cork;
  void pull() {
    if (--held_ > 0) return;
    std::vector<std::shared_ptr<Corkable>> links;
    links.swap(waiting_);
    for (auto& link : links) survive("write", [&] { link->flush(); });
    links.clear();
    if (waiting_.empty()) waiting_.swap(links);  // reuse its memory for the next batch
  }

  int held_ = 0;
  std::vector<std::shared_ptr<Corkable>> waiting_;
};

class Cork {
 public:
  explicit Cork(Corks& corks) : corks_(corks) { ++corks_.held_; }
  ~Cork() { corks_.pull(); }
  Cork(const Cork&) = delete;
  Cork& operator=(const Cork&) = delete;

 private:
  Corks& corks_;
};

}  // namespace mcpivot
