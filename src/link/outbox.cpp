#include "link/outbox.h"

#include <algorithm>
#include <cstring>

namespace mcpivot {
namespace {

constexpr std::size_t worth_sharing = 16 * 1024;
constexpr std::size_t full_block = 64 * 1024;
constexpr std::size_t most_written_chunks = 16;

}  // namespace

void Outbox::add(const Message& message, std::span<const Edit> edits) {
  std::size_t size = message.raw.size() + 1;
  for (const Edit& edit : edits) size += edit.with.size() - edit.where.size;
  if (message.buffer && size >= worth_sharing) return add_in_pieces(message, edits);
  std::string& block = tail();
  const std::size_t before = block.size();
  block.resize_and_overwrite(before + size, [&](char* text, std::size_t) {
    char* to = text + before;
    splice(message.raw, edits, [&](std::string_view piece) {
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    });
    *to = '\n';
    return before + size;  // g++ 12 passes the capacity instead
  });
  bytes_ += size;
}

// The large pieces are shared, the others copied.
void Outbox::add_in_pieces(const Message& message, std::span<const Edit> edits) {
  std::size_t done = 0;
  const auto pass = [&](std::string_view part) {
    part.size() < worth_sharing ? append(part) : share(message.buffer, part);
  };
  for (const Edit& edit : edits) {
    pass(message.raw.substr(done, edit.where.begin - done));
    append(edit.with);
    done = edit.where.end();
  }
  pass(message.raw.substr(done));
  append("\n");
}

void Outbox::add(std::string_view line) {
  std::string& block = tail();
  block += line;
  block += '\n';
  bytes_ += line.size() + 1;
}

void Outbox::append(std::string_view bytes) {
  tail() += bytes;
  bytes_ += bytes.size();
}

void Outbox::take(std::string bytes) {
  if (bytes.size() < worth_sharing) return append(bytes);
  bytes_ += bytes.size();
  chunks_.push_back({std::move(bytes), nullptr, {}, true});
}

std::size_t Outbox::gather(std::span<iovec> pieces) const {
  std::size_t count = 0;
  for (std::size_t i = first_; i < chunks_.size() && count < pieces.size(); ++i) {
    std::string_view bytes = chunks_[i].bytes();
    if (i == first_) bytes.remove_prefix(written_);
    if (bytes.empty()) continue;
    pieces[count++] = {const_cast<char*>(bytes.data()), bytes.size()};
  }
  return count;
}

void Outbox::consume(std::size_t count) {
  bytes_ -= count;
  while (count > 0) {
    const std::size_t step = std::min(chunks_[first_].bytes().size() - written_, count);
    count -= step;
    written_ += step;
    if (written_ == chunks_[first_].bytes().size()) {
      if (first_ > 0) chunks_[first_] = Chunk();  // the first one's memory is reused
      chunks_[first_].buffer.reset();
      ++first_;
      written_ = 0;
    }
  }
  if (first_ > most_written_chunks) {  // a peer that always lags a little must not make us grow
    chunks_.erase(chunks_.begin() + 1, chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 1;
  }
  if (bytes_ > 0) return;
  // Keep one block of normal size, so that the next message needs no allocation.
  std::string block = chunks_.empty() ? std::string() : std::move(chunks_.front().copied);
  if (block.capacity() > 2 * full_block) std::string().swap(block);  // an assignment keeps the memory
  block.clear();
  chunks_.clear();
  chunks_.push_back({std::move(block), nullptr, {}});
  first_ = 0;
}

// The block that small pieces go to.
std::string& Outbox::tail() {
  if (chunks_.size() == first_ || chunks_.back().buffer || chunks_.back().whole ||
      chunks_.back().copied.size() >= full_block)
    chunks_.emplace_back();
  return chunks_.back().copied;
}

void Outbox::share(const BufferRef& buffer, std::string_view bytes) {
  chunks_.push_back({{}, buffer, bytes});
  bytes_ += bytes.size();
}

}  // namespace mcpivot
