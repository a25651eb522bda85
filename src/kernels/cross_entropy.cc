#include "kernels/cross_entropy.h"

#include <cstdint>

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/cuda_source.h"
#include "kernels/internal/kernel_cache.h"

namespace kedge::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A row of a large vocabulary takes few large blocks, so that those at work fit into the cache.
unsigned threads_for(std::int64_t classes) {
  return classes < 8192 ? 256 : 1024;
}

// A block takes a row. The log of the sum of exponentials is kept per thread as (largest, sum of
// exp(score - largest)), and two such pairs add up to one.
constexpr char kCrossEntropySource[] = R"cuda(
constexpr float kLowest = -3.4e38f;  // below every score that bfloat16 can hold, but infinity

struct Peak {
  float largest;
  float sum;
};

__device__ __forceinline__ Peak merge(Peak a, Peak b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
}

__device__ __forceinline__ float sum_of_block(float value, float* shared) {
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) {
    shared[threadIdx.x / 32] = value;
  }
  __syncthreads();
  float all = 0;
  for (int warp = 0; warp < blockDim.x / 32; ++warp) {
    all += shared[warp];
  }
  __syncthreads();
  return all;
}

__device__ __forceinline__ void add_to(Peak& peak, const float* values, int count) {
  float largest = peak.largest;
  for (int i = 0; i < count; ++i) {
    largest = fmaxf(largest, values[i]);
  }
  peak.sum *= __expf(peak.largest - largest);
  peak.largest = largest;
  for (int i = 0; i < count; ++i) {
    peak.sum += __expf(values[i] - largest);
  }
}

struct Options {
  int64 classes;
  float smoothing;
  float z_loss;
};

struct Facts {
  float log_sum;  // of the exponentials
  float loss;     // 0 where the target is below 0
};

// What warps tell each other.
struct Shared {
  Peak peaks[32];
  float totals[32];
};

// Of a row, for every thread of the block; all have read it then.
__device__ __forceinline__ Facts judge_row(const bfloat16* row, int64 target,
                                           const Options& options, Shared& shared) {
  Peak peak = {kLowest, 0.0f};
  float total = 0;
  if (options.classes % 8 == 0) {
    for (int64 i = threadIdx.x * 8; i < options.classes; i += blockDim.x * 8) {
      const Eight scores = load(row + i);
      add_to(peak, scores.v, 8);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        total += scores.v[k];
      }
    }
  } else {
    for (int64 i = threadIdx.x; i < options.classes; i += blockDim.x) {
      const float score = to_float(row[i]);
      add_to(peak, &score, 1);
      total += score;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    peak = merge(peak, {__shfl_xor_sync(0xffffffffu, peak.largest, offset),
                        __shfl_xor_sync(0xffffffffu, peak.sum, offset)});
  }
  if (threadIdx.x % 32 == 0) {
    shared.peaks[threadIdx.x / 32] = peak;
  }
  const float mean_score =
      options.smoothing == 0.0f ? 0.0f : sum_of_block(total, shared.totals) / options.classes;
  const float own = target < 0 ? 0.0f : to_float(row[target]);
  __syncthreads();
  Peak all = shared.peaks[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp) {
    all = merge(all, shared.peaks[warp]);
  }
  const float log_sum = all.largest + logf(all.sum);
  return {log_sum, target < 0 ? 0.0f
                              : log_sum - (1.0f - options.smoothing) * own -
                                    options.smoothing * mean_score +
                                    options.z_loss * log_sum * log_sum};
}

// The gradient of the row's loss times `factor`; `out` may be the row.
__device__ __forceinline__ void write_gradient(const bfloat16* row, int64 target, float log_sum,
                                               const Options& options, float factor,
                                               bfloat16* out) {
  const float slope = 1.0f + 2.0f * options.z_loss * log_sum;
  const float spread = options.smoothing / options.classes;
  const float peak = 1.0f - options.smoothing;
  const auto change = [&](int64 i, float score) {
    const float wanted = spread + (i == target ? peak : 0.0f);
    return factor * (__expf(score - log_sum) * slope - wanted);
  };
  if (options.classes % 8 == 0) {
    for (int64 i = threadIdx.x * 8; i < options.classes; i += blockDim.x * 8) {
      Eight scores = load(row + i);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        scores.v[k] = change(i + k, scores.v[k]);
      }
      store(out + i, scores);
    }
  } else {
    for (int64 i = threadIdx.x; i < options.classes; i += blockDim.x) {
      out[i] = from_float<bfloat16>(change(i, to_float(row[i])));
    }
  }
}

