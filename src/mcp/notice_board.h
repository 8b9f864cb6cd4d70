// The words that are due to the model: whatever happened behind mcpivot since a tool answer last carried any.
//
// Bounded: of too much, the oldest goes. One thread.
#pragma once

#include <string>

namespace mcpivot {

class NoticeBoard {
 public:
  void add(const std::string& words) {
    if (!text_.empty()) text_ += "\n\n";
    text_ += words;
    if (text_.size() > longest)
      text_ = "[mcpivot] … earlier notices left out …\n" +
              text_.substr(text_.find('\n', text_.size() - longest / 2) + 1);
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  static constexpr std::size_t longest = 16UL * 1024;
  std::string text_;
};

}  // namespace mcpivot
