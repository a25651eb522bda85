// Numbers as an event log's frames hold them: docs/formats/klog.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kedge::track {

inline std::uint32_t u32_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[offset + i])) << (8 * i);
  }
  return value;
}

}  // namespace kedge::track
