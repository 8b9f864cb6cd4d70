#include "http_answer.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>

std::string HttpAnswer::header(std::string_view name) const {
  for (size_t at = head_.find("\r\n"); at != std::string::npos; at = head_.find("\r\n", at + 2)) {
    const size_t begin = at + 2;
    if (head_.size() <= begin + name.size() || head_[begin + name.size()] != ':' ||
        strncasecmp(head_.data() + begin, name.data(), name.size()) != 0)
      continue;
    const size_t value = head_.find_first_not_of(' ', begin + name.size() + 1);
    return head_.substr(value, head_.find("\r\n", value) - value);
  }
  return {};
}

bool HttpAnswer::closes() const {
  return strcasecmp(header("connection").c_str(), "close") == 0;
}

void HttpAnswer::take(std::string_view bytes) {
  raw_ += bytes;
  if (!has_head()) read_head();
  if (has_head()) read_body();
}

void HttpAnswer::read_head() {
  const auto end = raw_.find("\r\n\r\n");
  if (end == std::string::npos) return;
  head_ = raw_.substr(0, end + 2);
  raw_.erase(0, end + 4);
  status_ = std::atoi(head_.c_str() + std::min<size_t>(9, head_.size()));
  chunked_ = strcasecmp(header("transfer-encoding").c_str(), "chunked") == 0;
  stream_ = header("content-type").starts_with("text/event-stream");
  left_ = std::strtoul(header("content-length").c_str(), nullptr, 10);
}

void HttpAnswer::read_body() {
  if (chunked_) return read_chunks();
  const size_t take = std::min(left_, raw_.size());
  body_.append(raw_, 0, take);
  raw_.erase(0, take);
  left_ -= take;
  ended_ = left_ == 0;
}

void HttpAnswer::read_chunks() {
  size_t at = 0;
  while (!ended_) {
    if (!in_chunk_) {
      const auto end = raw_.find("\r\n", at);
      if (end == std::string::npos) break;
      left_ = std::strtoul(raw_.c_str() + at, nullptr, 16) + 2;  // and the line's end
      if (left_ == 2) {
        ended_ = raw_.size() >= end + 4;
        if (ended_) at = end + 4;
        break;
      }
      at = end + 2;
      in_chunk_ = true;
    }
    const size_t take = std::min(left_, raw_.size() - at);
    // The last two bytes of a chunk don't belong to the body.
    const size_t text = left_ > 2 ? std::min(take, left_ - 2) : 0;
    body_.append(raw_, at, text);
    at += take;
    left_ -= take;
    if (left_ > 0) break;
    in_chunk_ = false;
  }
  raw_.erase(0, at);
}
