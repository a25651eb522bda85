#include "data/internal/buffer_pool.h"

#include <cstdint>
#include <utility>

namespace kedge::data {

Buffer BufferPool::take(std::size_t size_bytes) {
  Buffer memory;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Buffer>& free = free_[size_bytes];
    if (!free.empty()) {
      memory = std::move(free.back());
      free.pop_back();
    }
  }
  if (memory == nullptr) {
    memory = allocate_(size_bytes);
  }
  if (memory == nullptr) {
    return nullptr;
  }
  std::uint8_t* bytes = memory.get();
  return {bytes, [pool = shared_from_this(), size_bytes, memory = std::move(memory)](
                     std::uint8_t*) mutable { pool->give_back(size_bytes, std::move(memory)); }};
}

void BufferPool::give_back(std::size_t size_bytes, Buffer memory) {
  const std::lock_guard lock(mutex_);
  free_[size_bytes].push_back(std::move(memory));
}

}  // namespace kedge::data
