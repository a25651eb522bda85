// CUDA source for sums over the rows of a matrix [rows, C] of bfloat16. A block of 512 threads
// takes 64 channels: 8 threads with 8 channels each side by side, 64 such rows at a time, four of
// those in flight. Blocks of one tile of channels leave partial sums; the last to finish adds them
// up in a fixed order, so that results never vary.
#pragma once

#include <cstdint>
#include <string>

namespace kedge::kernels {

inline constexpr std::int64_t kTile = 64;     // channels of a block of the summing kernels
inline constexpr unsigned kSumThreads = 512;  // 8 channels each, 64 rows side by side

inline const std::string kSumSource = R"cuda(
constexpr int kLanes = 8;           // threads across a tile of 64 channels
constexpr int kRowsAtOnce = 64;     // 512 / kLanes
constexpr int kInFlight = 4;        // loads that a summing thread waits for together
constexpr int kWarps = 16;

// Sums `first` and `second` of a block's threads per channel, leaves them in `partial`
// [blocks, 2, C], and in the last block of the tile returns the sums over all blocks for channel
// `threadIdx.x` < 64 of the tile. True in that block.
__device__ bool sum_over_rows(const Eight& first, const Eight& second, float* partial,
                              int* counter, int64 channels, float* total) {
  __shared__ float shared[kWarps][2][64];
  __shared__ bool is_last;
  const int lane = threadIdx.x % kLanes;
  const int warp = threadIdx.x / 32;
  // The four rows of a warp first, then the warps.
  Eight a = first;
  Eight b = second;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    a.v[i] += __shfl_down_sync(0xffffffffu, a.v[i], 16);
    b.v[i] += __shfl_down_sync(0xffffffffu, b.v[i], 16);
    a.v[i] += __shfl_down_sync(0xffffffffu, a.v[i], 8);
    b.v[i] += __shfl_down_sync(0xffffffffu, b.v[i], 8);
  }
  if (threadIdx.x % 32 < kLanes) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      shared[warp][0][lane * 8 + i] = a.v[i];
      shared[warp][1][lane * 8 + i] = b.v[i];
    }
  }
  __syncthreads();
  const int64 tile = static_cast<int64>(blockIdx.x) * 64;
  if (threadIdx.x < 128) {
    const int which = threadIdx.x / 64;
    const int channel = threadIdx.x % 64;
    float sum = 0;
    for (int w = 0; w < kWarps; ++w) {
      sum += shared[w][which][channel];
    }
    partial[(static_cast<int64>(blockIdx.y) * 2 + which) * channels + tile + channel] = sum;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&counter[blockIdx.x], 1) == gridDim.y - 1;
  }
  __syncthreads();
  if (!is_last) {
    return false;
  }
  __threadfence();
  // Four groups of 128 threads add every fourth block's sums.
  const int group = threadIdx.x / 128;
  const int which = threadIdx.x % 128 / 64;
  const int channel = threadIdx.x % 64;
  float sum = 0;
#pragma unroll 8
  for (int block = group; block < gridDim.y; block += 4) {
    sum += __ldcg(&partial[(static_cast<int64>(block) * 2 + which) * channels + tile + channel]);
  }
  shared[group][which][channel] = sum;
  __syncthreads();
  if (threadIdx.x < 64) {
    for (int part = 0; part < 2; ++part) {
      float all = 0;
      for (int g = 0; g < 4; ++g) {
        all += shared[g][part][threadIdx.x];
      }
      total[part] = all;
    }
  }
  if (threadIdx.x == 0) {
    counter[blockIdx.x] = 0;
  }
  return true;
}
)cuda";

}  // namespace kedge::kernels
