#include "clitools/captured_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/utf8.h"

namespace mcpivot {
namespace {

// Without its last character, if that may be cut off.
std::string_view without_cut_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && text.size() - end < 4 && continues_character(text[end - 1])) --end;
  const bool begins = end > 0 && (static_cast<unsigned char>(text[end - 1]) & 0xC0) == 0xC0;
  return begins ? text.substr(0, end - 1) : text;
}

std::string_view without_cut_beginning(std::string_view text) {
  std::size_t from = 0;
  while (from < text.size() && from < 3 && continues_character(text[from])) ++from;
  return text.substr(from);
}

}  // namespace

CapturedOutput::CapturedOutput(std::size_t limit, std::shared_ptr<KeptFiles> files, std::string name)
    : limit_(limit), files_(std::move(files)), name_(std::move(name)) {}

CapturedOutput::~CapturedOutput() {
  close();
}

void CapturedOutput::add(std::string_view piece) {
  const bool was_cut = cut();
  size_ += piece.size();
  if (!was_cut) text_ += piece;
  if (!cut()) return;
  if (!was_cut) {
    if (files_) {
      auto file = files_->create(name_);
      file_ = file ? file->descriptor : -1;
      (file ? path_ : trouble_) = file ? file->path : file.error();
    }
    write(text_);
    tail_ = text_.substr(limit_ / 2);
    text_.resize(limit_ / 2);
    text_.shrink_to_fit();
  } else {
    write(piece);
    tail_ += piece;
  }
  if (tail_.size() > 2 * (limit_ - limit_ / 2)) tail_.erase(0, tail_.size() - (limit_ - limit_ / 2));
}

void CapturedOutput::write(std::string_view piece) {
  if (file_ < 0) return;
  if (flooded()) {
    trouble_ = fmt::format("it has only the first {} bytes", size_ - piece.size());
    return close();
  }
  if (write_all(file_, piece)) return;
  trouble_ = fmt::format("some of it could not be written: {}", std::strerror(errno));
  close();
}

void CapturedOutput::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

std::string CapturedOutput::text() const {
  if (!cut()) return as_utf8(text_);
  const std::size_t each = limit_ - limit_ / 2;
  const std::string_view tail = std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), each));
  std::string where = path_.empty() ? trouble_ : fmt::format("all of it is in {}", path_);
  if (!path_.empty() && !trouble_.empty()) where += fmt::format(" ({})", trouble_);
  return fmt::format("{}\n… [mcpivot omitted {} of {} bytes here{}{}] …\n{}", as_utf8(without_cut_end(text_)),
                     size_ - text_.size() - tail.size(), size_, where.empty() ? "" : "; ", where,
                     as_utf8(without_cut_beginning(tail)));
}

}  // namespace mcpivot
