// What tests of kernels have in common.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/emulated_plugin.h"
#include "kernels/fused.h"
#include "nn/whitening.h"

namespace kedge::kernels {

// Kernels on the GPU where there is one, else as C++ on the CPU.
class FusedKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    device::open();
    if (device::plugin() == nullptr && !device::EmulatedPlugin::is_possible()) {
      GTEST_SKIP() << device::why_missing() << ", and there is no C++ compiler";
    }
    static device::EmulatedPlugin emulated;
    device::Plugin& used = device::plugin() == nullptr ? emulated : *device::plugin();
    device_ = used.device();
    const auto compiled = fused_ops(used);
    ASSERT_TRUE(compiled) << compiled.error().message;
    ops_ = *compiled;
    whiten_ops_ = dynamic_cast<nn::WhitenOps*>(ops_);
    torch::manual_seed(1);
  }

  static at::TensorOptions floats() { return torch::TensorOptions(torch::kFloat).device(device_); }

  // bfloat16 images in channels-last memory that remember gradients.
  static at::Tensor images(at::IntArrayRef sizes, double offset = 0) {
    return (torch::randn(sizes, floats()) + offset)
        .to(at::kBFloat16)
        .contiguous(at::MemoryFormat::ChannelsLast)
        .set_requires_grad(true);
  }

  static at::Tensor as_float_leaf(const at::Tensor& tensor) {
    return tensor.detach().to(at::kFloat).set_requires_grad(true);
  }

  static void expect_near(const at::Tensor& got, const at::Tensor& wanted, const char* what,
                          double tolerance = 1e-2) {
    ASSERT_TRUE(got.defined()) << what;
    const at::Tensor reference = wanted.detach().to(at::kFloat);
    const double error = (got.detach().to(at::kFloat) - reference).norm().item<double>() /
                         (reference.norm().item<double>() + 1e-12);
    EXPECT_LT(error, tolerance) << what;
  }

 private:
  static inline at::DeviceType device_ = at::kCUDA;

 protected:
  device::FusedOps* ops_ = nullptr;
  nn::WhitenOps* whiten_ops_ = nullptr;
};

}  // namespace kedge::kernels
