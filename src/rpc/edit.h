// Changes to a message on its way: these stretches of the raw bytes are replaced, the rest passes as it is.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/span.h"

namespace mcpivot {

struct Edit {
  Span where;
  std::string_view with;
};

// The few edits of one message, kept in the order of their places. Borrows the texts.
class Edits {
 public:
  static constexpr std::size_t most = 8;  // nobody makes more than three

  Edits() {}  // NOLINT(modernize-use-equals-default): the edits stay uninitialised, for every message
  // Nothing to do for a value that is absent.
  Edits& replace(Span where, std::string_view with) { return where ? add(where, with) : *this; }
  Edits& insert(std::size_t at, std::string_view text) {
    return add({static_cast<std::uint32_t>(at), 0}, text);
  }
  std::span<const Edit> list() const { return {edits_, count_}; }

 private:
  Edits& add(Span where, std::string_view with) {
    if (count_ == most) throw std::length_error("too many edits of one message");
    edits_[count_++] = {where, with};
    for (std::size_t i = count_ - 1; i > 0 && edits_[i].where.begin < edits_[i - 1].where.begin; --i)
      std::swap(edits_[i], edits_[i - 1]);
    return *this;
  }

  union {
    Edit edits_[most];
  };
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
