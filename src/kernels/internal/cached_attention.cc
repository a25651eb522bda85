#include "kernels/internal/cached_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <torch/types.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"
#include "kernels/internal/rows.h"

namespace kedge::kernels {
namespace {

constexpr unsigned kAttendThreads = 128;
constexpr std::int64_t kMostHeads = 8;  // of one head of keys
constexpr std::int64_t kMostWidth = 256;
// A text is divided among blocks: too few leave the device idle, too many are slow to combine.
constexpr std::int64_t kTokensOfBlock = 16;
constexpr std::int64_t kMostParts = 32;
constexpr std::int64_t kMostKeyHeads = 4096;  // of all texts

// Threads stand in slots, as many in each as a head's width needs; a slot looks at one token after
// the other with a running softmax, for all heads that share the keys.
constexpr char kCachedAttentionSource[] = R"cuda(
constexpr float kLowest = -3.0e38f;

struct Cached {
  const bfloat16* q;  // [texts, heads, width]; stride from text to text
  int64 q_stride;
  const bfloat16* k;  // of the new tokens
  int64 k_stride;
  const bfloat16* v;
  int64 v_stride;
  bfloat16* keys;  // [texts, key heads, room, width]
  bfloat16* values;
  const int64* places;  // of the new tokens
  int64 key_heads;
  int64 group;
  int64 room;
  int64 width;
  int64 window;
  float scale;
  float* partial;  // [texts, heads, parts, width + 2]: sums, their weight, the highest score
  int* counters;   // of finished blocks, for each key head of each text
  bfloat16* out;   // [texts, heads, width]
};

// Of several running softmaxes: the highest score, and what each is worth beside it in the place of
// its own highest.
__device__ __forceinline__ float fade(float* highest, int count) {
  float top = kLowest;
  for (int i = 0; i < count; ++i) {
    top = highest[i] > top ? highest[i] : top;
  }
  for (int i = 0; i < count; ++i) {
    highest[i] = __expf(highest[i] - top);
  }
  return top;
}

// The last block of a text's key head joins what all of them have found.
__device__ __forceinline__ void combine(const Cached& c) {
  if (threadIdx.x == 0) {
    c.counters[blockIdx.x] = 0;
  }
  __shared__ float fadings[8 * 32];  // [heads, parts]
  __shared__ float weights[8 * 32];
  const int parts = gridDim.y;
  const int64 stride = c.width + 2;
  const float* own = c.partial + blockIdx.x * c.group * parts * stride;
  for (int at = threadIdx.x; at < c.group * parts; at += 128) {
    weights[at] = __ldcg(own + at * stride + c.width);
    fadings[at] = __ldcg(own + at * stride + c.width + 1);
  }
  __syncthreads();
  if (threadIdx.x < c.group) {
    float* its = fadings + threadIdx.x * parts;
    fade(its, parts);
    float whole = 0.0f;
    for (int p = 0; p < parts; ++p) {
      whole += weights[threadIdx.x * parts + p] * its[p];
    }
    for (int p = 0; p < parts; ++p) {
      its[p] = __fdividef(its[p], whole);
    }
  }
  __syncthreads();
  for (int at = threadIdx.x; at < c.group * c.width; at += 128) {
    const int g = at / static_cast<int>(c.width);
    const int d = at % static_cast<int>(c.width);
    float sum = 0.0f;
#pragma unroll 8
    for (int p = 0; p < parts; ++p) {
      sum += __ldcg(own + (g * parts + p) * stride + d) * fadings[g * parts + p];
    }
    c.out[(blockIdx.x * c.group + g) * c.width + d] = from_float<bfloat16>(sum);
  }
}

template <int kGroup>
__device__ __forceinline__ void attend(const Cached& c) {
  const int64 text = blockIdx.x / c.key_heads;
  const int64 key_head = blockIdx.x % c.key_heads;
  const int64 place = c.places[text] < c.room ? c.places[text] : c.room - 1;
  const int64 from = c.window > 0 && place + 1 > c.window ? place + 1 - c.window : 0;
  const int64 length = (place + 1 - from + gridDim.y - 1) / gridDim.y;
  const int64 begin = from + blockIdx.y * length;
  const int64 end = begin + length < place + 1 ? begin + length : place + 1;
  const int lanes = static_cast<int>(c.width / 8);
  const int slots = 128 / lanes;
  const int slot = threadIdx.x / lanes;
  const int column = threadIdx.x % lanes * 8;
  const int64 cache = static_cast<int64>(blockIdx.x) * c.room * c.width + column;
  const int64 own = key_head * c.width + column;

  Eight q[kGroup];
  Eight sum[kGroup] = {};
  float highest[kGroup];
  float weight[kGroup] = {};
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    const int64 head = key_head * c.group + (g < c.group ? g : 0);
    q[g] = load(c.q + text * c.q_stride + head * c.width + column);
    highest[g] = kLowest;
  }
  for (int64 first = begin; first < end; first += slots) {
    const int64 token = first + slot;
    const bool is_there = token < end;
    const bool is_new = token == place;
    const bfloat16* key = is_new ? c.k + text * c.k_stride + own : c.keys + cache + token * c.width;
    const bfloat16* value =
        is_new ? c.v + text * c.v_stride + own : c.values + cache + token * c.width;
    const uint4 raw_key = is_there ? load_raw(key) : make_uint4(0, 0, 0, 0);
    const uint4 raw_value = is_there ? load_raw(value) : make_uint4(0, 0, 0, 0);
    if (is_there && is_new) {
      *reinterpret_cast<uint4*>(c.keys + cache + token * c.width) = raw_key;
      *reinterpret_cast<uint4*>(c.values + cache + token * c.width) = raw_value;
    }
    const Eight k = unpack(raw_key);
    const Eight v = unpack(raw_value);
#pragma unroll
    for (int g = 0; g < kGroup; ++g) {
      float score = 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        score += q[g].v[i] * k.v[i];
      }
      for (int offset = lanes / 2; offset > 0; offset /= 2) {
        score += __shfl_xor_sync(0xffffffffu, score, offset);
      }
      score = is_there ? score * c.scale : kLowest;
      const float top = score > highest[g] ? score : highest[g];
      const float fading = __expf(highest[g] - top);
      const float share = is_there ? __expf(score - top) : 0.0f;
      highest[g] = top;
      weight[g] = weight[g] * fading + share;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sum[g].v[i] = sum[g].v[i] * fading + share * v.v[i];
      }
    }
  }

  alignas(16) __shared__ float sums[kGroup * 1024];  // [heads, slots, width]
  __shared__ float weights[kGroup * 128];  // [heads, slots]
  __shared__ float fadings[kGroup * 128];
