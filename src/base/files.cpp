#include "base/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mcpivot {

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code no_folder;
  std::filesystem::path absolute = std::filesystem::absolute(path, no_folder);
  return no_folder ? path : absolute;
}

std::expected<std::string, std::string> read_small_file(const std::string& file, std::size_t limit) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return std::unexpected("is a folder; name the file in it");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::unexpected(fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text;
  std::string piece(64UL * 1024, '\0');
  while (stream && text.size() <= limit) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return std::unexpected("cannot be read to its end");
  if (text.size() > limit)
    return std::unexpected(fmt::format("is too large: at most {} bytes are read", limit));
  return text;
}

}  // namespace mcpivot
