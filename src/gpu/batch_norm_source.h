// The CUDA source of gpu/batch_norm.cc.
// Memory is [rows, C]: a row is a pixel. A summing block takes 64 channels: 8 threads with 8
// channels each side by side, 128 such rows at a time. Blocks of one tile of channels leave partial
// sums; the last to finish adds them up in a fixed order, so that results never vary.
#pragma once

#include <string>

namespace kedge::gpu {

inline const std::string kBatchNormSource = R"cuda(
constexpr int kLanes = 8;           // threads across a tile of 64 channels
constexpr int kRowsAtOnce = 128;    // 1024 / kLanes

// Sums `first` and `second` of a block's threads per channel, leaves them in `partial`
// [blocks, 2, C], and in the last block of the tile returns the sums over all blocks for channel
// `threadIdx.x` < 64 of the tile. True in that block.
__device__ bool sum_over_rows(const Eight& first, const Eight& second, float* partial,
                              int* counter, int64 channels, float* total) {
  __shared__ float shared[32][2][64];
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
    for (int w = 0; w < 32; ++w) {
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
  // 8 groups of 128 threads add every eighth block's sums.
  const int group = threadIdx.x / 128;
  const int which = threadIdx.x % 128 / 64;
  const int channel = threadIdx.x % 64;
  float sum = 0;
  for (int block = group; block < gridDim.y; block += 8) {
    sum += __ldcg(&partial[(static_cast<int64>(block) * 2 + which) * channels + tile + channel]);
  }
  shared[group][which][channel] = sum;
  __syncthreads();
  if (threadIdx.x < 64) {
    for (int part = 0; part < 2; ++part) {
      float all = 0;
      for (int g = 0; g < 8; ++g) {
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

// work: mean, inverse deviation, scale, shift, each [C]. Sums are of x - x[0], so that a mean far
// from zero does not swallow the variance.
extern "C" __global__ void __launch_bounds__(1024)
statistics(const bfloat16* x, int64 rows, int64 channels, float* partial, int* counter, float* work,
           const float* weight, const float* bias, const float* input_bias, float* running_mean,
           float* running_var, int64* batches, float momentum, float eps) {
  const int64 first = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  const Eight origin = load(x + first);
  Eight sum = {};
  Eight squares = {};
  const int64 step = static_cast<int64>(gridDim.y) * kRowsAtOnce;
  int64 row = static_cast<int64>(blockIdx.y) * kRowsAtOnce + threadIdx.x / kLanes;
  for (; row + step < rows; row += 2 * step) {
    const Eight a = load(x + row * channels + first);
    const Eight b = load(x + (row + step) * channels + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float p = a.v[i] - origin.v[i];
      const float q = b.v[i] - origin.v[i];
      sum.v[i] += p + q;
      squares.v[i] += p * p + q * q;
    }
  }
  if (row < rows) {
    const Eight a = load(x + row * channels + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float p = a.v[i] - origin.v[i];
      sum.v[i] += p;
      squares.v[i] += p * p;
    }
  }
  float total[2];
  if (!sum_over_rows(sum, squares, partial, counter, channels, total) || threadIdx.x >= 64) {
    return;
  }
  const int64 c = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x;
  const float count = static_cast<float>(rows);
  const float offset = total[0] / count;
  const float mean = to_float(x[c]) + offset;
  const float variance = fmaxf(total[1] / count - offset * offset, 0.0f);
  const float inverse = rsqrtf(variance + eps);
  const float scale = weight[c] * inverse;
  work[c] = mean;
  work[channels + c] = inverse;
  work[2 * channels + c] = scale;
  work[3 * channels + c] = bias[c] - mean * scale;
  const float shown = mean + (input_bias == nullptr ? 0.0f : input_bias[c]);
  running_mean[c] += momentum * (shown - running_mean[c]);
  running_var[c] += momentum * (variance * (count / (count - 1.0f)) - running_var[c]);
  if (c == 0) {
    *batches += 1;
  }
}

// The first row of a field of four; the others are one to the right, one below, and both.
__device__ __forceinline__ int64 field_start(int64 field, int width) {
  const int half = width / 2;
  const int64 line = field / half;
  return line * 2 * width + field % half * 2;
}

__device__ __forceinline__ Eight affine(const Eight& x, const Eight& scale, const Eight& shift) {
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out.v[i] = x.v[i] * scale.v[i] + shift.v[i];
  }
  return out;
}

extern "C" __global__ void apply(const bfloat16* x, const bfloat16* shortcut, bfloat16* y,
                                 const float* affine_work, int64 rows, int64 channels, int width,
                                 int has_relu, int is_pooled) {
  const int64 vectors = channels / 8;
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64 units = (is_pooled ? rows / 4 : rows) * vectors;
  if (unit >= units) {
    return;
  }
  const int64 channel = unit % vectors * 8;
  const Eight scale = load_floats(affine_work + channel);
  const Eight shift = load_floats(affine_work + channels + channel);
  if (is_pooled) {
    const int64 start = field_start(unit / vectors, width);
    const int64 offsets[4] = {0, 1, width, width + 1};
    Eight best;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const Eight z = affine(load(x + (start + offsets[k]) * channels + channel), scale, shift);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        best.v[i] = k == 0 ? fmaxf(z.v[i], 0.0f) : fmaxf(best.v[i], z.v[i]);
      }
    }
    store(y + unit * 8, best);
    return;
  }
  Eight z = affine(load(x + unit * 8), scale, shift);
  if (shortcut != nullptr) {
    const Eight other = load(shortcut + unit * 8);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      z.v[i] += other.v[i];
    }
  }
  if (has_relu) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      z.v[i] = fmaxf(z.v[i], 0.0f);
    }
  }
  store(y + unit * 8, z);
}

