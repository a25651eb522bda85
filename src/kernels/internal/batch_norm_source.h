// The CUDA source of batch_norm.cc.
// Memory is [rows, C]: a row is a pixel. Sums are those of sum_source.h; elsewhere a thread
// keeps its channels' factors in registers for several rows.
#pragma once

#include <string>

namespace kedge::kernels {

inline const std::string kBatchNormSource = R"cuda(
constexpr int kRowsOfThread = 4;    // of the kernels that sum nothing
constexpr int kRelu = 1;            // device::Activation
constexpr int kGelu = 2;

// work: mean, inverse deviation, scale, shift, each [C]. Sums are of x - x[0], so that a mean far
// from zero does not swallow the variance.
extern "C" __global__ void __launch_bounds__(512)
statistics(const bfloat16* x, int64 rows, int64 channels, float* partial, int* counter, float* work,
           const float* weight, const float* bias, const float* input_bias, float* running_mean,
           float* running_var, int64* batches, float momentum, float eps) {
  const int64 first = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  const Eight origin = load(x + first);
  Eight sum = {};
  Eight squares = {};
  const int64 step = static_cast<int64>(gridDim.y) * kRowsAtOnce;
  int64 row = static_cast<int64>(blockIdx.y) * kRowsAtOnce + threadIdx.x / kLanes;
  for (; row + (kInFlight - 1) * step < rows; row += kInFlight * step) {
    uint4 raw[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      raw[k] = load_raw(x + (row + k * step) * channels + first);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const Eight a = unpack(raw[k]);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float p = a.v[i] - origin.v[i];
        sum.v[i] += p;
        squares.v[i] += p * p;
      }
    }
  }
  for (; row < rows; row += step) {
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

// By the running statistics, for evaluation.
extern "C" __global__ void affine_of_running(float* work, const float* weight, const float* bias,
                                             const float* running_mean, const float* running_var,
                                             int64 channels, float eps) {
  const int64 c = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x;
  const float scale = weight[c] * rsqrtf(running_var[c] + eps);
  work[c] = scale;
  work[channels + c] = bias[c] - running_mean[c] * scale;
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

// A block takes 64 channels; its 32 rows of threads go on by 32.
template <bool is_pooled>
__device__ void apply_rows(const bfloat16* __restrict__ x, const bfloat16* __restrict__ shortcut,
                           bfloat16* __restrict__ y, const float* affine_work, int64 rows,
                           int64 channels, int width, int activation) {
  const int64 channel = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  const Eight scale = load_floats(affine_work + channel);
  const Eight shift = load_floats(affine_work + channels + channel);
  const int64 units = is_pooled ? rows / 4 : rows;
  const int64 begin = static_cast<int64>(blockIdx.y) * 32 * kRowsOfThread + threadIdx.x / kLanes;
#pragma unroll 4
  for (int k = 0; k < kRowsOfThread; ++k) {
    const int64 unit = begin + k * 32;
    if (unit >= units) {
      return;
    }
    const int64 at = unit * channels + channel;
    Eight z;
    if (is_pooled) {
      const int64 start = field_start(unit, width);
      const int64 offsets[4] = {0, 1, width, width + 1};
      z = affine(load(x + start * channels + channel), scale, shift);
#pragma unroll
      for (int p = 1; p < 4; ++p) {
        const Eight other =
            affine(load(x + (start + offsets[p]) * channels + channel), scale, shift);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          z.v[i] = fmaxf(z.v[i], other.v[i]);
        }
      }
    } else {
      z = affine(load(x + at), scale, shift);
      if (shortcut != nullptr) {
        const Eight other = load(shortcut + at);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          z.v[i] += other.v[i];
        }
      }
    }
    if (activation == kRelu) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        z.v[i] = fmaxf(z.v[i], 0.0f);
      }
    } else if (activation == kGelu) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        z.v[i] = gelu(z.v[i]);
      }
    }
    store(y + at, z);
  }
}

