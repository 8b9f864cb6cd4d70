// Changes to a message in transit: these ranges of the raw bytes are replaced, the rest passes unchanged.
//
// One thread for each Edits.
#pragma once

#include <algorithm>
#include <cstring>
#include <forward_list>
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

// The edits of one message, sorted by position. They travel with it, and each stage on the way adds its
// own. Borrows the texts, except for those that it is asked to keep. A typical message's edits allocate
// nothing.
class Edits {
 public:
  Edits() {}  // NOLINT(modernize-use-equals-default): the edits stay uninitialised, for every message
  ~Edits() = default;
  Edits(const Edits&) = delete;
  Edits& operator=(const Edits&) = delete;

  // Does nothing if the value is absent.
  Edits& replace(Span where, std::string_view with) { return where ? add(where, with) : *this; }
  // Edits made elsewhere, except one of this range.
  Edits& add_all(std::span<const Edit> others, Span but = {}) {
    for (const Edit& edit : others)
      if (!but || edit.where != but) add(edit.where, edit.with);
    return *this;
  }
  Edits& insert(std::size_t at, std::string_view text) {
    return add({static_cast<std::uint32_t>(at), 0}, text);
  }
  // A copy of the text that lives as long as the edits do.
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};  // it may have no address
    if (text.size() > sizeof(texts_) - kept_) return more().texts.emplace_front(text);
    char* const copy = texts_ + kept_;
    std::memcpy(copy, text.data(), text.size());
    kept_ += static_cast<std::uint32_t>(text.size());
    return {copy, text.size()};
  }

  bool empty() const { return count_ == 0; }
  std::span<const Edit> list() const { return {first_, count_}; }

 private:
  static constexpr std::size_t usual = 6;
  struct More {
    std::vector<Edit> edits;
    std::forward_list<std::string> texts;
  };
  struct Drop {  // out of line: not in the middle of every function that has edits
    [[gnu::noinline]] void operator()(More* more) const { delete more; }
  };

  Edits& add(Span where, std::string_view with) {
    if (count_ != 0) return add_another(where, with);
    few_[0] = {where, with};
    count_ = 1;
    return *this;
  }
  [[gnu::noinline]] Edits& add_another(Span where, std::string_view with) {
    if (count_ >= usual) grow();
    first_[count_++] = {where, with};
    for (std::size_t i = count_ - 1; i > 0 && first_[i].where.begin < first_[i - 1].where.begin; --i)
      std::swap(first_[i], first_[i - 1]);
    return *this;
  }
  More& more() {
    if (!more_) more_.reset(new More());
    return *more_;
  }
  void grow() {
    std::vector<Edit>& edits = more().edits;
    if (edits.empty()) edits.assign(first_, first_ + count_);
    edits.resize(count_ + 1);
    first_ = edits.data();
  }

  union {
    Edit few_[usual];
  };
  union {
    char texts_[64];
  };
  Edit* first_ = few_;
  std::uint32_t count_ = 0;
  std::uint32_t kept_ = 0;  // of texts_
  std::unique_ptr<More, Drop> more_;
};

// Passes the pieces of the edited message to `take`, one after the other. None is empty, since an empty piece
// may have no address, and nothing may be copied from there.
template <class Take>
void splice(std::string_view raw, std::span<const Edit> edits, Take&& take) {
  const auto pass = [&](std::string_view piece) {
    if (!piece.empty()) take(piece);
  };
  std::size_t done = 0;
  for (const Edit& edit : edits) {
    pass(raw.substr(done, edit.where.begin - done));
    pass(edit.with);
    done = edit.where.end();
  }
  pass(raw.substr(done));
}

// The same as one string, for the few places that need that.
inline std::string spliced(std::string_view raw, std::span<const Edit> edits) {
  std::string text;
  splice(raw, edits, [&](std::string_view piece) { text += piece; });
  return text;
}

// What this range contains after the edits; nothing if it is absent.
inline std::string_view edited(std::string_view raw, Span span, std::span<const Edit> edits) {
  if (!span) return {};
  for (const Edit& edit : edits)
    if (edit.where == span) return edit.with;
  return span.of(raw);
}

// Where something is after the edits: it must be one of the ranges that they replace, or one that none of
// them touches.
inline Span moved(Span span, std::span<const Edit> edits) {
  Span now = span;
  for (const Edit& edit : edits) {
    if (edit.where.begin > span.begin) break;
    const auto size = static_cast<std::uint32_t>(edit.with.size());
    if (edit.where == span) {
      now.size = size;
    } else {
      now.begin += size - edit.where.size;
    }
  }
  return now;
}

}  // namespace mcpivot
