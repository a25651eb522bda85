#include "track/internal/key_table.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "core/hash.h"

namespace kedge::track {

KeyTable::~KeyTable() {
  for (auto& slot : slots_) {
    delete slot.load(std::memory_order_relaxed);
  }
}

const std::string* KeyTable::find_or_add(std::string_view key) noexcept {
  std::size_t at = static_cast<std::size_t>(xxh3_64(as_bytes(key))) % kSlots;
  std::unique_ptr<const std::string> fresh;
  for (;;) {
    const std::string* known = slots_[at].load(std::memory_order_acquire);
    if (known == nullptr) {
      if (count_.load(std::memory_order_relaxed) >= kSlots / 2) {
        return nullptr;
      }
      try {
        if (!fresh) {
          fresh = std::make_unique<const std::string>(key);
        }
      } catch (const std::bad_alloc&) {
        return nullptr;
      }
      if (slots_[at].compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) {
        count_.fetch_add(1, std::memory_order_relaxed);
        return fresh.release();
      }
    }
    if (*known == key) {
      return known;
    }
    at = (at + 1) % kSlots;
  }
}

}  // namespace kedge::track
