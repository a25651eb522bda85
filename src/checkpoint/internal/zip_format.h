// What the reader and the writer of zip files both know of PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge::checkpoint {

inline constexpr std::size_t kLocalBytes = 30;
inline constexpr std::uint16_t kZip64Extra = 1;
inline constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // "the real value is in the zip64 field"

}  // namespace kedge::checkpoint
