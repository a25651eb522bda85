// Counter-based randomness: every number is a pure function of its key, so any thread, rank or
// restart that asks for the same (seed, epoch, position) gets the same answer.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace kedge {

// The SplitMix64 finaliser: a bijection on 64 bits with good avalanche.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

constexpr std::uint64_t mix_key(std::initializer_list<std::uint64_t> parts) {
  std::uint64_t key = 0;
  for (const std::uint64_t part : parts) {
    key = mix64(key ^ part);
  }
  return key;
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t key) : state_(key) {}

  // NOLINTNEXTLINE(google-explicit-constructor): a list of numbers is not a generator by itself
  explicit constexpr Random(std::initializer_list<std::uint64_t> parts) : state_(mix_key(parts)) {}

  constexpr std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    return mix64(state_);
  }

  // Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Uniform in [0, bound); bound must be positive. The bias is below 2^-64 * bound.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace kedge
