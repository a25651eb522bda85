// What every kernel's source begins with: types and conversions that NVRTC has only in headers,
// which a user's machine may not have.
#pragma once

#include <string>

namespace kedge::gpu {

inline const std::string kCudaPrelude = R"cuda(
using uint8 = unsigned char;
using uint64 = unsigned long long;
using int64 = long long;

struct bfloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(bfloat16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) { return value; }
template <>
__device__ __forceinline__ bfloat16 from_float<bfloat16>(float value) {
  const unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<unsigned short>(0x7fc0)};
  }
  return {static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
)cuda";

}  // namespace kedge::gpu
