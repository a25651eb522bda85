// What decoding asks for, against the plain operations in float32.
#include <cstdint>

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "kernels/internal/fused_test_case.h"
#include "nn/quantized_weight.h"

namespace kedge::kernels {
namespace {

constexpr std::int64_t kPackedIn = 4160;  // more than a block takes in one turn

class Decoding : public FusedKernels {
 protected:
  static at::Tensor values(at::IntArrayRef sizes) {
    return torch::randn(sizes, floats()).to(at::kBFloat16);
  }
};

TEST_F(Decoding, few_rows_are_multiplied_as_many_are) {
  const torch::NoGradGuard no_grad;
  for (const std::int64_t rows : {1, 2, 3, 8}) {
    // The first is larger than a block takes in one turn, the second no multiple of its outputs.
    for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{4128, 16}, {40, 27}}) {
      for (const bool has_bias : {false, true}) {
        const at::Tensor x = values({rows, 1, in});
        const at::Tensor weight = values({out, in});
        const at::Tensor bias = has_bias ? values({out}) : at::Tensor();
        const auto parts = ops_->joined_linear({.x = x, .weights = {weight}, .biases = {bias}});
        ASSERT_EQ(parts.size(), 1);
        EXPECT_EQ(parts[0].sizes(), (std::vector<std::int64_t>{rows, 1, out}));
        const auto wide = [](const at::Tensor& t) { return t.defined() ? t.to(at::kFloat) : t; };
        expect_near(parts[0], torch::linear(wide(x), wide(weight), wide(bias)), "product", 4e-3);
      }
    }
  }
}

// Two layers on one input; the weights' values are what they unpack to.
TEST_F(Decoding, few_rows_are_multiplied_with_weights_as_they_are_kept) {
  const torch::NoGradGuard no_grad;
  for (const auto format : {config::Quantize::Nf4, config::Quantize::Int8}) {
    for (const std::int64_t rows : {1, 3, 8}) {
      config::ModelConfig config;
      config.quantize = format;
      const at::Tensor x = values({rows, 1, kPackedIn});
      device::JoinedLinearStep step{.x = x};
      std::vector<at::Tensor> wanted;
      for (const std::int64_t out : {10, 6}) {
        const auto weight = nn::make_quantized_weight(config, {out, kPackedIn}, x.device());
        weight->allocate(x.device());
        weight->store(torch::randn({out, kPackedIn}, floats()));
        step.weights.push_back(torch::empty({out, kPackedIn}, at::kMeta));
        step.biases.push_back(values({out}));
        if (const auto nf4 = weight->nf4()) {
          step.packed.push_back(*nf4);
        } else {
          step.bytes.push_back(weight->int8().value());
        }
        wanted.push_back(torch::linear(x.to(at::kFloat), weight->unpack(at::kFloat),
                                       step.biases.back().to(at::kFloat)));
      }
      const auto parts = ops_->joined_linear(step);
      ASSERT_EQ(parts.size(), 2);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].sizes(), wanted[i].sizes());
        expect_near(parts[i], wanted[i], "packed product", 4e-3);
      }
    }
  }
}

TEST_F(Decoding, eight_bits_that_are_trained_through_are_left_to_others) {
  config::ModelConfig config;
  config.quantize = config::Quantize::Int8;
  const at::Tensor x = values({2, 64});
  const auto weight = nn::make_quantized_weight(config, {4, 64}, x.device());
  weight->allocate(x.device());
  weight->store(torch::randn({4, 64}, floats()));
  const device::JoinedLinearStep step{.x = x,
                                      .weights = {torch::empty({4, 64}, at::kMeta)},
                                      .bytes = {weight->int8().value()},
                                      .biases = {at::Tensor()}};
  EXPECT_TRUE(ops_->joined_linear(step).empty());
  const torch::NoGradGuard no_grad;
  EXPECT_EQ(ops_->joined_linear(step).size(), 1);
}

struct CacheCase {
  std::int64_t heads, key_heads, room, width, window;
};

class CachedAttention : public Decoding, public ::testing::WithParamInterface<CacheCase> {};

TEST_P(CachedAttention, is_the_softmax_over_what_was_before_and_the_token_itself) {
  const CacheCase& c = GetParam();
  const std::int64_t texts = 3;
  const at::Tensor places = torch::tensor({0L, 70L, c.room - 1}, at::kLong);
  const at::Tensor keys = values({texts, c.key_heads, c.room, c.width});
  const at::Tensor cached = values({texts, c.key_heads, c.room, c.width});
  const at::Tensor qkv = values({texts, 1, (c.heads + 2 * c.key_heads) * c.width});
  const auto heads = [&](std::int64_t begin, std::int64_t count) {
    return qkv.narrow(2, begin * c.width, count * c.width)
        .unflatten(-1, {count, c.width})
        .transpose(1, 2);
  };
  const at::Tensor q = heads(0, c.heads);
  const at::Tensor k = heads(c.heads, c.key_heads);
  const at::Tensor v = heads(c.heads + c.key_heads, c.key_heads);

  const at::Tensor at =
      places.to(keys.device()).view({texts, 1, 1, 1}).expand({texts, c.key_heads, 1, c.width});
  const at::Tensor all_keys = keys.scatter(2, at, k);
  const at::Tensor all_values = cached.scatter(2, at, v);
  const at::Tensor y = ops_->attend_cached({.q = q,
                                            .k = k,
                                            .v = v,
                                            .keys = keys,
                                            .values = cached,
                                            .places = places.to(keys.device()),
                                            .window = c.window});

  EXPECT_TRUE(keys.equal(all_keys));
  EXPECT_TRUE(cached.equal(all_values));
  const std::int64_t group = c.heads / c.key_heads;
  const auto wide = [&](const at::Tensor& t) {
    return t.to(at::kFloat).repeat_interleave(group, 1);
  };
  const at::Tensor tokens = torch::arange(c.room);
  at::Tensor is_seen = tokens.unsqueeze(0).le(places.unsqueeze(1));
  if (c.window > 0) {
    is_seen = is_seen.logical_and(tokens.unsqueeze(0).gt(places.unsqueeze(1) - c.window));
  }
  const at::Tensor scores =
      q.to(at::kFloat).matmul(wide(all_keys).transpose(2, 3)) / std::sqrt(c.width);
  const at::Tensor shares =
      scores.masked_fill(is_seen.to(keys.device()).logical_not().view({texts, 1, 1, c.room}), -1e9)
          .softmax(-1);
  expect_near(y, shares.matmul(wide(all_values)), "attention");
}

// Groups of 1, 3, 4 and 7 heads; rooms of one part and of many.
INSTANTIATE_TEST_SUITE_P(Kinds, CachedAttention,
                         ::testing::Values(CacheCase{2, 2, 96, 64, 0}, CacheCase{6, 2, 256, 64, 0},
                                           CacheCase{8, 2, 1200, 128, 0},
                                           CacheCase{7, 1, 300, 32, 50},
                                           CacheCase{4, 1, 80, 256, 7}));

}  // namespace
}  // namespace kedge::kernels
