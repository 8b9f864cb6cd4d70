// Files with secrets in them. They are made for our user alone, read only if nobody else can read or change
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

// Overwritten when it goes. It is never copied: a copy would have to be wiped, too.
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

// A regular file that belongs to our user, with no rights for anybody else (or one that root has given us to
// read), of at most `limit` bytes.
std::expected<SecretText, PrivateFileError> read_private_file(const std::string& path, std::size_t limit);

// Makes the folder that a file is to be in, for our user alone, unless it exists. False: errno tells why.
bool make_private_folder(const std::string& path_of_file);

// Gives a finished draft its name, unless there is such a file by now: of several who do this at once, one
// wins, and nobody ever sees half a file. The draft is gone then. False: errno tells why; EEXIST: another
// won.
bool place_new_file(const std::string& draft, const std::string& path);

// Goes through a text line by line, and through each line word by word. Empty lines are left out, and
// comments: a word that begins with #, and what follows it.
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
