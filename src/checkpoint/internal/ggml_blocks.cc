// A block of Q4_0 is d | 16 bytes, of Q4_1 d | m | 16 bytes, of Q8_0 d | 32 bytes; d and m are F16.
// Of the 4-bit types byte i holds value i in its low half and value i + 16 in its high half.
#include "checkpoint/internal/ggml_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/result.h"

namespace kedge::checkpoint {
namespace {

constexpr std::int64_t kValues = 32;
constexpr std::size_t kHalf = kValues / 2;

enum Number : std::uint32_t { kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ4_1 = 3, kQ8_0 = 8, kBf16 = 30 };

constexpr std::array<GgmlType, 6> kTypes = {{
    {kF32, DType::F32, 1, 4},
    {kF16, DType::F16, 1, 2},
    {kBf16, DType::BF16, 1, 2},
    {kQ4_0, DType::F32, kValues, 18},
    {kQ4_1, DType::F32, kValues, 20},
    {kQ8_0, DType::F32, kValues, 34},
}};

float half_to_float(const std::uint8_t* bytes) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

void unpack_nibbles(const std::uint8_t* bytes, float scale, float shift, float* out) {
  for (std::size_t i = 0; i < kHalf; ++i) {
    out[i] = static_cast<float>(bytes[i] & 0xFU) * scale + shift;
    out[i + kHalf] = static_cast<float>(bytes[i] >> 4U) * scale + shift;
  }
}

}  // namespace

std::optional<GgmlType> find_ggml_type(std::uint32_t number) {
  const auto* const found = std::ranges::find(kTypes, number, &GgmlType::number);
  return found == kTypes.end() ? std::nullopt : std::optional(*found);
}

void unpack_blocks(const GgmlType& type, std::span<const std::uint8_t> blocks,
                   std::span<float> values) {
  const auto step = static_cast<std::size_t>(type.bytes);
  const std::size_t count = blocks.size() / step;
  KEDGE_CHECK(type.is_packed() && values.size() == count * kValues, "blocks are whole");
  for (std::size_t b = 0; b < count; ++b) {
    const std::uint8_t* block = blocks.data() + b * step;
    float* out = values.data() + b * kValues;
    const float scale = half_to_float(block);
    switch (type.number) {
      case kQ4_0:
        unpack_nibbles(block + 2, scale, -8 * scale, out);
        break;
      case kQ4_1:
        unpack_nibbles(block + 4, scale, half_to_float(block + 2), out);
        break;
      default:  // Q8_0
        for (std::size_t i = 0; i < kValues; ++i) {
          out[i] = static_cast<float>(static_cast<std::int8_t>(block[2 + i])) * scale;
        }
    }
  }
}

}  // namespace kedge::checkpoint