// What reaches the normalised value of each pixel: dy times the activation's slope at z. z is the
// result where a shortcut was added, which tells ReLU's slope too, and what x tells by itself
// elsewhere.
__device__ __forceinline__ Eight through(const Eight& dy, const Eight& z, int activation) {
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float passed = activation != kRelu || z.v[i] > 0.0f ? dy.v[i] : 0.0f;
    out.v[i] = activation == kGelu ? passed * gelu_slope(z.v[i]) : passed;
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
template <bool is_pooled>
__device__ void sum_gradients(const bfloat16* x, const bfloat16* dy, const bfloat16* gate,
                              int64 rows, int64 channels, int width, int activation, float* partial,
                              int* counter, const float* work, const float* weight,
                              float* weight_gradient, float* bias_gradient, float* factors) {
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
    for (; row < rows; row += kInFlight * step) {
      uint4 values[kInFlight];
      uint4 gradients[kInFlight];
      uint4 gates[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (row + k * step < rows) {
          const int64 at = (row + k * step) * channels + first;
          values[k] = load_raw(x + at);
          gradients[k] = load_raw(dy + at);
          gates[k] = gate == nullptr ? values[k] : load_raw(gate + at);
        }
      }
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        if (row + k * step < rows) {
          const Eight value = unpack(values[k]);
          const Eight z = gate == nullptr ? affine(value, scale, shift) : unpack(gates[k]);
          const Eight dz = through(unpack(gradients[k]), z, activation);
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            sum.v[i] += dz.v[i];
            product.v[i] += dz.v[i] * (value.v[i] - mean.v[i]);
          }
        }
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

struct Factors {
  Eight a, b, c;
};

__device__ __forceinline__ Eight combine(const Eight& dz, const Eight& x, const Factors& factors) {
  Eight out;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    out.v[i] = factors.a.v[i] * dz.v[i] + factors.b.v[i] * x.v[i] + factors.c.v[i];
  }
  return out;
}

// A block takes 64 channels; its 32 rows of threads go on by 32.
template <bool is_pooled>
__device__ void gradient_rows(const bfloat16* __restrict__ x, const bfloat16* __restrict__ dy,
                              const bfloat16* __restrict__ gate, bfloat16* __restrict__ dx,
                              bfloat16* __restrict__ shortcut_gradient, const float* affine_work,
                              const float* all_factors, int64 rows, int64 channels, int width,
                              int activation) {
  const int64 channel = static_cast<int64>(blockIdx.x) * 64 + threadIdx.x % kLanes * 8;
  const Eight scale = load_floats(affine_work + channel);
  const Eight shift = load_floats(affine_work + channels + channel);
  const Factors factors = {load_floats(all_factors + channel),
                           load_floats(all_factors + channels + channel),
                           load_floats(all_factors + 2 * channels + channel)};
  const int64 units = is_pooled ? rows / 4 : rows;
  const int64 begin = static_cast<int64>(blockIdx.y) * 32 * kRowsOfThread + threadIdx.x / kLanes;
#pragma unroll 2
  for (int k = 0; k < kRowsOfThread; ++k) {
    const int64 unit = begin + k * 32;
    if (unit >= units) {
      return;
    }
    const int64 at = unit * channels + channel;
    const Eight upstream = load(dy + at);
    if (is_pooled) {
      const int64 start = field_start(unit, width);
      const int64 offsets[4] = {0, 1, width, width + 1};
      Eight pixels[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        pixels[p] = load(x + (start + offsets[p]) * channels + channel);
      }
      int which[8];
      find_maximum(pixels, scale, shift, which);
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        Eight dz;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          dz.v[i] = which[i] == p ? upstream.v[i] : 0.0f;
        }
        store(dx + (start + offsets[p]) * channels + channel, combine(dz, pixels[p], factors));
      }
      continue;
    }
    const Eight value = load(x + at);
    const Eight z = gate == nullptr ? affine(value, scale, shift) : load(gate + at);
    const Eight dz = through(upstream, z, activation);
    store(dx + at, combine(dz, value, factors));
    if (shortcut_gradient != nullptr) {
      store(shortcut_gradient + at, dz);
    }
  }
}

// Fields of four pixels need many registers; apart, they cost the others nothing.
#define BOTH(SUFFIX, IS_POOLED)                                                                  \
  extern "C" __global__ void __launch_bounds__(256) apply##SUFFIX(                               \
      const bfloat16* x, const bfloat16* shortcut, bfloat16* y, const float* affine_work,        \
      int64 rows, int64 channels, int width, int activation) {                                     \
    apply_rows<IS_POOLED>(x, shortcut, y, affine_work, rows, channels, width, activation);         \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(512) gradient_sums##SUFFIX(                       \
      const bfloat16* x, const bfloat16* dy, const bfloat16* gate, int64 rows, int64 channels,   \
      int width, int activation, float* partial, int* counter, const float* work,                  \
      const float* weight, float* weight_gradient, float* bias_gradient, float* factors) {       \
    sum_gradients<IS_POOLED>(x, dy, gate, rows, channels, width, activation, partial, counter,     \
                             work, weight, weight_gradient, bias_gradient, factors);             \
  }                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) gradient##SUFFIX(                            \
      const bfloat16* x, const bfloat16* dy, const bfloat16* gate, bfloat16* dx,                 \
      bfloat16* shortcut_gradient, const float* affine_work, const float* factors, int64 rows,   \
      int64 channels, int width, int activation) {                                                 \
    gradient_rows<IS_POOLED>(x, dy, gate, dx, shortcut_gradient, affine_work, factors, rows,     \
                             channels, width, activation);                                         \
  }
BOTH(, false)
BOTH(_pooled, true)
)cuda";

}  // namespace kedge::kernels