#pragma unroll
  for (int g = 0; g < kGroup; ++g) {
    store_floats(sums + (g * slots + slot) * c.width + column, sum[g]);
    if (column == 0) {
      weights[g * slots + slot] = weight[g];
      fadings[g * slots + slot] = highest[g];
    }
  }
  __syncthreads();
  const int64 heads = kGroup < c.group ? kGroup : c.group;
  float* out = c.partial + (blockIdx.x * c.group * gridDim.y + blockIdx.y) * (c.width + 2);
  const int64 stride = gridDim.y * (c.width + 2);
  if (threadIdx.x < heads) {
    const int g = threadIdx.x;
    out[g * stride + c.width + 1] = fade(fadings + g * slots, slots);
    float whole = 0.0f;
    for (int s = 0; s < slots; ++s) {
      whole += weights[g * slots + s] * fadings[g * slots + s];
    }
    out[g * stride + c.width] = whole;
  }
  __syncthreads();
  for (int at = threadIdx.x; at < heads * c.width; at += 128) {
    const int g = at / static_cast<int>(c.width);
    const int d = at % static_cast<int>(c.width);
    float whole = 0.0f;
#pragma unroll 8
    for (int s = 0; s < slots; ++s) {
      whole += sums[(g * slots + s) * c.width + d] * fadings[g * slots + s];
    }
    out[g * stride + d] = whole;
  }
  __shared__ int is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(&c.counters[blockIdx.x], 1) == gridDim.y - 1;
  }
  __syncthreads();
  if (is_last != 0) {
    combine(c);
  }
}
)cuda";

