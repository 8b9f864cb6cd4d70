#include "front/session_keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/base64.h"
#include "base/files.h"
#include "base/secret.h"
#include "base/text.h"
#include "front/private_file.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_key_file = 64 * 1024;
constexpr std::size_t most_keys = 64;

bool is_key_id(std::string_view text) {
  return !text.empty() && text.size() <= SessionKey::longest_id && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

// As `openssl rand -base64 32` prints it, or in base64url; false: it isn't 32 bytes.
bool read_key(std::string_view text, SessionKey& key) {
  if (text.size() > 44) return false;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string url(text);
  std::ranges::replace(url, '+', '-');
  std::ranges::replace(url, '/', '_');
  auto bytes = from_base64url(url);
  const bool right = bytes && bytes->size() == key.bytes.size();
  if (right) std::memcpy(key.bytes.data(), bytes->data(), key.bytes.size());
  OPENSSL_cleanse(url.data(), url.size());
  if (bytes) OPENSSL_cleanse(bytes->data(), bytes->size());
  return right;
}

std::string file_with_a_new_key() {
  std::string bytes(sizeof(SessionKey::bytes), '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system provides no random numbers");
  std::string text = fmt::format(
      "# mcpivot seals session ids with the first key and opens them with all of these. To rotate, add a "
      "new\n"
      "# first line: KEYID $(openssl rand -base64 32)\n"
      "{} {}\n",
      random_text().substr(0, 8), base64url(bytes));
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return text;
}

void sync_folder(const fs::path& folder) {
  const int opened = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  ::fsync(opened);
  ::close(opened);
}

// Creates the file atomically. It isn't an error if it exists: another process was
// faster.
std::expected<void, std::string> make_file(const std::string& path) {
  const auto failed = [&](int error) {
    return std::unexpected(fmt::format("{} can't be created: {}", path, std::strerror(error)));
  };
  if (!make_private_folder(path)) return failed(errno);
  std::string draft = path + ".XXXXXX";
  const int descriptor = ::mkostemp(draft.data(), O_CLOEXEC);  // with mode 0600
  if (descriptor < 0) return failed(errno);
  std::string text = file_with_a_new_key();
  bool good = write_all(descriptor, text) && ::fsync(descriptor) == 0;
  int error = errno;
  OPENSSL_cleanse(text.data(), text.size());
  if (::close(descriptor) != 0 && good) {
    good = false;
    error = errno;
  }
  if (!good) {
    ::unlink(draft.c_str());
    return failed(error);
  }
  if (!place_new_file(draft, path) && errno != EEXIST) return failed(errno);
  sync_folder(fs::path(path).parent_path());
  return {};
}

}  // namespace

SessionKey::~SessionKey() {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

std::expected<SessionKeys, std::string> SessionKeys::parse(const std::string& name, std::string_view text) {
  SessionKeys keys;
  Lines lines(text);
  const auto wrong = [&](std::string_view words) {
    return std::unexpected(fmt::format("{}:{}: {}", name, lines.number(), words));
  };
  // So that a growing vector leaves no copies of keys in memory.
  keys.keys_.reserve(most_keys);
  while (lines.next()) {
    if (keys.keys_.size() == most_keys)
      return wrong(fmt::format("more than {} keys; delete those that no valid session uses", most_keys));
    SessionKey key;
    const std::string_view id = lines.word();
    // An invalid id may be a key in the wrong place, so it isn't shown.
    if (!is_key_id(id))
      return wrong(fmt::format("a line is KEYID KEY; a key id has up to {} letters, digits, - and _",
                               SessionKey::longest_id));
    if (keys.find(id) != nullptr) return wrong(fmt::format("the key id {} appears twice", id));
    key.id = id;
    if (!read_key(lines.word(), key))
      return wrong(
          fmt::format("the key {} isn't 32 bytes in base64; make one with: openssl rand -base64 32", id));
    if (!lines.word().empty()) return wrong("a line is KEYID KEY; this one has more");
    keys.keys_.push_back(key);
  }
  if (keys.keys_.empty())
    return std::unexpected(
        fmt::format("{} has no key in it; delete it so that mcpivot creates a new one, or add a line: "
                    "KEYID $(openssl rand -base64 32)",
                    name));
  return keys;
}

std::expected<SessionKeys, std::string> SessionKeys::load(const std::string& path) {
  const auto text = read_private_file(path, longest_key_file);
  if (!text) return std::unexpected(text.error().words);
  return parse(path, text->view());
}

std::expected<SessionKeys, std::string> SessionKeys::load_or_make(const std::string& path) {
  auto text = read_private_file(path, longest_key_file);
  if (!text && text.error().missing) {
    if (const auto made = make_file(path); !made) return std::unexpected(made.error());
    return load(path);
  }
  if (!text) return std::unexpected(text.error().words);
  return parse(path, text->view());
}

const SessionKey* SessionKeys::find(std::string_view id) const {
  const auto found = std::ranges::find(keys_, id, &SessionKey::id);
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace mcpivot
