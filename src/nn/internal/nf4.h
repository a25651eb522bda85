// A matrix in NF4 (QLoRA, Dettmers et al. 2023), the bytes of bitsandbytes' Linear4bit: blocks of
// 64 values, rows after rows, each a number of an entry in nf4_table() times the block's greatest
// value. With double quantization those are kept in 8 bits: their mean is taken off, and blocks of
// 256 of them are numbers in dynamic_table() times their greatest.
#pragma once

#include "nn/quantized_weight.h"

namespace kedge::nn {

class Nf4Weight : public QuantizedWeight {
 public:
  Nf4Weight(at::IntArrayRef sizes, at::Device device, bool double_quant);

  void store(const at::Tensor& values) override;
  at::Tensor unpack(at::ScalarType type) const override;

  std::optional<device::Nf4Matrix> nf4() const override { return matrix_; }

 protected:
  std::vector<at::Tensor*> tensors() override;

 private:
  // In float32, of each block.
  at::Tensor scales() const;

  bool double_quant_;
  device::Nf4Matrix matrix_;
  at::Tensor pairs_;  // float [256, 2], what a byte stands for
};

}  // namespace kedge::nn
