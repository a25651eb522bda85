// Each kernel against the plain operations it stands for, in float32: on the GPU where there is
// one, else as C++ on the CPU.
#include "kernels/fused.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/fused_test_case.h"
#include "nn/block_codes.h"
#include "nn/quantized_weight.h"
#include "nn/whitening.h"

namespace kedge::kernels {
namespace {

struct NormCase {
  std::int64_t batch, channels, side;
  bool shortcut;
  device::Activation activation;
  bool pool, input_bias;
  double offset = 0;
};

class FusedNorm : public FusedKernels, public ::testing::WithParamInterface<NormCase> {};

TEST_P(FusedNorm, is_what_the_plain_operations_give) {
  const NormCase& c = GetParam();
  const at::Tensor x = images({c.batch, c.channels, c.side, c.side}, c.offset);
  const at::Tensor shortcut =
      c.shortcut ? images({c.batch, c.channels, c.side, c.side}) : at::Tensor();
  const at::Tensor weight = (torch::rand({c.channels}, floats()) + 0.5).set_requires_grad(true);
  const at::Tensor bias = torch::randn({c.channels}, floats()).set_requires_grad(true);
  const at::Tensor input_bias =
      c.input_bias ? torch::randn({c.channels}, floats()).set_requires_grad(true) : at::Tensor();
  const at::Tensor mean = torch::zeros({c.channels}, floats());
  const at::Tensor variance = torch::ones({c.channels}, floats());
  const at::Tensor batches = torch::zeros({}, floats().dtype(at::kLong));
  const at::Tensor y = ops_->norm({.x = x,
                                   .input_bias = input_bias,
                                   .weight = weight,
                                   .bias = bias,
                                   .running_mean = mean,
                                   .running_var = variance,
                                   .batches = batches,
                                   .momentum = 0.1,
                                   .eps = 1e-5,
                                   .shortcut = shortcut,
                                   .activation = c.activation,
                                   .pool = c.pool});
  ASSERT_TRUE(y.defined());
  const at::Tensor upstream = torch::randn_like(y);
  y.backward(upstream);

  const at::Tensor x2 = as_float_leaf(x);
  const at::Tensor shortcut2 = c.shortcut ? as_float_leaf(shortcut) : at::Tensor();
  const at::Tensor weight2 = as_float_leaf(weight);
  const at::Tensor bias2 = as_float_leaf(bias);
  const at::Tensor mean2 = torch::zeros({c.channels}, floats());
  const at::Tensor variance2 = torch::ones({c.channels}, floats());
  const at::Tensor shifted = c.input_bias ? x2 + input_bias.detach().view({1, -1, 1, 1}) : x2;
  at::Tensor y2 = torch::batch_norm(shifted, weight2, bias2, mean2, variance2, true, 0.1, 1e-5,
                                    /*cudnn_enabled=*/false);
  y2 = c.shortcut ? y2 + shortcut2 : y2;
  y2 = c.activation == device::Activation::Relu   ? y2.relu()
       : c.activation == device::Activation::Gelu ? torch::gelu(y2)
                                                  : y2;
  y2 = c.pool ? torch::max_pool2d(y2, 2) : y2;
  y2.backward(upstream.to(at::kFloat));

  expect_near(y, y2, "y");
  expect_near(x.grad(), x2.grad(), "dx");
  expect_near(weight.grad(), weight2.grad(), "dweight");
  expect_near(bias.grad(), bias2.grad(), "dbias");
  expect_near(mean, mean2, "running mean", 1e-4);
  expect_near(variance, variance2, "running variance", 1e-4);
  EXPECT_EQ(batches.item<std::int64_t>(), 1);
  if (c.shortcut) {
    expect_near(shortcut.grad(), shortcut2.grad(), "dshortcut");
  }
  if (c.input_bias) {
    EXPECT_EQ(input_bias.grad().abs().max().item<double>(), 0);
  }
}

constexpr auto kNone = device::Activation::None;
constexpr auto kRelu = device::Activation::Relu;
constexpr auto kGelu = device::Activation::Gelu;

INSTANTIATE_TEST_SUITE_P(Shapes, FusedNorm,
                         ::testing::Values(NormCase{2, 64, 32, false, kRelu, false, false},
                                           NormCase{2, 64, 32, false, kRelu, true, true},
                                           NormCase{3, 128, 6, false, kRelu, true, true},
                                           NormCase{16, 128, 8, true, kRelu, false, false},
                                           NormCase{9, 64, 15, false, kGelu, false, false},
                                           NormCase{4, 256, 7, false, kGelu, false, false},
                                           NormCase{5, 256, 7, true, kRelu, false, false},
                                           NormCase{2, 2048, 1, false, kNone, false, false},
                                           NormCase{7, 512, 3, true, kNone, false, false},
                                           NormCase{16, 64, 16, false, kRelu, false, false,
                                                    100.0}));

TEST_F(FusedKernels, max_pool_is_what_the_plain_operations_give) {
  for (const auto& [batch, channels, side] :
       {std::tuple{8L, 64L, 31L}, {5L, 256L, 15L}, {3L, 8L, 2L}, {4L, 64L, 32L}}) {
    const at::Tensor x = images({batch, channels, side, side});
    const at::Tensor y = ops_->max_pool(x);
    ASSERT_TRUE(y.defined());
    const at::Tensor upstream = torch::randn_like(y);
    y.backward(upstream);
    const at::Tensor x2 = as_float_leaf(x);
    const at::Tensor y2 = torch::max_pool2d(x2, 2);
    y2.backward(upstream.to(at::kFloat));
    expect_near(y, y2, "y", 1e-9);
    expect_near(x.grad(), x2.grad(), "dx", 1e-9);
  }
}

TEST_F(FusedKernels, maximum_of_an_image_is_what_the_plain_operations_give) {
  for (const auto& [batch, channels, side] : {std::tuple{8L, 64L, 5L}, {70L, 256L, 3L}}) {
    // No two pixels are alike: of equals PyTorch's amax gives each a share of the gradient.
    const at::Tensor order =
        torch::rand({batch, channels, side * side}, floats()).argsort(-1, false);
    const at::Tensor x = (order.view({batch, channels, side, side}) - 7)
                             .to(at::kBFloat16)
                             .contiguous(at::MemoryFormat::ChannelsLast)
                             .set_requires_grad(true);
    const at::Tensor y = whiten_ops_->max_of_image(x);
    ASSERT_TRUE(y.defined());
    const at::Tensor upstream = torch::randn_like(y);
    y.backward(upstream);
    const at::Tensor x2 = as_float_leaf(x);
    const at::Tensor y2 = x2.amax({2, 3});
    y2.backward(upstream.to(at::kFloat));
    expect_near(y, y2, "y", 1e-9);
    expect_near(x.grad(), x2.grad(), "dx", 1e-9);
  }
}

TEST_F(FusedKernels, first_of_equal_pixels_gets_the_gradient) {
  const at::Tensor x = torch::ones({1, 8, 2, 2}, floats().dtype(at::kBFloat16))
                           .contiguous(at::MemoryFormat::ChannelsLast)
                           .set_requires_grad(true);
  whiten_ops_->max_of_image(x).sum().backward();
  EXPECT_EQ(x.grad().select(2, 0).select(2, 0).sum().item<double>(), 8);
  EXPECT_EQ(x.grad().sum().item<double>(), 8);
}

TEST_F(FusedKernels, norms_of_an_evaluation_are_what_the_plain_operations_give) {
  const torch::NoGradGuard no_grad;
  const at::Tensor weight = torch::rand({128}, floats()) + 0.5;
  const at::Tensor bias = torch::randn({128}, floats());
  const at::Tensor mean = torch::randn({128}, floats());
  const at::Tensor variance = torch::rand({128}, floats()) + 0.1;
  const at::Tensor shortcut = images({9, 128, 7, 7});
  const at::Tensor x = images({9, 128, 7, 7});
  const at::Tensor y = ops_->norm({.x = x,
                                   .weight = weight,
                                   .bias = bias,
                                   .running_mean = mean,
                                   .running_var = variance,
                                   .eps = 1e-3,
                                   .shortcut = shortcut,
                                   .activation = device::Activation::Relu,
                                   .is_training = false});
  ASSERT_TRUE(y.defined());
  const at::Tensor normed = torch::batch_norm(x.to(at::kFloat), weight, bias, mean, variance, false,
                                              0.1, 1e-3, /*cudnn_enabled=*/false);
  expect_near(y, (normed + shortcut).relu(), "y");
}

TEST_F(FusedKernels, whiten_is_what_the_plain_operations_give) {
  for (const auto& [batch, side] : {std::tuple{64L, 32L}, {3L, 5L}}) {
    const at::Tensor x = images({batch, 3, side, side}).detach();
    const at::Tensor weight = torch::randn({24, 3, 2, 2}, floats());
    const at::Tensor bias = torch::randn({24}, floats()).set_requires_grad(true);
    const at::Tensor y = whiten_ops_->whiten({.x = x, .weight = weight, .bias = bias});
    ASSERT_TRUE(y.defined());
    const at::Tensor upstream = torch::randn_like(y);
    y.backward(upstream);
    const at::Tensor bias2 = as_float_leaf(bias);
    const at::Tensor y2 = torch::gelu(torch::conv2d(x.to(at::kFloat), weight, bias2));
    y2.backward(upstream.to(at::kFloat));
    expect_near(y, y2, "y");
    expect_near(bias.grad(), bias2.grad(), "dbias", 1e-3);
  }
}

struct LinearCase {
  at::Tensor x, weight, bias;

