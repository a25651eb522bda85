// Matrices in 8 bits with a scale for each row.
#pragma once

#include "nn/quantized_weight.h"

namespace kedge::nn {

// Whole numbers from -127 to 127, times the scale.
class Int8Weight : public QuantizedWeight {
 public:
  Int8Weight(at::IntArrayRef sizes, at::Device device);

  void store(const at::Tensor& values) override;
  at::Tensor unpack(at::ScalarType type) const override;
  at::Tensor multiply(const at::Tensor& x) const override;

  std::optional<device::Int8Matrix> int8() const override {
    return device::Int8Matrix{.codes = codes_, .scales = scales_};
  }

 protected:
  std::vector<at::Tensor*> tensors() override { return {&codes_, &scales_}; }

 private:
  at::Tensor codes_;   // int8 [rows, columns]
  at::Tensor scales_;  // float [rows]
};

// Floats of 8 bits, 4 of them the exponent (e4m3). What they are multiplied with is brought to the
// same type, row by row, so that a GPU's matrix units can do it: on the CPU the product has the
// same meaning.
class Fp8Weight : public QuantizedWeight {
 public:
  Fp8Weight(at::IntArrayRef sizes, at::Device device);

  void store(const at::Tensor& values) override;
  at::Tensor unpack(at::ScalarType type) const override;
  at::Tensor multiply(const at::Tensor& x) const override;

 protected:
  std::vector<at::Tensor*> tensors() override { return {&codes_, &scales_}; }

 private:
  at::Tensor codes_;   // e4m3 [rows, columns]
  at::Tensor scales_;  // float [rows]
};

}  // namespace kedge::nn
