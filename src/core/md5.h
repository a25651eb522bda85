// MD5 (RFC 1321), streaming. Not for secrets, and not for our own checks: others name their files
// by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kedge {

class Md5 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  // 16 bytes; the object must not be used afterwards.
  std::array<std::uint8_t, 16> finish();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 4> state_ = {0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace kedge