std::string source_for_group(unsigned group) {
  return fmt::format(R"cuda(
extern "C" __global__ void __launch_bounds__(128)
attend_{0}(const bfloat16* q, int64 q_stride, const bfloat16* k, int64 k_stride, const bfloat16* v,
           int64 v_stride, bfloat16* keys, bfloat16* values, const int64* places, int64 key_heads,
           int64 group, int64 room, int64 width, int64 window, float scale, float* partial,
           int* counters, bfloat16* out) {{
  attend<{0}>({{q, q_stride, k, k_stride, v, v_stride, keys, values, places, key_heads, group, room,
               width, window, scale, partial, counters, out}});
}}
)cuda",
                     group);
}

// [texts, heads, 1, width] whose heads lie side by side.
bool has_heads(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 && x.size(2) == 1 && x.stride(3) == 1 &&
         x.stride(1) == x.size(3) && x.stride(0) % kEight == 0;
}

}  // namespace

Result<CachedAttentionKernels> make_cached_attention_kernels(device::Plugin& plugin) {
  std::string source = kCudaPrelude + kCachedAttentionSource;
  CachedAttentionKernels kernels;
  for (std::size_t i = 0; i < kernels.attend.size(); ++i) {
    source += source_for_group(1U << i);
  }
  const Program program = KEDGE_TRY(Program::make(plugin, source, "cached_attention"));
  for (std::size_t i = 0; i < kernels.attend.size(); ++i) {
    kernels.attend[i] = KEDGE_TRY(program.kernel(fmt::format("attend_{}", 1U << i)));
  }
  kernels.counters =
      torch::zeros({kMostKeyHeads}, torch::TensorOptions(torch::kInt).device(plugin.device()));
  return kernels;
}

bool can_attend_cached(const device::CachedAttentionStep& step) {
  const std::int64_t width = step.q.size(3);
  return step.q.size(2) == 1 && has_heads(step.q) && has_heads(step.k) && has_heads(step.v) &&
         step.q.size(1) / step.k.size(1) <= kMostHeads &&
         step.k.size(0) * step.k.size(1) <= kMostKeyHeads && width >= kEight &&
         width <= kMostWidth && std::has_single_bit(static_cast<std::uint64_t>(width)) &&
         step.keys.scalar_type() == at::kBFloat16 && step.keys.is_contiguous() &&
         step.values.scalar_type() == at::kBFloat16 && step.values.is_contiguous() &&
         step.places.is_contiguous();
}

at::Tensor attend_cached(CachedAttentionKernels& kernels, const device::CachedAttentionStep& step) {
  const std::int64_t texts = step.q.size(0);
  const std::int64_t heads = step.q.size(1);
  const std::int64_t width = step.q.size(3);
  const std::int64_t key_heads = step.keys.size(1);
  const std::int64_t room = step.keys.size(2);
  const std::int64_t group = heads / key_heads;
  const std::int64_t parts = std::clamp<std::int64_t>(room / kTokensOfBlock, 1, kMostParts);
  const at::Tensor partial =
      torch::empty({texts, heads, parts, width + 2}, step.q.options().dtype(at::kFloat));
  at::Tensor out = torch::empty({texts, heads, 1, width}, step.q.options());
  const auto kernel = static_cast<std::size_t>(
      std::bit_width(std::bit_ceil(static_cast<std::uint64_t>(group))) - 1);
  (*kernels.attend[kernel])(
      {.blocks = static_cast<unsigned>(texts * key_heads),
       .blocks_y = static_cast<unsigned>(parts),
       .threads = kAttendThreads},
      step.q.const_data_ptr(), step.q.stride(0), step.k.const_data_ptr(), step.k.stride(0),
      step.v.const_data_ptr(), step.v.stride(0), step.keys.mutable_data_ptr(),
      step.values.mutable_data_ptr(), step.places.const_data_ptr(), key_heads, group, room, width,
      step.window, static_cast<float>(1 / std::sqrt(width)), partial.mutable_data_ptr(),
      kernels.counters.mutable_data_ptr(), out.mutable_data_ptr());
  return out;
}

}  // namespace kedge::kernels
