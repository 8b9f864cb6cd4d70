#include "cli/answer_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <expected>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "cli/status_table.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr int most_tries = 10'000;
constexpr std::size_t longest_name = 80;

// A file name from a server must not lead out of the folder.
std::string file_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, longest_name)) {
    const bool plain =
        is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    name += plain || (c == '.' && !name.empty()) ? c : '_';
  }
  return name.empty() ? "answer" : name;
}

std::string extension_of(const std::string& mime_type) {
  constexpr auto known = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"image/jpeg", "jpg"},
      {"image/svg+xml", "svg"},
      {"image/x-icon", "ico"},
      {"audio/mpeg", "mp3"},
      {"audio/x-wav", "wav"},
      {"audio/wave", "wav"},
      {"audio/mp4", "m4a"},
      {"application/gzip", "gz"},
      {"text/plain", "txt"},
  });
  const std::string type = lower(trimmed(std::string_view(mime_type).substr(0, mime_type.find(';'))));
  const auto* const found =
      std::ranges::find(known, type, &std::pair<std::string_view, std::string_view>::first);
  if (found != known.end()) return std::string(found->second);
  const std::string subtype = type.substr(std::min(type.find('/'), type.size() - 1) + 1);
  const bool plain = !subtype.empty() && subtype.size() <= 5 && std::ranges::all_of(subtype, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z');
  });
  return plain ? subtype : "bin";
}

std::optional<std::string> decoded(const std::string& base64) {
  std::string text;
  for (const char c : base64)
    if (c != '\n' && c != '\r' && c != '=') text += c == '+' ? '-' : c == '/' ? '_' : c;
  return from_base64url(text);
}

// Under the first free number.
std::expected<std::string, std::string> save(const std::string& bytes, const std::string& stem,
                                             const std::string& extension) {
  std::error_code ignored;  // opening the file says what is wrong
  std::filesystem::create_directories(std::filesystem::path(stem).parent_path(), ignored);
  for (int number = 1; number <= most_tries; ++number) {
    const std::string path = fmt::format("{}-{}.{}", stem, number, extension);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) return std::unexpected(fmt::format("can't save {}: {}", path, std::strerror(errno)));
    std::size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) break;
      written += static_cast<std::size_t>(count);
    }
    const int error = errno;
    ::close(file);
    if (written == bytes.size()) return path;
    return std::unexpected(fmt::format("can't save {}: {}", path, std::strerror(error)));
  }
  return std::unexpected(fmt::format("can't save {}-…: there are too many such files", stem));
}

class Shown {
 public:
  Shown(std::string stem, ShownAnswer& answer) : stem_(std::move(stem)), answer_(answer) {}

  void block(const json::object& block) {
    const std::string type = string_in(block, "type");
    if (type == "text") return line(string_in(block, "text"));
    if (type == "image" || type == "audio")
      return bytes(string_in(block, "data"), string_in(block, "mimeType"), type);
    const json::value* resource = block.if_contains("resource");
    if (type == "resource" && resource != nullptr && resource->is_object()) {
      const json::object& inside = resource->get_object();
      if (inside.contains("text")) return line(string_in(inside, "text"));
      if (inside.contains("blob"))
        return bytes(string_in(inside, "blob"), string_in(inside, "mimeType"), string_in(inside, "uri"));
    }
    if (type == "resource_link")
      return line(fmt::format("{}: {}", string_in(block, "name"), string_in(block, "uri")));
    line(json::serialize(block));
  }
  void line(const std::string& words) { answer_.text += words + (words.ends_with('\n') ? "" : "\n"); }

 private:
  void bytes(const std::string& base64, const std::string& mime_type, const std::string& what) {
    const auto all = decoded(base64);
    if (!all) return answer_.problems.push_back(fmt::format("{}: the data isn't valid base64", what));
    const auto path = save(*all, stem_, extension_of(mime_type));
    if (!path) return answer_.problems.push_back(path.error());
    line(fmt::format("saved {} ({}, {} bytes)", *path, mime_type.empty() ? what : mime_type, all->size()));
  }

  std::string stem_;
  ShownAnswer& answer_;
};

}  // namespace

ShownAnswer show_answer(const json::object& result, const std::string& tool, const std::string& folder) {
  ShownAnswer answer;
  Shown shown(fmt::format("{}/{}", folder, file_name(tool)), answer);
  const json::value* content = result.if_contains("content");
  if (content != nullptr && content->is_array())
    for (const json::value& block : content->get_array())
      if (block.is_object()) shown.block(block.get_object());
  const json::value* structured = result.if_contains("structuredContent");
  if (structured != nullptr && answer.text.empty() && answer.problems.empty())
    shown.line(json::serialize(*structured));
  return answer;
}

}  // namespace mcpivot
