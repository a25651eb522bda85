// What every kernel's source begins with: types and conversions that NVRTC has only in headers,
// which a user's machine may not have.
#pragma once

#include <string>

namespace kedge::kernels {

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

// Two values in a word.
__device__ __forceinline__ unsigned pack(float low, float high) {
#ifdef __CUDA_ARCH__
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else  // device/emulated_plugin.h
  return from_float<bfloat16>(low).bits |
         static_cast<unsigned>(from_float<bfloat16>(high).bits) << 16;
#endif
}

// Eight values are what a thread moves at once: 16 bytes of bfloat16.
struct Eight {
  float v[8];
};

__device__ __forceinline__ uint4 load_raw(const bfloat16* from) {
  return *reinterpret_cast<const uint4*>(from);
}

__device__ __forceinline__ Eight unpack(const uint4& raw) {
  const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
  Eight out;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out.v[2 * i] = __uint_as_float(words[i] << 16);
    out.v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
  return out;
}

__device__ __forceinline__ Eight load(const bfloat16* from) { return unpack(load_raw(from)); }

__device__ __forceinline__ void store(bfloat16* to, const Eight& value) {
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] = pack(value.v[2 * i], value.v[2 * i + 1]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ Eight load_floats(const float* from) {
  const float4 a = reinterpret_cast<const float4*>(from)[0];
  const float4 b = reinterpret_cast<const float4*>(from)[1];
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

__device__ __forceinline__ void store_floats(float* to, const Eight& value) {
  reinterpret_cast<float4*>(to)[0] =
      make_float4(value.v[0], value.v[1], value.v[2], value.v[3]);
  reinterpret_cast<float4*>(to)[1] =
      make_float4(value.v[4], value.v[5], value.v[6], value.v[7]);
}

// Of the normal distribution: the share below x, and the density there. Both need the same
// exponential: the share is Abramowitz and Stegun's 7.1.26, right to 1e-7, at half of erff's cost.
struct Normal {
  float below, density;
};

__device__ __forceinline__ Normal normal_at(float x) {
  const float z = fabsf(x) * 0.70710678f;
  const float bell = __expf(-z * z);
  const float t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
  const float sum =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * bell * sum;
  return {x > 0 ? 1.0f - tail : tail, 0.39894228f * bell};
}

__device__ __forceinline__ float gelu(float x) {
  return x * normal_at(x).below;
}

__device__ __forceinline__ float gelu_slope(float x) {
  const Normal normal = normal_at(x);
  return normal.below + x * normal.density;
}

__device__ __forceinline__ float sum_of_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}
)cuda";

}  // namespace kedge::kernels