// What reaches the normalised value of each pixel: dy where ReLU let through. `gate` is the
// result where a shortcut was added, and null where x tells by itself.
__device__ __forceinline__ Eight through(const Eight& x, const Eight& dy, const bfloat16* gate,
                                         const Eight& scale, const Eight& shift, int has_relu) {
  if (!has_relu) {
    return dy;
  }
  const Eight z = gate == nullptr ? affine(x, scale, shift) : load(gate);
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out.v[i] = z.v[i] > 0.0f ? dy.v[i] : 0.0f;
  }
  return out;
}

// Which pixel of a field the maximum came from, per channel; 4: none was above zero. The first of
// equals, as in PyTorch.
__device__ __forceinline__ void find_maximum(const Eight* x, const Eight& scale,
                                             const Eight& shift, int* which) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float best = 0.0f;
    which[i] = 4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float z = x[k].v[i] * scale.v[i] + shift.v[i];
      if (z > best) {
        best = z;
        which[i] = k;
      }
    }
  }
}

// factors: a, b, c of dx = a dz + b x + c.
extern "C" __global__ void __launch_bounds__(1024)
gradient_sums(const bfloat16* x, const bfloat16* dy, const bfloat16* gate, int64 rows,
              int64 channels, int width, int has_relu, int is_pooled, float* partial, int* counter,
              const float* work, const float* weight, float* weight_gradient, float* bias_gradient,
              float* factors) {
  const int64 first = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  const Eight mean = load_floats(work + first);
  const Eight scale = load_floats(work + 2 * channels + first);
  const Eight shift = load_floats(work + 3 * channels + first);
  Eight sum = {};
  Eight product = {};  // of dz and x - mean
  const int64 step = static_cast<int64>(gridDim.y) * kRowsAtOnce;
  int64 row = static_cast<int64>(blockIdx.y) * kRowsAtOnce + threadIdx.x / kLanes;
  if (is_pooled) {
    for (; row < rows / 4; row += step) {
      const int64 start = field_start(row, width);
      const Eight pixels[4] = {load(x + start * channels + first),
                               load(x + (start + 1) * channels + first),
                               load(x + (start + width) * channels + first),
                               load(x + (start + width + 1) * channels + first)};
      const Eight gradient = load(dy + row * channels + first);
      int which[8];
      find_maximum(pixels, scale, shift, which);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (which[i] == k) {
            sum.v[i] += gradient.v[i];
            product.v[i] += gradient.v[i] * (pixels[k].v[i] - mean.v[i]);
          }
        }
      }
    }
  } else {
    for (; row < rows; row += step) {
      const int64 at = row * channels + first;
      const Eight value = load(x + at);
      const Eight dz = through(value, load(dy + at), gate == nullptr ? nullptr : gate + at, scale,
                               shift, has_relu);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum.v[i] += dz.v[i];
        product.v[i] += dz.v[i] * (value.v[i] - mean.v[i]);
      }
    }
  }
  float total[2];
  if (!sum_over_rows(sum, product, partial, counter, channels, total) || threadIdx.x >= 64) {
    return;
  }
  const int64 c = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x;
  const float inverse = work[channels + c];
  const float count = static_cast<float>(rows);
  weight_gradient[c] = total[1] * inverse;
  bias_gradient[c] = total[0];
  const float a = weight[c] * inverse;
  const float b = -a * inverse * inverse * total[1] / count;
  factors[c] = a;
  factors[channels + c] = b;
  factors[2 * channels + c] = -a * total[0] / count - b * work[c];
}

__device__ __forceinline__ Eight combine(const Eight& dz, const Eight& x, const float* factors,
                                         int64 channels, int64 channel) {
  const Eight a = load_floats(factors + channel);
  const Eight b = load_floats(factors + channels + channel);
  const Eight c = load_floats(factors + 2 * channels + channel);
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out.v[i] = a.v[i] * dz.v[i] + b.v[i] * x.v[i] + c.v[i];
  }
  return out;
}

extern "C" __global__ void gradient(const bfloat16* x, const bfloat16* dy, const bfloat16* gate,
                                    bfloat16* dx, bfloat16* shortcut_gradient,
                                    const float* affine_work, const float* factors, int64 rows,
                                    int64 channels, int width, int has_relu, int is_pooled) {
  const int64 vectors = channels / 8;
  const int64 unit = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64 units = (is_pooled ? rows / 4 : rows) * vectors;
  if (unit >= units) {
    return;
  }
  const int64 channel = unit % vectors * 8;
  const Eight scale = load_floats(affine_work + channel);
  const Eight shift = load_floats(affine_work + channels + channel);
  if (is_pooled) {
    const int64 start = field_start(unit / vectors, width);
    const int64 offsets[4] = {0, 1, width, width + 1};
    Eight pixels[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      pixels[k] = load(x + (start + offsets[k]) * channels + channel);
    }
    const Eight gradient = load(dy + unit * 8);
    int which[8];
    find_maximum(pixels, scale, shift, which);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      Eight dz;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        dz.v[i] = which[i] == k ? gradient.v[i] : 0.0f;
      }
      store(dx + (start + offsets[k]) * channels + channel,
            combine(dz, pixels[k], factors, channels, channel));
    }
    return;
  }
  const Eight value = load(x + unit * 8);
  const Eight dz = through(value, load(dy + unit * 8), gate == nullptr ? nullptr : gate + unit * 8,
                           scale, shift, has_relu);
  store(dx + unit * 8, combine(dz, value, factors, channels, channel));
  if (shortcut_gradient != nullptr) {
    store(shortcut_gradient + unit * 8, dz);
  }
}
)cuda";

}  // namespace kedge::gpu
