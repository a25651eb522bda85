// What kernels know of matrices in 4 bits (device::Nf4Matrix).
#pragma once

namespace kedge::kernels {

// Sums and products are rounded apart, as the plain operations do it.
inline constexpr char kNf4Source[] = R"cuda(
__device__ const float kNf4Entries[16] = {
    -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
    -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
    0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
    0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

// Into shared memory, for the whole block.
__device__ __forceinline__ void copy_nf4_entries(float* entries) {
  if (threadIdx.x < 16) {
    entries[threadIdx.x] = kNf4Entries[threadIdx.x];
  }
  __syncthreads();
}

// `exact`, or `codes` and what they are numbers of; the others are null.
struct Nf4Scales {
  const float* exact;
  const uint8* codes;
  const float* nested_scales;
  const float* nested_table;
  const float* offset;

  __device__ __forceinline__ float of_block(int64 block) const {
    return exact != nullptr
               ? exact[block]
               : __fadd_rn(__fmul_rn(nested_table[codes[block]], nested_scales[block / 256]),
                           *offset);
  }
};

__device__ __forceinline__ Eight nf4_values(unsigned word, float scale, const float* entries) {
  Eight value;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned byte = word >> (8 * i) & 0xffu;
    value.v[2 * i] = entries[byte >> 4] * scale;
    value.v[2 * i + 1] = entries[byte & 15u] * scale;
  }
  return value;
}
)cuda";

}  // namespace kedge::kernels
