// The loss of a last layer whose scores are never all there, against PyTorch's own operations on
// all of them.
#include "nn/internal/linear_cross_entropy.h"

#include <tuple>

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/targets.h"
#include "nn/loss.h"

namespace kedge::nn {
namespace {

constexpr std::int64_t kWidth = 12;
constexpr std::int64_t kVocab = 40;

struct Found {
  at::Tensor loss;
  at::Tensor features_gradient;
  at::Tensor weight_gradient;
};

class LinearCrossEntropyTest : public testing::TestWithParam<std::tuple<double, double>> {
 protected:
  LinearCrossEntropyTest() {
    torch::manual_seed(1);
    features_ = torch::randn({3, 200, kWidth}, torch::kDouble);
    weight_ = torch::randn({kVocab, kWidth}, torch::kDouble);
    targets_ = torch::randint(0, kVocab, {3, 200}, torch::kLong);
    targets_.index_put_({0, at::indexing::Slice(0, 150)}, kIgnoredTarget);
  }

  double smoothing() const { return std::get<0>(GetParam()); }

  double z_loss() const { return std::get<1>(GetParam()); }

  // The gradients of 3 * loss.
  Found find(const std::function<at::Tensor(const Head&)>& loss_of) const {
    const Head head{.features = features_.clone().requires_grad_(),
                    .weight = weight_.clone().requires_grad_()};
    const at::Tensor loss = loss_of(head);
    (loss * 3).backward();
    return {loss.detach(), head.features.grad(), head.weight.grad()};
  }

  at::Tensor whole(const Head& head) const {
    const at::Tensor scores = torch::linear(head.features, head.weight).flatten(0, 1);
    const at::Tensor targets = targets_.flatten();
    const at::Tensor counted = scores.index({targets.ge(0)});
    return torch::cross_entropy_loss(scores, targets, {}, at::Reduction::Mean, kIgnoredTarget,
                                     smoothing()) +
           counted.logsumexp(1).square().mean() * z_loss();
  }

  at::Tensor features_;
  at::Tensor weight_;
  at::Tensor targets_;
};

TEST_P(LinearCrossEntropyTest, stretches_give_the_loss_and_gradients_of_the_whole) {
  const Found expected = find([&](const Head& head) { return whole(head); });
  // 600 rows in stretches of 256.
  const Found found = find([&](const Head& head) {
    return linear_cross_entropy(
        head, targets_,
        {.smoothing = smoothing(), .z_loss = z_loss(), .scores_at_once = 256 * kVocab});
  });
  EXPECT_TRUE(torch::allclose(found.loss, expected.loss, 1e-12));
  EXPECT_TRUE(torch::allclose(found.features_gradient, expected.features_gradient, 1e-9, 1e-12));
  EXPECT_TRUE(torch::allclose(found.weight_gradient, expected.weight_gradient, 1e-9, 1e-12));
}

TEST_P(LinearCrossEntropyTest, the_loss_plugin_gives_the_same_of_all_scores) {
  const auto loss =
      Losses::make("loss", "cross_entropy",
                   config::LossConfig{.label_smoothing = smoothing(), .z_loss = z_loss()},
                   std::make_shared<const device::Context>());
  ASSERT_TRUE(loss);
  const Found expected = find([&](const Head& head) { return whole(head); });
  const Found found = find([&](const Head& head) {
    return (**loss)(torch::linear(head.features, head.weight), targets_);
  });
  EXPECT_TRUE(torch::allclose(found.loss, expected.loss, 1e-6));
  EXPECT_TRUE(torch::allclose(found.weight_gradient, expected.weight_gradient, 1e-6, 1e-9));
}

INSTANTIATE_TEST_SUITE_P(Options, LinearCrossEntropyTest,
                         testing::Values(std::tuple(0.0, 0.0), std::tuple(0.1, 0.0),
                                         std::tuple(0.0, 1e-2), std::tuple(0.1, 1e-2)));

TEST(LinearCrossEntropy, a_frozen_head_gets_no_gradient) {
  const Head head{.features = torch::randn({300, kWidth}).requires_grad_(),
                  .weight = torch::randn({kVocab, kWidth})};
  const at::Tensor targets = torch::randint(0, kVocab, {300}, torch::kLong);
  linear_cross_entropy(head, targets, {}).backward();
  EXPECT_TRUE(head.features.grad().defined());
  EXPECT_FALSE(head.weight.grad().defined());
}

TEST(LinearCrossEntropy, few_scores_are_computed_at_once) {
  const Head few{.features = torch::empty({2, 100, 8}), .weight = torch::empty({1000, 8})};
  const at::Tensor many = torch::empty({1}).expand({4, 2048, 8});
  const at::Tensor table = torch::empty({1}).expand({128256, 8});
  device::Context context;
  EXPECT_FALSE(pays_in_stretches(few, context));
  EXPECT_TRUE(pays_in_stretches({.features = many, .weight = table}, context));
  context.precision = config::Precision::Fp16;
  EXPECT_FALSE(pays_in_stretches({.features = many, .weight = table}, context));
}

}  // namespace
}  // namespace kedge::nn