// facts: per row the log-sum-exp and the loss.
extern "C" __global__ void __launch_bounds__(1024)
rows(const bfloat16* scores, const int64* targets, int64 classes, float smoothing, float z_loss,
     float* facts) {
  __shared__ Shared shared;
  const Facts its = judge_row(scores + blockIdx.x * classes, targets[blockIdx.x],
                              {classes, smoothing, z_loss}, shared);
  if (threadIdx.x == 0) {
    facts[2 * blockIdx.x] = its.log_sum;
    facts[2 * blockIdx.x + 1] = its.loss;
  }
}

// losses: of the rows, whose gradients take the place of the scores: a row that has just been read
// is read again while it is near.
extern "C" __global__ void __launch_bounds__(1024)
rows_to_gradients(bfloat16* scores, const int64* targets, int64 classes, float smoothing,
                  float z_loss, const float* inverse_count, float* losses) {
  __shared__ Shared shared;
  bfloat16* row = scores + blockIdx.x * classes;
  const int64 target = targets[blockIdx.x];
  const Options options = {classes, smoothing, z_loss};
  const Facts its = judge_row(row, target, options, shared);
  write_gradient(row, target, its.log_sum, options, target < 0 ? 0.0f : *inverse_count, row);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = its.loss;
  }
}

// result: the mean over the rows that count, and one over their number.
extern "C" __global__ void __launch_bounds__(1024)
mean(const float* facts, const int64* targets, int64 count, float* result) {
  __shared__ float shared[32];
  float loss = 0;
  float counted = 0;
  for (int64 i = threadIdx.x; i < count; i += blockDim.x) {
    loss += facts[2 * i + 1];
    counted += targets[i] < 0 ? 0.0f : 1.0f;
  }
  loss = sum_of_block(loss, shared);
  counted = sum_of_block(counted, shared);
  if (threadIdx.x == 0) {
    result[0] = loss / counted;
    result[1] = 1.0f / counted;
  }
}

// inverse_count: one over the rows that count.
extern "C" __global__ void __launch_bounds__(1024)
gradient(const bfloat16* scores, const int64* targets, int64 classes, float smoothing, float z_loss,
         const float* facts, const float* inverse_count, const float* upstream, bfloat16* out) {
  const int64 start = blockIdx.x * classes;
  const int64 target = targets[blockIdx.x];
  write_gradient(scores + start, target, facts[2 * blockIdx.x], {classes, smoothing, z_loss},
                 target < 0 ? 0.0f : *upstream * *inverse_count, out + start);
}

__device__ __forceinline__ int count_above(const bfloat16* scores, int64 label, int64 classes,
                                           int64 start, int64 step) {
  const float score = to_float(scores[label]);
  int above = 0;
  for (int64 i = start; i < classes; i += step) {
    const float other = to_float(scores[i]);
    above += other > score || (other == score && i < label);
  }
  return above;
}

// sums += loss * count, count, rows whose label has the highest score, one of the five highest.
// A row belongs to a thread where classes are few, else to a warp.
extern "C" __global__ void __launch_bounds__(1024)
hits(const bfloat16* scores, const int64* labels, int64 count, int64 classes, const float* loss,
     double* sums) {
  __shared__ float shared[32];
  float first = 0;
  float fifth = 0;
  const int lanes = classes <= 64 ? 1 : 32;
  const int lane = threadIdx.x % lanes;
  for (int64 row = threadIdx.x / lanes; row < count; row += blockDim.x / lanes) {
    int above = count_above(scores + row * classes, labels[row], classes, lane, lanes);
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      above += __shfl_xor_sync(0xffffffffu, above, offset);
    }
    if (lane == 0) {
      first += above == 0;
      fifth += above < 5;
    }
  }
  first = sum_of_block(first, shared);
  fifth = sum_of_block(fifth, shared);
  if (threadIdx.x == 0) {
    sums[0] += static_cast<double>(*loss) * count;
    sums[1] += count;
    sums[2] += first;
    sums[3] += classes > 5 ? fifth : 0.0f;
  }
}
)cuda";

// [rows, 2]: the log-sum-exp and the loss of each.
at::Tensor facts_of(CrossEntropyKernels& kernels, const device::CrossEntropyStep& step) {
  const at::Tensor facts =
      torch::empty({step.scores.size(0), 2}, step.scores.options().dtype(at::kFloat));
  (*kernels.rows)({.blocks = static_cast<unsigned>(step.scores.size(0)),
                   .threads = threads_for(step.scores.size(1))},
                  step.scores.const_data_ptr(), step.targets.const_data_ptr(), step.scores.size(1),
                  static_cast<float>(step.label_smoothing), static_cast<float>(step.z_loss),
                  facts.mutable_data_ptr());
  return facts;
}

