// A bounded queue for many producers and one consumer that never blocks: each slot's turn counter
// says whether it is free, full or being filled (Vyukov's bounded queue).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/result.h"

namespace kedge::track {

template <typename T>
class Ring {
 public:
  // `capacity` must be a power of two.
  explicit Ring(std::size_t capacity)
      : mask_(capacity - 1), slots_(std::make_unique<Slot[]>(capacity)) {
    KEDGE_CHECK((capacity & mask_) == 0, "a ring's capacity is a power of two");
    for (std::size_t i = 0; i < capacity; ++i) {
      slots_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  std::size_t capacity() const { return mask_ + 1; }

  // How many slots producers have claimed and the consumer has read. popped(): consumer only.
  std::uint64_t pushed() const { return head_.load(std::memory_order_acquire); }

  std::uint64_t popped() const { return tail_; }

  // Lets `fill` write into a free slot. Returns the position, or -1 when the ring is full.
  template <typename Fill>
  std::int64_t push(Fill&& fill) noexcept {
    std::uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position & mask_];
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == position) {
        if (head_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
          fill(slot.value);
          slot.turn.store(position + 1, std::memory_order_release);
          return static_cast<std::int64_t>(position);
        }
      } else if (turn < position) {
        return -1;
      } else {
        position = head_.load(std::memory_order_relaxed);
      }
    }
  }

  // Consumer only. Lets `take` read the oldest slot; false when there is none.
  template <typename Take>
  bool pop(Take&& take) {
    Slot& slot = slots_[tail_ & mask_];
    if (slot.turn.load(std::memory_order_acquire) != tail_ + 1) {
      return false;
    }
    take(slot.value);
    slot.turn.store(tail_ + capacity(), std::memory_order_release);
    ++tail_;
    return true;
  }

 private:
  static constexpr std::size_t kCacheLine = 64;

  struct Slot {
    std::atomic<std::uint64_t> turn;
    T value;
  };

  std::size_t mask_;
  std::unique_ptr<Slot[]> slots_;
  alignas(kCacheLine) std::atomic<std::uint64_t> head_ = 0;
  alignas(kCacheLine) std::uint64_t tail_ = 0;
};

}  // namespace kedge::track
