// Changes to a message on its way: these stretches of the raw bytes are replaced, the rest passes as it is.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/span.h"

namespace mcpivot {

struct Edit {
  Span where;
  std::string_view with;
};

// The few edits of one message, kept in the order of their places. Up to three need no allocation. Borrows
// the texts.
class Edits {
 public:
  // Nothing to do for a value that is absent.
  Edits& replace(Span where, std::string_view with) { return where ? add(where, with) : *this; }
  Edits& insert(std::size_t at, std::string_view text) {
    return add({static_cast<std::uint32_t>(at), 0}, text);
  }
  std::span<const Edit> list() const { return {many_ ? many_->data() : few_.data(), count_}; }

 private:
  Edits& add(Span where, std::string_view with) {
    Edit* const edits = count_ < few_.size() ? few_.data() : grown();
    edits[count_++] = {where, with};
    for (std::size_t i = count_ - 1; i > 0 && edits[i].where.begin < edits[i - 1].where.begin; --i)
      std::swap(edits[i], edits[i - 1]);
    return *this;
  }

  // Room for one more in the vector.
  [[gnu::noinline]] Edit* grown() {
    if (!many_) many_ = std::make_unique<std::vector<Edit>>(few_.begin(), few_.end());
    many_->resize(count_ + 1);
    return many_->data();
  }

  std::array<Edit, 3> few_{};
  std::unique_ptr<std::vector<Edit>> many_;  // all of them, once they are more
  std::size_t count_ = 0;
};

// The message as one text with its edits made, for the few who need it so.
inline std::string spliced(std::string_view raw, std::span<const Edit> edits) {
  std::string text;
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    text += raw.substr(done, edit.where.begin - done);
    text += edit.with;
    done = edit.where.end();
  }
  return text += raw.substr(done);
}

}  // namespace mcpivot
