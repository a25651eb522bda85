#include "search/internal/sobol.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/random.h"
#include "search/internal/sobol_table.h"

namespace kedge::search {
namespace {

constexpr std::size_t kBits = 32;
using Directions = std::array<std::uint32_t, kBits>;

// Bratley and Fox's recurrence (TOMS algorithm 659).
constexpr Directions directions_of(const SobolRow& row) {
  Directions v{};
  const auto degree = static_cast<std::size_t>(std::bit_width(row.polynomial)) - 1;
  for (std::size_t i = 0; i < kBits; ++i) {
    if (i < degree) {
      v[i] = static_cast<std::uint32_t>(row.m[i]) << (kBits - 1 - i);
      continue;
    }
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (std::size_t k = 1; k < degree; ++k) {
      if (((row.polynomial >> (degree - k)) & 1U) != 0) {
        v[i] ^= v[i - k];
      }
    }
  }
  return v;
}

constexpr auto kDirections = [] {
  std::array<Directions, kSobolRows.size() + 1> all{};
  for (std::size_t i = 0; i < kBits; ++i) {
    all[0][i] = 1U << (kBits - 1 - i);
  }
  for (std::size_t d = 0; d < kSobolRows.size(); ++d) {
    all[d + 1] = directions_of(kSobolRows[d]);
  }
  return all;
}();

}  // namespace

std::size_t sobol_dimensions() {
  return kDirections.size();
}

std::uint32_t sobol_bits(std::uint32_t index, std::size_t dimension) {
  std::uint32_t bits = 0;
  std::uint32_t gray = index ^ (index >> 1U);
  for (std::size_t i = 0; gray != 0; ++i, gray >>= 1U) {
    if ((gray & 1U) != 0) {
      bits ^= kDirections[dimension][i];
    }
  }
  return bits;
}

double scrambled_sobol(std::uint32_t index, std::size_t dimension, std::uint64_t seed) {
  const std::uint32_t bits = sobol_bits(index, dimension);
  std::uint32_t scrambled = 0;
  for (std::size_t i = 0; i < kBits; ++i) {
    // The digits before this one, with a 1 in front so that 0 and 00 differ.
    const std::uint64_t prefix = (1ULL << i) | (i == 0 ? 0 : bits >> (kBits - i));
    const auto flip = static_cast<std::uint32_t>(mix_key({seed, dimension, prefix}) >> 63U);
    scrambled |= (((bits >> (kBits - 1 - i)) & 1U) ^ flip) << (kBits - 1 - i);
  }
  return (static_cast<double>(scrambled) + 0.5) * 0x1.0p-32;
}

}  // namespace kedge::search
