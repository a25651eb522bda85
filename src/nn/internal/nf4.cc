#include "nn/internal/nf4.h"

#include <algorithm>

#include <torch/types.h>
#include <torch/utils.h>

#include "nn/block_codes.h"

namespace kedge::nn {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kNestedBlock = 256;
// So many values at once: what is computed between takes memory.
constexpr std::int64_t kMostEncoded = std::int64_t{1} << 24;

std::int64_t blocks_of(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

at::Tensor table_of_pairs() {
  const at::Tensor table = nf4_table();
  return torch::stack({table.repeat_interleave(16), table.repeat({16})}, 1);
}

}  // namespace

Nf4Weight::Nf4Weight(at::IntArrayRef sizes, at::Device device, bool double_quant)
    : double_quant_(double_quant) {
  const std::int64_t count = sizes[0] * sizes[1];
  const std::int64_t blocks = blocks_of(count, kBlock);
  const auto empty = [&](std::int64_t size, at::ScalarType type) {
    return torch::empty({size}, at::TensorOptions(type).device(device));
  };
  matrix_ = {.codes = empty(blocks_of(count, 2), at::kByte),
             .scales = empty(blocks, double_quant ? at::kByte : at::kFloat),
             .rows = sizes[0],
             .columns = sizes[1]};
  if (double_quant) {
    matrix_.nested_scales = empty(blocks_of(blocks, kNestedBlock), at::kFloat);
    matrix_.nested_table = empty(kNestedBlock, at::kFloat);
    matrix_.offset = torch::empty({}, matrix_.nested_scales.options());
  }
  pairs_ = torch::empty({256, 2}, at::TensorOptions(at::kFloat).device(device));
}

std::vector<at::Tensor*> Nf4Weight::tensors() {
  std::vector<at::Tensor*> all = {&matrix_.codes, &matrix_.scales, &pairs_};
  if (double_quant_) {
    all.insert(all.end(), {&matrix_.nested_scales, &matrix_.nested_table, &matrix_.offset});
  }
  return all;
}

void Nf4Weight::store(const at::Tensor& values) {
  const torch::NoGradGuard no_grad;
  const at::Device device = matrix_.codes.device();
  const at::Tensor flat = values.to(device).reshape(-1);
  const at::Tensor table = nf4_table().to(device);
  const at::Tensor absmax = torch::empty({matrix_.scales.numel()}, pairs_.options());
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kMostEncoded) {
    const std::int64_t count = std::min(kMostEncoded, flat.numel() - begin);
    const BlockCodes part = encode_blocks(flat.narrow(0, begin, count), table, kBlock);
    const at::Tensor even = at::constant_pad_nd(part.codes, {0, count % 2});
    matrix_.codes.narrow(0, begin / 2, even.numel() / 2)
        .copy_(even.slice(0, 0, {}, 2).mul(16).add_(even.slice(0, 1, {}, 2)));
    absmax.narrow(0, begin / kBlock, part.absmax.numel()).copy_(part.absmax);
  }
  pairs_.copy_(table_of_pairs());
  if (!double_quant_) {
    matrix_.scales.copy_(absmax);
    return;
  }
  matrix_.offset.copy_(absmax.mean());
  matrix_.nested_table.copy_(dynamic_table(/*is_signed=*/true));
  const BlockCodes nested =
      encode_blocks(absmax - matrix_.offset, matrix_.nested_table, kNestedBlock);
  matrix_.scales.copy_(nested.codes);
  matrix_.nested_scales.copy_(nested.absmax);
}

at::Tensor Nf4Weight::scales() const {
  if (!double_quant_) {
    return matrix_.scales;
  }
  return decode_blocks({matrix_.scales, matrix_.nested_scales}, matrix_.nested_table,
                       kNestedBlock) +
         matrix_.offset;
}

at::Tensor Nf4Weight::unpack(at::ScalarType type) const {
  const torch::NoGradGuard no_grad;
  const std::int64_t count = matrix_.rows * matrix_.columns;
  at::Tensor values = at::embedding(pairs_, matrix_.codes.to(at::kInt)).view(-1);
  if (count % kBlock == 0) {
    values.view({-1, kBlock}).mul_(scales().unsqueeze(1));
  } else {
    values = values.narrow(0, 0, count) * scales().repeat_interleave(kBlock).narrow(0, 0, count);
  }
  return values.to(type).view({matrix_.rows, matrix_.columns});
}

}  // namespace kedge::nn
