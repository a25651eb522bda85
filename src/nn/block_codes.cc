#include "nn/block_codes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <torch/types.h>

namespace kedge::nn {
namespace {

constexpr int kExponents = 7;
constexpr double kLeast = 1e-38;  // of a block's greatest value, to divide by

}  // namespace

at::Tensor nf4_table() {
  return torch::tensor({-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
                        -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
                        0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F,
                        0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
                        0.7229568362236023F, 1.0F});
}

// Each power of ten from 1e-6 to 1 is cut into twice as many parts as the one before it; their
// middles are the entries.
at::Tensor dynamic_table(bool is_signed) {
  std::vector<at::Tensor> parts = {torch::tensor({0.0F, 1.0F})};
  for (int i = 0; i < kExponents; ++i) {
    const std::int64_t ends = (std::int64_t{1} << (is_signed ? i : i + 1)) + 1;
    const at::Tensor end = torch::linspace(0.1, 1, ends, at::kFloat);
    const at::Tensor middle = (end.slice(0, 0, -1) + end.slice(0, 1)) / 2.0;
    parts.push_back(middle * std::pow(10.0, i - kExponents + 1));
    if (is_signed) {
      parts.push_back(-parts.back());
    }
  }
  return std::get<0>(torch::cat(parts).sort());
}

BlockCodes encode_blocks(const at::Tensor& values, const at::Tensor& table, std::int64_t block) {
  const at::Tensor flat = values.flatten().to(at::kFloat);
  const std::int64_t count = flat.numel();
  const std::int64_t missing = (block - count % block) % block;
  const at::Tensor whole =
      (missing > 0 ? at::constant_pad_nd(flat, {0, missing}) : flat).view({-1, block});
  const at::Tensor absmax = whole.abs().amax(1);
  const at::Tensor scaled = whole * absmax.clamp_min(kLeast).reciprocal().unsqueeze(1);
  const at::Tensor middles = (table.slice(0, 0, -1) + table.slice(0, 1)) / 2;
  const at::Tensor codes =
      at::bucketize(scaled.clamp(-1, 1), middles, /*out_int32=*/true).to(at::kByte);
  return {.codes = codes.flatten().narrow(0, 0, count), .absmax = absmax};
}

at::Tensor decode_blocks(const BlockCodes& blocks, const at::Tensor& table, std::int64_t block) {
  const at::Tensor entries = table.index_select(0, blocks.codes.flatten().to(at::kInt));
  const std::int64_t count = entries.numel();
  return entries * blocks.absmax.repeat_interleave(block).narrow(0, 0, count);
}

}  // namespace kedge::nn
