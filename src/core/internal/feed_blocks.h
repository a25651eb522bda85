// What hashes that work on blocks of 64 bytes have in common: bytes come in pieces of any size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kedge {

// Calls `compress` with each whole block; what is left over stays in `block`, of which `filled`
// bytes are taken.
template <typename Compress>
void feed_blocks(std::span<const std::uint8_t> bytes, std::array<std::uint8_t, 64>& block,
                 std::size_t& filled, Compress compress) {
  while (!bytes.empty()) {
    if (filled == 0 && bytes.size() >= block.size()) {
      compress(bytes.data());
      bytes = bytes.subspan(block.size());
      continue;
    }
    const std::size_t count = std::min(block.size() - filled, bytes.size());
    std::memcpy(block.data() + filled, bytes.data(), count);
    filled += count;
    bytes = bytes.subspan(count);
    if (filled == block.size()) {
      compress(block.data());
      filled = 0;
    }
  }
}

}  // namespace kedge