  LinearCase(std::int64_t columns, const at::TensorOptions& options)
      : x(torch::randn({5, 70, 256}, options).to(at::kBFloat16).set_requires_grad(true)),
        weight((torch::randn({columns, 256}, options) * 0.1).set_requires_grad(true)),
        bias(torch::randn({columns}, options).set_requires_grad(true)) {}
};

TEST_F(FusedKernels, linear_is_what_the_plain_operations_give) {
  for (const device::Activation activation :
       {device::Activation::None, device::Activation::Gelu, device::Activation::GeluTanh}) {
    const LinearCase c(192, floats());
    const at::Tensor y =
        ops_->linear({.x = c.x, .weight = c.weight, .bias = c.bias, .activation = activation});
    ASSERT_TRUE(y.defined());
    const at::Tensor upstream = torch::randn_like(y);
    y.backward(upstream);
    const at::Tensor x2 = as_float_leaf(c.x);
    const at::Tensor weight2 = as_float_leaf(c.weight.detach().to(at::kBFloat16));
    const at::Tensor bias2 = as_float_leaf(c.bias);
    at::Tensor y2 = torch::linear(x2, weight2, bias2);
    y2 = activation == device::Activation::None
             ? y2
             : torch::gelu(y2, activation == device::Activation::Gelu ? "none" : "tanh");
    y2.backward(upstream.to(at::kFloat));
    expect_near(y, y2, "y");
    expect_near(c.x.grad(), x2.grad(), "dx");
    const bool is_plain = activation == device::Activation::None;
    expect_near(c.weight.grad(), weight2.grad(), "dweight", is_plain ? 1e-4 : 1e-2);
    expect_near(c.bias.grad(), bias2.grad(), "dbias", is_plain ? 1e-5 : 1e-2);
  }
}

TEST_F(FusedKernels, thirds_of_a_linear_layer_are_what_the_plain_operations_give) {
  const LinearCase c(3 * 128, floats());
  const std::vector<at::Tensor> parts =
      ops_->linear_thirds({.x = c.x, .weight = c.weight, .bias = c.bias});
  ASSERT_EQ(parts.size(), 3);
  const at::Tensor x2 = as_float_leaf(c.x);
  const at::Tensor weight2 = as_float_leaf(c.weight.detach().to(at::kBFloat16));
  const at::Tensor bias2 = as_float_leaf(c.bias);
  const std::vector<at::Tensor> parts2 = torch::linear(x2, weight2, bias2).chunk(3, -1);
  at::Tensor sum = torch::zeros({}, floats());
  at::Tensor sum2 = torch::zeros({}, floats());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    expect_near(parts[i], parts2[i], "part");
    // Gradients that differ between parts, in the order that attention leaves them in.
    const at::Tensor upstream = torch::randn({5, 128, 70}, floats()).transpose(1, 2);
    sum = sum + (parts[i].to(at::kFloat) * upstream).sum();
    sum2 = sum2 + (parts2[i] * upstream).sum();
  }
  sum.backward();
  sum2.backward();
  expect_near(c.x.grad(), x2.grad(), "dx");
  expect_near(c.weight.grad(), weight2.grad(), "dweight");
  expect_near(c.bias.grad(), bias2.grad(), "dbias");
}

TEST_F(FusedKernels, cross_entropy_is_what_the_plain_operations_give) {
  for (const auto& [rows, classes, smoothing] :
       {std::tuple{128L, 10L, 0.0}, {64L, 1000L, 0.1}, {32L, 50257L, 0.0}, {33L, 50304L, 0.2}}) {
    const at::Tensor scores =
        (torch::randn({rows, classes}, floats()) * 4).to(at::kBFloat16).set_requires_grad(true);
    at::Tensor targets = torch::randint(0, classes, {rows}, floats().dtype(at::kLong));
    targets[1] = -100;
    const at::Tensor loss =
        ops_->cross_entropy({.scores = scores, .targets = targets, .label_smoothing = smoothing});
    ASSERT_TRUE(loss.defined());
    (loss * 3).backward();
    const at::Tensor scores2 = as_float_leaf(scores);
    const at::Tensor loss2 =
        torch::cross_entropy_loss(scores2, targets, {}, at::Reduction::Mean, -100, smoothing);
    (loss2 * 3).backward();
    expect_near(loss, loss2, "loss", 1e-5);
    expect_near(scores.grad(), scores2.grad(), "dscores");
  }
}

TEST_F(FusedKernels, hits_are_counted_as_by_topk) {
  for (const std::int64_t classes : {10, 100}) {
    const at::Tensor scores = torch::randn({3000, classes}, floats()).to(at::kBFloat16);
    const at::Tensor labels = torch::randint(0, classes, {3000}, floats().dtype(at::kLong));
    const at::Tensor loss = torch::full({}, 1.5, floats());
    at::Tensor sums = torch::zeros({4}, floats().dtype(at::kDouble));
    EXPECT_TRUE(ops_->count_hits({.scores = scores, .labels = labels, .loss = loss}, sums));
    const at::Tensor own = scores.to(at::kFloat).gather(1, labels.unsqueeze(1));
    const at::Tensor above = scores.to(at::kFloat).gt(own).sum(1);
    EXPECT_DOUBLE_EQ(sums[0].item<double>(), 4500);
    EXPECT_DOUBLE_EQ(sums[1].item<double>(), 3000);
    // Equal scores may count either way; there are few.
    EXPECT_NEAR(sums[2].item<double>(), above.eq(0).sum().item<double>(), 20);
    EXPECT_NEAR(sums[3].item<double>(), above.lt(5).sum().item<double>(), 40);
  }
}

TEST_F(FusedKernels, add_norm_is_what_the_plain_operations_give) {
  for (const auto& [rows, width, has_delta] :
       {std::tuple{100L, 768L, true}, {33L, 256L, true}, {8L, 1024L, false}}) {
    const at::Tensor x = torch::randn({rows, width}, floats()).set_requires_grad(true);
    const at::Tensor delta =
        has_delta ? torch::randn({rows, width}, floats()).to(at::kBFloat16).set_requires_grad(true)
                  : at::Tensor();
    const at::Tensor weight = torch::rand({width}, floats()).set_requires_grad(true);
    const at::Tensor bias = torch::randn({width}, floats()).set_requires_grad(true);
    const device::AddNormed got =
        ops_->add_norm({.x = x, .delta = delta, .weight = weight, .bias = bias});
    ASSERT_TRUE(got.normed.defined());
    const at::Tensor up1 = torch::randn({rows, width}, floats());
    const at::Tensor up2 = torch::randn({rows, width}, floats());
    ((got.sum * up1).sum() + (got.normed * up2).sum()).backward();

    const at::Tensor x2 = as_float_leaf(x);
    const at::Tensor delta2 = has_delta ? as_float_leaf(delta) : at::Tensor();
    const at::Tensor weight2 = as_float_leaf(weight);
    const at::Tensor bias2 = as_float_leaf(bias);
    const at::Tensor sum2 = has_delta ? x2 + delta2 : x2;
    const at::Tensor normed2 = torch::layer_norm(sum2, {width}, weight2, bias2, 1e-5);
    ((sum2 * up1).sum() + (normed2 * up2).sum()).backward();
    expect_near(got.sum, sum2, "sum", 1e-6);
    expect_near(got.normed, normed2, "normed");
    expect_near(x.grad(), x2.grad(), "dx");
    expect_near(weight.grad(), weight2.grad(), "dweight");
    expect_near(bias.grad(), bias2.grad(), "dbias");
    if (has_delta) {
      expect_near(delta.grad(), delta2.grad(), "ddelta");
    }
  }
}

TEST_F(FusedKernels, add_rms_norm_is_what_the_plain_operations_give) {
  for (const auto& [rows, width, has_delta, type] : {std::tuple{100L, 576L, true, at::kBFloat16},
                                                     {33L, 2048L, true, at::kFloat},
                                                     {8L, 64L, false, at::kFloat},
                                                     {5L, 4096L, false, at::kBFloat16}}) {
    const auto make = [&] {
      return torch::randn({rows, width}, floats()).to(type).set_requires_grad(true);
    };
    const at::Tensor x = make();
    const at::Tensor delta =
        has_delta ? torch::randn({rows, width}, floats()).to(at::kBFloat16).set_requires_grad(true)
                  : at::Tensor();
    const at::Tensor weight = torch::rand({width}, floats()).to(type).set_requires_grad(true);
    const device::AddNormed got =
        ops_->add_rms_norm({.x = x, .delta = delta, .weight = weight, .bias = {}, .eps = 1e-5});
    ASSERT_TRUE(got.normed.defined());
    const at::Tensor up1 = torch::randn({rows, width}, floats());
    const at::Tensor up2 = torch::randn({rows, width}, floats());
    ((got.sum * up1).sum() + (got.normed * up2).sum()).backward();

    const at::Tensor x2 = as_float_leaf(x);
    const at::Tensor delta2 = has_delta ? as_float_leaf(delta) : at::Tensor();
    const at::Tensor weight2 = as_float_leaf(weight);
    const at::Tensor sum2 = has_delta ? x2 + delta2 : x2;
    const at::Tensor normed2 =
        sum2 * torch::rsqrt(sum2.pow(2).mean(-1, /*keepdim=*/true) + 1e-5) * weight2;
    ((sum2 * up1).sum() + (normed2 * up2).sum()).backward();
    expect_near(got.sum, sum2, "sum");
    expect_near(got.normed, normed2, "normed");
    expect_near(x.grad(), x2.grad(), "dx");
    expect_near(weight.grad(), weight2.grad(), "dweight");
    if (has_delta) {
      expect_near(delta.grad(), delta2.grad(), "ddelta");
    }
  }
}

TEST_F(FusedKernels, a_frozen_rms_norm_passes_its_gradient_on) {
  const at::Tensor x = torch::randn({9, 96}, floats()).to(at::kBFloat16).set_requires_grad(true);
  const at::Tensor weight = torch::rand({96}, floats()).to(at::kBFloat16);
  ops_->add_rms_norm({.x = x, .delta = {}, .weight = weight, .bias = {}}).normed.sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

TEST_F(FusedKernels, gated_is_silu_of_the_gate_times_the_rest) {
  for (const bool is_joined : {true, false}) {
    const at::Tensor both =
        torch::randn({3, 7, 2 * 40}, floats()).to(at::kBFloat16).set_requires_grad(true);
    const auto halves = both.chunk(2, -1);
    const at::Tensor gate = is_joined ? halves[0] : halves[0].contiguous();
    const at::Tensor up = is_joined ? halves[1] : halves[1].contiguous();
    const at::Tensor y = ops_->gated(gate, up);
    ASSERT_TRUE(y.defined());
    const at::Tensor upstream = torch::randn_like(y);
    y.backward(upstream);
    const at::Tensor both2 = as_float_leaf(both);
    const auto halves2 = both2.chunk(2, -1);
    const at::Tensor y2 = torch::silu(halves2[0]) * halves2[1];
    y2.backward(upstream.to(at::kFloat));
    expect_near(y, y2, "y");
    expect_near(both.grad(), both2.grad(), "dgate and dup");
  }
}

struct JoinedCase {
  bool has_bias, has_adapters, is_rotated, is_frozen, lie_together, is_packed = false;
};

class JoinedLinears : public FusedKernels, public ::testing::WithParamInterface<JoinedCase> {
 protected:
  static constexpr std::int64_t kIn = 64;
  static constexpr std::int64_t kHead = 32;

  // The same for both, in float32 for the second.
  struct Operands {
    at::Tensor x;
    std::vector<at::Tensor> weights, biases, a, b;
  };

  static at::Tensor leaf(const at::Tensor& values, bool is_trained = true) {
    return values.detach().set_requires_grad(is_trained);
  }

  static Operands make(const JoinedCase& c) {
    Operands made;
    made.x = leaf(torch::randn({2, 5, kIn}, floats()).to(at::kBFloat16));
    const at::Tensor whole = torch::randn({kHead * 6, kIn}, floats()).to(at::kBFloat16) * 0.1;
    std::int64_t begin = 0;
    for (const std::int64_t width : {4 * kHead, kHead, kHead}) {
      const at::Tensor rows = whole.narrow(0, begin, width);
      made.weights.push_back(leaf(c.lie_together ? rows : rows.clone(), !c.is_frozen));
      made.biases.push_back(
          c.has_bias ? leaf(torch::randn({width}, floats()).to(at::kBFloat16), !c.is_frozen)
                     : at::Tensor());
      // The middle one has no adapter.
      const bool has_adapter = c.has_adapters && begin != 4 * kHead;
      made.a.push_back(has_adapter ? leaf(torch::randn({8, kIn}, floats()) * 0.1) : at::Tensor());
      made.b.push_back(has_adapter ? leaf(torch::randn({width, 8}, floats())) : at::Tensor());
      begin += width;
    }
    return made;
  }

  using Packed = std::vector<std::unique_ptr<nn::QuantizedWeight>>;

  // The weights become what is kept of them in NF4.
  static Packed pack(Operands& operands) {
    config::ModelConfig config;
    config.quantize = config::Quantize::Nf4;
    Packed packed;
    for (at::Tensor& weight : operands.weights) {
      packed.push_back(nn::make_quantized_weight(config, weight.sizes(), weight.device()));
      packed.back()->store(weight);
      weight = packed.back()->unpack(at::kBFloat16);
    }
    return packed;
  }

  static std::vector<at::Tensor> all_of(const Operands& operands) {
    std::vector<at::Tensor> all = {operands.x};
    for (const auto* list : {&operands.weights, &operands.biases, &operands.a, &operands.b}) {
      all.insert(all.end(), list->begin(), list->end());
    }
    return all;
  }
};

TEST_P(JoinedLinears, are_what_the_plain_operations_give) {
  const JoinedCase& c = GetParam();
  Operands operands = make(c);
  const auto packed = c.is_packed ? pack(operands) : Packed();
  const at::Tensor angles = torch::rand({9, kHead / 2}, floats()) * 6;
  device::JoinedLinearStep step{
      .x = operands.x, .weights = operands.weights, .biases = operands.biases};
  for (std::size_t i = 0; i < packed.size(); ++i) {
    step.packed.push_back(packed[i]->nf4().value());
    step.weights[i] = at::empty_like(operands.weights[i], at::TensorOptions(at::kMeta));
  }
  if (c.has_adapters) {
    for (std::size_t i = 0; i < 3; ++i) {
      step.adapters.push_back({.a = operands.a[i], .b = operands.b[i], .scale = 0.5});
    }
  }
  const at::Tensor positions = torch::tensor({3, 1, 4, 8, 5}, floats().dtype(at::kLong));
  if (c.is_rotated) {
    step.rotation = {.columns = 5 * kHead,
                     .cosines = angles.cos(),
                     .sines = angles.sin(),
                     .positions = positions};
  }
  const std::vector<at::Tensor> parts = ops_->joined_linear(step);
  ASSERT_EQ(parts.size(), 3);

  Operands operands2;
  operands2.x = as_float_leaf(operands.x);
  at::Tensor loss = torch::zeros({}, floats());
  at::Tensor loss2 = torch::zeros({}, floats());
  for (std::size_t i = 0; i < 3; ++i) {
    const auto copy = [&](const at::Tensor& from, std::vector<at::Tensor>& to) {
      to.push_back(from.defined() ? leaf(from.to(at::kFloat), from.requires_grad()) : from);
      return to.back();
    };
    at::Tensor y = torch::linear(operands2.x, copy(operands.weights[i], operands2.weights),
                                 copy(operands.biases[i], operands2.biases));
    const at::Tensor a = copy(operands.a[i], operands2.a);
    const at::Tensor b = copy(operands.b[i], operands2.b);
    if (a.defined()) {
      y = y + torch::linear(torch::linear(operands2.x, a), b) * 0.5;
    }
    if (c.is_rotated && i < 2) {
      const auto halves = y.unflatten(-1, {-1, kHead}).chunk(2, -1);
      const at::Tensor cosines = angles.cos().index_select(0, positions).unsqueeze(1);
      const at::Tensor sines = angles.sin().index_select(0, positions).unsqueeze(1);
      y = torch::cat(
              {halves[0] * cosines - halves[1] * sines, halves[1] * cosines + halves[0] * sines},
              -1)
              .flatten(-2);
    }
    expect_near(parts[i], y, "part");
    const at::Tensor upstream = torch::randn(y.sizes(), floats());
    loss = loss + (parts[i].to(at::kFloat) * upstream).sum();
    loss2 = loss2 + (y * upstream).sum();
  }
  loss.backward();
  loss2.backward();
  const std::vector<at::Tensor> got = all_of(operands);
  const std::vector<at::Tensor> wanted = all_of(operands2);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].defined()) {
      ASSERT_EQ(got[i].grad().defined(), wanted[i].grad().defined()) << i;
      if (got[i].grad().defined()) {
        expect_near(got[i].grad(), wanted[i].grad(), "gradient", 2e-2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, JoinedLinears,
                         ::testing::Values(JoinedCase{false, false, true, false, true},
                                           JoinedCase{true, false, true, false, false},
                                           JoinedCase{true, false, false, false, true},
                                           JoinedCase{false, true, true, true, true},
                                           JoinedCase{true, true, false, true, false},
                                           JoinedCase{false, true, true, true, false, true},
                                           JoinedCase{true, false, false, true, false, true}));

// Three steps of a parameter whose last block is short, by PyTorch's formula for AdamW.
TEST_F(FusedKernels, adamw_on_moments_in_8_bits_is_what_the_plain_operations_give) {
  constexpr std::int64_t kCount = 256 * 20 + 77;
  const auto bytes = floats().dtype(at::kByte);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto moment = [&](bool is_signed) {
      return device::CodedMoment{.codes = torch::zeros({kCount}, bytes),
                                 .absmax = torch::zeros({21}, floats()),
                                 .table = nn::dynamic_table(is_signed).to(floats().device())};
    };
    device::Adamw8bitStep step{.parameter = torch::randn({kCount}, floats()).to(type),
                               .first = moment(true),
                               .second = moment(false),
                               .step = torch::zeros({}, floats()),
                               .rate = torch::full({}, 0.01, floats()),
                               .weight_decay = 0.1};
    const auto exact = [&] { return step.parameter.to(at::kFloat).clone(); };
    at::Tensor value = exact();
    at::Tensor first = torch::zeros({kCount}, floats());
    at::Tensor second = torch::zeros({kCount}, floats());
    for (int count = 1; count <= 3; ++count) {
      step.step.fill_(count);
      step.gradient = torch::randn({kCount}, floats()).to(type);
      ASSERT_TRUE(ops_->adamw8bit(step));
      const at::Tensor g = step.gradient.to(at::kFloat);
      first = first * 0.9 + g * 0.1;
      second = second * 0.999 + g * g * 0.001;
      const at::Tensor change = first / (1 - std::pow(0.9, count)) /
                                ((second / (1 - std::pow(0.999, count))).sqrt() + 1e-8);
      value = (value * (1 - 0.01 * 0.1) - change * 0.01).to(type).to(at::kFloat);
      expect_near(step.parameter, value, "parameter", type == at::kFloat ? 1e-6 : 1e-3);
      const nn::BlockCodes firsts = nn::encode_blocks(first, step.first.table, 256);
      const nn::BlockCodes seconds = nn::encode_blocks(second, step.second.table, 256);
      const auto differ = [](const at::Tensor& a, const at::Tensor& b) {
        return a.ne(b).sum().item<std::int64_t>();
      };
      // Values between two entries may fall to either.
      EXPECT_LE(differ(step.first.codes, firsts.codes), 3);
      EXPECT_LE(differ(step.second.codes, seconds.codes), 3);
      expect_near(step.first.absmax, firsts.absmax, "greatest", 1e-6);
      first = nn::decode_blocks({step.first.codes, step.first.absmax}, step.first.table, 256);
      second = nn::decode_blocks({step.second.codes, step.second.absmax}, step.second.table, 256);
      value = exact();
    }
  }
}

TEST_F(FusedKernels, matrices_in_4_bits_are_unpacked_to_the_bit) {
  for (const bool double_quant : {true, false}) {
    config::ModelConfig config;
    config.quantize = config::Quantize::Nf4;
    config.double_quant = double_quant;
    const at::Tensor values = torch::randn({192, 320}, floats());
    const auto weight = nn::make_quantized_weight(config, values.sizes(), values.device());
    weight->store(values);
    EXPECT_TRUE(at::equal(ops_->unpack(weight->nf4().value()), weight->unpack(at::kBFloat16)));
  }
}

}  // namespace
}  // namespace kedge::kernels
