// One HTTP answer, joined from a connection's bytes as they arrive: JSON, or a stream of events.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

class HttpAnswer {
 public:
  // More of it. Nothing may follow its end.
  void take(std::string_view bytes);

  bool has_head() const { return !head_.empty(); }
  bool has_ended() const { return ended_; }
  int status() const { return status_; }
  // Empty: there is none.
  std::string header(std::string_view name) const;
  bool is_stream() const { return stream_; }
  // The server closes the connection after it.
  bool closes() const;
  // Everything so far; of a stream, what isn't a complete line yet.
  const std::string& body() const { return body_; }

  // What has arrived of a stream since the last call: `on_data(event's name, its data)`.
  template <typename OnData>
  void read_events(OnData on_data) {
    size_t at = 0;
    for (size_t end = body_.find('\n', searched_); end != std::string::npos; end = body_.find('\n', at)) {
      std::string_view line(body_.data() + at, end - at);
      at = end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.starts_with("event:")) event_ = line.substr(line.find_first_not_of(' ', 6));
      if (!line.starts_with("data:")) continue;
      line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
      if (!line.empty()) on_data(std::string_view(event_), line);
    }
    body_.erase(0, at);
    searched_ = body_.size();
  }

 private:
  void read_head();
  void read_body();
  void read_chunks();

  std::string raw_;  // not yet understood
  std::string head_;
  std::string body_;
  std::string event_;    // the name of the last one
  size_t searched_ = 0;  // no line of the body ends before this
  size_t left_ = 0;      // of the body, or of the chunk
  int status_ = 0;
  bool chunked_ = false;
  bool stream_ = false;
  bool in_chunk_ = false;
  bool ended_ = false;
};