class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& scores,
                            const at::Tensor& targets, double smoothing, double z_loss,
                            CrossEntropyKernels* kernels) {
    const at::Tensor facts = facts_of(
        *kernels,
        {.scores = scores, .targets = targets, .label_smoothing = smoothing, .z_loss = z_loss});
    const at::Tensor result = torch::empty({2}, facts.options());
    (*kernels->mean)({.threads = 1024}, facts.const_data_ptr(), targets.const_data_ptr(),
                     scores.size(0), result.mutable_data_ptr());
    ctx->save_for_backward({scores, targets, facts, result});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(kernels);
    ctx->saved_data["smoothing"] = smoothing;
    ctx->saved_data["z_loss"] = z_loss;
    return result[0];
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    auto* kernels = reinterpret_cast<CrossEntropyKernels*>(ctx->saved_data["kernels"].toInt());
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& scores = saved[0];
    at::Tensor out = torch::empty_like(scores);
    const at::Tensor upstream = gradients[0].to(at::kFloat);
    const at::Tensor inverse_count = saved[3][1];
    (*kernels->gradient)(
        {.blocks = static_cast<unsigned>(scores.size(0)), .threads = threads_for(scores.size(1))},
        scores.const_data_ptr(), saved[1].const_data_ptr(), scores.size(1),
        static_cast<float>(ctx->saved_data["smoothing"].toDouble()),
        static_cast<float>(ctx->saved_data["z_loss"].toDouble()), saved[2].const_data_ptr(),
        inverse_count.const_data_ptr(), upstream.const_data_ptr(), out.mutable_data_ptr());
    return {out, {}, {}, {}, {}};
  }
};

}  // namespace

Result<CrossEntropyKernels> make_cross_entropy_kernels(device::Plugin& plugin) {
  const Program program =
      KEDGE_TRY(Program::make(plugin, kCudaPrelude + kCrossEntropySource, "cross_entropy"));
  return CrossEntropyKernels{.rows = KEDGE_TRY(program.kernel("rows")),
                             .rows_to_gradients = KEDGE_TRY(program.kernel("rows_to_gradients")),
                             .mean = KEDGE_TRY(program.kernel("mean")),
                             .gradient = KEDGE_TRY(program.kernel("gradient")),
                             .hits = KEDGE_TRY(program.kernel("hits"))};
}

bool can_cross_entropy(const device::CrossEntropyStep& step) {
  return step.scores.scalar_type() == at::kBFloat16 && step.scores.dim() == 2 &&
         step.scores.is_contiguous() && step.scores.numel() > 0 &&
         step.targets.scalar_type() == at::kLong && step.targets.is_contiguous();
}

at::Tensor cross_entropy(CrossEntropyKernels& kernels, const device::CrossEntropyStep& step) {
  return CrossEntropyFunction::apply(step.scores, step.targets, step.label_smoothing, step.z_loss,
                                     &kernels);
}

at::Tensor judge_rows(CrossEntropyKernels& kernels, const device::CrossEntropyStep& step,
                      const at::Tensor& inverse_count, bool wants_gradient) {
  if (!wants_gradient) {
    return facts_of(kernels, step).select(1, 1);
  }
  at::Tensor losses = torch::empty({step.scores.size(0)}, step.scores.options().dtype(at::kFloat));
  (*kernels.rows_to_gradients)({.blocks = static_cast<unsigned>(step.scores.size(0)),
                                .threads = threads_for(step.scores.size(1))},
                               step.scores.mutable_data_ptr(), step.targets.const_data_ptr(),
                               step.scores.size(1), static_cast<float>(step.label_smoothing),
                               static_cast<float>(step.z_loss), inverse_count.const_data_ptr(),
                               losses.mutable_data_ptr());
  return losses;
}

bool can_count_hits(const device::ScoredStep& step) {
  return step.scores.scalar_type() == at::kBFloat16 && step.scores.is_contiguous() &&
         step.loss.scalar_type() == at::kFloat;
}

void count_hits(CrossEntropyKernels& kernels, const device::ScoredStep& step, at::Tensor& sums) {
  (*kernels.hits)({.threads = 1024}, step.scores.const_data_ptr(), step.labels.const_data_ptr(),
                  step.scores.size(0), step.scores.size(1), step.loss.const_data_ptr(),
                  sums.mutable_data_ptr());
}

}  // namespace kedge::kernels
