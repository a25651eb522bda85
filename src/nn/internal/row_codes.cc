#include "nn/internal/row_codes.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "device/plugin.h"

namespace kedge::nn {
namespace {

constexpr double kGreatestInt8 = 127;
constexpr double kGreatestFp8 = 448;   // of e4m3
constexpr double kLeastScale = 1e-12;  // so that a row of zeros is one
constexpr std::int64_t kFp8Step = 16;  // sizes that the GPU's products want to be multiples of

at::Tensor empty_codes(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  return torch::empty(sizes, at::TensorOptions(type).device(device));
}

at::Tensor empty_scales(std::int64_t rows, at::Device device) {
  return torch::empty({rows}, at::TensorOptions(at::kFloat).device(device));
}

// [rows, 1]
at::Tensor scales_of(const at::Tensor& values, double greatest) {
  return values.abs()
      .amax(-1, /*keepdim=*/true)
      .to(at::kFloat)
      .div(greatest)
      .clamp_min(kLeastScale);
}

at::Tensor as_fp8(const at::Tensor& values, const at::Tensor& scales) {
  return (values / scales).clamp(-kGreatestFp8, kGreatestFp8).to(at::kFloat8_e4m3fn);
}

// "sm_90, NVRTC 13.0": from Ada (8.9) on.
bool has_fp8_products(const at::Tensor& x) {
  if (!x.is_cuda() || device::plugin() == nullptr) {
    return false;
  }
  static const bool has = [] {
    constexpr int kAda = 89;
    const std::string target = device::plugin()->target();
    const std::size_t at = target.find("sm_");
    return at != std::string::npos && std::atoi(target.c_str() + at + 3) >= kAda;
  }();
  return has;
}

}  // namespace

Int8Weight::Int8Weight(at::IntArrayRef sizes, at::Device device)
    : codes_(empty_codes(sizes, at::kChar, device)), scales_(empty_scales(sizes[0], device)) {}

void Int8Weight::store(const at::Tensor& values) {
  const torch::NoGradGuard no_grad;
  const at::Tensor here = values.to(codes_.device());
  const at::Tensor scales = scales_of(here, kGreatestInt8);
  scales_.copy_(scales.squeeze(1));
  codes_.copy_((here / scales).round_());
}

at::Tensor Int8Weight::unpack(at::ScalarType type) const {
  return (codes_.to(at::kFloat) * scales_.unsqueeze(1)).to(type);
}

// Whole numbers up to 127 are exact in every type.
at::Tensor Int8Weight::multiply(const at::Tensor& x) const {
  return x.matmul(codes_.to(x.scalar_type()).t()) * scales_.to(x.scalar_type());
}

Fp8Weight::Fp8Weight(at::IntArrayRef sizes, at::Device device)
    : codes_(empty_codes(sizes, at::kFloat8_e4m3fn, device)),
      scales_(empty_scales(sizes[0], device)) {}

void Fp8Weight::store(const at::Tensor& values) {
  const torch::NoGradGuard no_grad;
  const at::Tensor here = values.to(codes_.device());
  const at::Tensor scales = scales_of(here, kGreatestFp8);
  scales_.copy_(scales.squeeze(1));
  codes_.copy_(as_fp8(here, scales));
}

at::Tensor Fp8Weight::unpack(at::ScalarType type) const {
  return (codes_.to(at::kFloat) * scales_.unsqueeze(1)).to(type);
}

at::Tensor Fp8Weight::multiply(const at::Tensor& x) const {
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  const at::Tensor scales = scales_of(rows, kGreatestFp8);
  const at::Tensor codes = as_fp8(rows, scales);
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = codes_.size(0);
  const bool fits = codes_.size(0) % kFp8Step == 0 && codes_.size(1) % kFp8Step == 0;
  if (has_fp8_products(x) && fits && x.scalar_type() == at::kBFloat16) {
    return at::_scaled_mm(codes, codes_.t(), scales, scales_.unsqueeze(0), /*bias=*/std::nullopt,
                          /*scale_result=*/std::nullopt, at::kBFloat16, /*use_fast_accum=*/true)
        .view(sizes);
  }
  const at::Tensor exact = codes.to(at::kFloat).mm(codes_.to(at::kFloat).t());
  return (exact * scales * scales_).to(x.scalar_type()).view(sizes);
}

}  // namespace kedge::nn
