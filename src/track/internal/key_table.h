// Metric names, kept once for the life of a run, so that a log call passes a pointer. Lock-free:
// names are added by compare-and-swap and never removed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace kedge::track {

class KeyTable {
 public:
  KeyTable() = default;
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;
  ~KeyTable();

  // The one copy of the name; null when there are too many names or no memory.
  const std::string* find_or_add(std::string_view key) noexcept;

 private:
  // Twice the names a run may have (a record per layer of a large model fits).
  static constexpr std::size_t kSlots = 16384;

  std::array<std::atomic<const std::string*>, kSlots> slots_ = {};
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace kedge::track
