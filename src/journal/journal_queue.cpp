#include "journal/journal_queue.h"

#include <algorithm>
#include <new>

namespace mcpivot {
namespace {

constexpr std::size_t usual_block = 64 * 1024;

}  // namespace

struct JournalQueue::Block {
  std::atomic<std::size_t> filled{0};
  std::atomic<Block*> next{nullptr};
  std::size_t room = 0;

  char* data() { return reinterpret_cast<char*>(this + 1); }

  // Null: there is no memory.
  static Block* make(std::size_t room) {
    void* const memory = ::operator new(sizeof(Block) + room, std::nothrow);
    if (memory == nullptr) return nullptr;
    Block* const block = new (memory) Block();
    block->room = room;
    return block;
  }
  static void free(Block* block) {
    if (block == nullptr) return;
    block->~Block();
    ::operator delete(block);
  }
};

JournalQueue::JournalQueue(std::size_t limit) : limit_(limit), filling_(Block::make(usual_block)) {
  if (filling_ == nullptr) throw std::bad_alloc();
  oldest_ = reading_ = filling_;
}

JournalQueue::~JournalQueue() {
  Block::free(spare_.load(std::memory_order_relaxed));
  while (oldest_ != nullptr) {
    Block* const next = oldest_->next.load(std::memory_order_relaxed);
    Block::free(oldest_);
    oldest_ = next;
  }
}

// --- putting ---------------------------------------------------------------------------------------------

// One that was read already is there for the processor, too: a new one costs a page fault every 4 kB.
JournalQueue::Block* JournalQueue::block_for(std::size_t size) {
  if (size <= usual_block)
    if (Block* const spare = spare_.exchange(nullptr, std::memory_order_acquire)) return spare;
  return Block::make(std::max(size, usual_block));
}

char* JournalQueue::place(std::size_t size) {
  if (filling_->room - placed_ < size) {
    Block* const block = block_for(size);
    if (block == nullptr) return nullptr;
    filling_->next.store(block, std::memory_order_release);
    filling_ = block;
    placed_ = 0;
  }
  char* const at = filling_->data() + placed_;
  placed_ += size;
  put_.store(put_.load(std::memory_order_relaxed) + size, std::memory_order_relaxed);
  return at;
}

void JournalQueue::put_gap(std::int64_t when) {
  const JournalEntry::Head gap{.when = when, .size = missing_};
  const std::size_t size = JournalEntry::size_of(gap);
  char* const at = fits(size) ? place(size) : nullptr;
  if (at == nullptr) return;
  std::memcpy(at, &gap, sizeof gap);
  publish();
  missing_ = 0;
}

char* JournalQueue::room(const JournalEntry::Head& head) {
  // Once something is missing, there is room again only when half of it has been taken: one gap with many
  // messages tells more than many gaps.
  if (missing_ > 0 && bytes() <= limit_ / 2) put_gap(head.when);
  const std::size_t size = JournalEntry::size_of(head);
  char* const at = missing_ == 0 && fits(size) ? place(size) : nullptr;
  if (at == nullptr) {
    ++missing_;
    return nullptr;
  }
  std::memcpy(at, &head, sizeof head);
  return at + sizeof head;
}

// Plain stores: an instruction that locks would wait here for all that was written before it, in the way of a
// message. The compiler must not ask is_asleep() first, though.
void JournalQueue::publish() {
  filling_->filled.store(placed_, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// --- taking ----------------------------------------------------------------------------------------------

std::optional<JournalEntry> JournalQueue::next() {
  while (read_ == reading_->filled.load(std::memory_order_acquire)) {
    Block* const block = reading_->next.load(std::memory_order_acquire);
    if (block == nullptr) return {};
    // It may have been filled further before the next one was begun.
    if (read_ != reading_->filled.load(std::memory_order_acquire)) break;
    reading_ = block;
    read_ = 0;
  }
  const JournalEntry entry = JournalEntry::read(reading_->data() + read_);
  const std::size_t size = JournalEntry::size_of(entry.head);
  read_ += size;
  taken_ += size;
  return entry;
}

void JournalQueue::drop() {
  while (oldest_ != reading_) {
    Block* const done = std::exchange(oldest_, oldest_->next.load(std::memory_order_relaxed));
    if (done->room != usual_block) {
      Block::free(done);
      continue;
    }
    done->filled.store(0, std::memory_order_relaxed);
    done->next.store(nullptr, std::memory_order_relaxed);
    Block::free(spare_.exchange(done, std::memory_order_acq_rel));
  }
  dropped_.store(dropped_.load(std::memory_order_relaxed) + taken_, std::memory_order_relaxed);
  taken_ = 0;
}

bool JournalQueue::sleep() {
  asleep_.store(true, std::memory_order_seq_cst);
  const bool more = read_ != reading_->filled.load(std::memory_order_acquire) ||
                    reading_->next.load(std::memory_order_acquire) != nullptr;
  if (more) wake();
  return !more;
}

}  // namespace mcpivot
