// Files that contain secrets. They are created for our user only, read only if nobody else can read or change
// them, and what was read is wiped from memory when it is no longer needed.
//
// Any thread.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace mcpivot {

// Overwritten when it is destroyed. Never copied: a copy would have to be wiped too.
class SecretText {
 public:
  explicit SecretText(std::size_t room) : bytes_(std::make_unique<char[]>(room)), room_(room) {}
  ~SecretText();
  SecretText(SecretText&&) = default;
  SecretText& operator=(SecretText&&) = delete;

  char* data() { return bytes_.get(); }
  std::size_t room() const { return room_; }
  void resize(std::size_t size) { size_ = size; }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t room_;
  std::size_t size_ = 0;
};

struct PrivateFileError {
  bool missing = false;  // there is no such file
  std::string words;     // "FILE ..."; says what to do
};

// Empty: nobody but this user, and root, can read or change the file.
std::string why_not_private(const std::string& path, const struct stat& file, uid_t reader);

// Reads a regular file that belongs to our user, with no rights for anybody else (or one that root lets us
// read), of at most `limit` bytes.
std::expected<SecretText, PrivateFileError> read_private_file(const std::string& path, std::size_t limit);

// Creates the folder for a file, for our user only, unless it exists. False: errno says why.
bool make_private_folder(const std::string& path_of_file);

// Gives a finished draft its name, unless such a file exists by now: of several who do this at once, one
// wins, and nobody ever sees half a file. The draft is removed. False: errno says why; EEXIST: another
// process won.
bool place_new_file(const std::string& draft, const std::string& path);

// Iterates over the lines of a text, and over the words of each line. Skips empty lines and comments, which
// begin with a word that starts with #.
class Lines {
 public:
  explicit Lines(std::string_view text);
  bool next();  // false: there are no more
  std::size_t number() const { return number_; }
  // The next word of this line; empty: there are no more.
  std::string_view word();

 private:
  std::string_view rest_;
  std::string_view line_;
  std::size_t number_ = 0;
};

}  // namespace mcpivot
