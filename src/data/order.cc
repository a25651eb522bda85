#include "data/order.h"

#include <bit>
#include <cstdint>

#include "core/random.h"
#include "core/result.h"

namespace kedge::data {
namespace {

// Eight rounds: four make a Feistel network a strong permutation for large halves; small sets
// have halves of a few bits, where more rounds are needed to look uniform.
constexpr std::uint64_t kRounds = 8;

constexpr std::uint64_t low_mask(unsigned bits) {
  return (std::uint64_t{1} << bits) - 1;
}

// A bijection on [0, 2^bits), by an unbalanced Feistel network: each round changes one part by a
// function of the other, which can always be undone.
std::uint64_t feistel(std::uint64_t x, unsigned bits, std::uint64_t key) {
  const unsigned low_bits = bits / 2;
  std::uint64_t low = x & low_mask(low_bits);
  std::uint64_t high = x >> low_bits;
  for (std::uint64_t round = 0; round < kRounds; round += 2) {
    high ^= mix64(key ^ (round << 56U) ^ low) & low_mask(bits - low_bits);
    low ^= mix64(key ^ ((round + 1) << 56U) ^ high) & low_mask(low_bits);
  }
  return (high << low_bits) | low;
}

}  // namespace

std::int64_t permuted(std::int64_t count, std::uint64_t seed, std::uint64_t epoch,
                      std::int64_t position) {
  KEDGE_CHECK(position >= 0 && position < count, "a position lies inside its epoch");
  const auto size = static_cast<std::uint64_t>(count);
  const auto bits = static_cast<unsigned>(std::bit_width(size - 1));
  const std::uint64_t key = mix_key({seed, epoch});
  auto x = static_cast<std::uint64_t>(position);
  // Cycle walking: what falls outside the set is permuted again. The domain is less than twice
  // the set, so this takes less than two turns on average.
  do {
    x = feistel(x, bits, key);
  } while (x >= size);
  return static_cast<std::int64_t>(x);
}

}  // namespace kedge::data
