// The notices that the model has yet to get: what happened since a tool answer last carried any.
//
// Bounded: when there are too many, the oldest go. One thread.
#pragma once

#include <string>

namespace mcpivot {

class NoticeBoard {
 public:
  void add(const std::string& words) {
    carried_ = 0;
    if (!text_.empty()) text_ += "\n\n";
    text_ += words;
    if (text_.size() > longest)
      text_ = "[mcpivot] … earlier notices left out …\n" +
              text_.substr(text_.find('\n', text_.size() - longest / 2) + 1);
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  void clear() { text_.clear(); }
  // An answer has carried them. If the model may not see them there, they stay for a few more answers, but no
  // longer: the server may have no other kind of answer.
  void carried(bool surely_seen) {
    if (surely_seen || ++carried_ >= most_carried) clear();
  }

 private:
  static constexpr std::size_t longest = 16UL * 1024;
  static constexpr int most_carried = 5;
  std::string text_;
  int carried_ = 0;  // by answers since the last was added
};

}  // namespace mcpivot
