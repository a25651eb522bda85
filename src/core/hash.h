// Hashes: XXH3 for our own integrity checks, CRC-32C for log frames, SHA-256 where others ask.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kedge {

std::uint64_t xxh3_64(std::span<const std::uint8_t> bytes);

inline std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Streaming XXH3 (128 bits) for digests that name content: data sets, configs.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  void add(std::span<const std::uint8_t> bytes);

  void add(std::string_view text) { add(as_bytes(text)); }

  // "xxh3:" and 32 hex digits.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// CRC-32C (Castagnoli), continuing from `crc` so that a frame can be summed in parts.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0);

// FIPS 180-4, streaming. Not for secrets: it is for checking what others published.
class Sha256 {
 public:
  Sha256();
  void add(std::span<const std::uint8_t> bytes);
  // 64 hex digits; the object must not be used afterwards.
  std::string finish_hex();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace kedge
