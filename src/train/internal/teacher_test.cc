#include "train/internal/teacher.h"

#include <memory>

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace kedge::train {
namespace {

// Scores its input's first rows by a table, whatever the input is.
class FixedScores : public nn::Model {
 public:
  explicit FixedScores(at::Tensor scores) : scores_(std::move(scores)) {}

  at::Tensor forward(const nn::ModelInput&) override { return scores_; }

  nn::NamedTensors parameters() const override { return {{"scores", scores_}}; }

  nn::NamedTensors buffers() const override { return {}; }

  void set_training(bool) override {}

  void to(at::Device) override {}

  void to(at::ScalarType) override {}

 private:
  at::Tensor scores_;
};

// Expected values: PyTorch 2.11,
//   0.3 * F.cross_entropy(s, y) + 0.7 * 4 *
//   F.kl_div(F.log_softmax(s / 2, 1), F.softmax(t / 2, 1), reduction="batchmean")
// of the rows that count, and its gradient.
TEST(teacher, mixes_the_loss_with_the_distance_to_its_scores) {
  const at::Tensor wanted =
      torch::tensor({{2.0F, 0.0F, -1.0F}, {0.5F, 1.5F, 0.0F}, {9.0F, 0.0F, 0.0F}});
  Teacher teacher(std::make_unique<FixedScores>(wanted),
                  {.teacher = "t", .weight = 0.7, .temperature = 2});
  const at::Tensor scores =
      torch::tensor({{1.0F, 0.5F, -0.5F}, {-1.0F, 1.0F, 2.0F}, {0.0F, 1.0F, 0.0F}})
          .requires_grad_();
  const at::Tensor targets = torch::tensor({0, 1, -100}, torch::kInt64);
  const at::Tensor own = torch::cross_entropy_loss(scores, targets);
  const at::Tensor loss = teacher.mix(own, scores, {.x = scores, .y = targets});
  EXPECT_NEAR(loss.item<double>(), 0.7166468, 1e-6);
  loss.backward();
  const at::Tensor expected = torch::tensor({{-0.1970400F, 0.1300361F, 0.0670040F},
                                             {-0.1135952F, -0.2157432F, 0.3293384F},
                                             {0.0000000F, 0.0000000F, 0.0000000F}});
  EXPECT_TRUE(torch::allclose(scores.grad(), expected, 1e-5, 1e-6)) << scores.grad();
}

// Expected values: PyTorch 2.11, as above with the probabilities of all but a row's two likeliest
// added up, of the teacher's scores {{2, 0, -1, 0.5}, {0.5, 1.5, 0, -0.5}, {1, 2, 3, 4}}.
TEST(teacher, mixes_the_loss_with_the_distance_to_scores_of_which_the_likeliest_were_kept) {
  const at::Tensor kept = torch::tensor({{-0.7243436F, -1.4743435F, -1.2502666F},
                                         {-0.8947715F, -1.3947716F, -1.0688320F},
                                         {-0.7873387F, -1.2873386F, -1.3132617F}});
  const at::Tensor scores =
      torch::tensor(
          {{1.0F, 0.5F, -0.5F, 0.0F}, {-1.0F, 1.0F, 2.0F, 0.5F}, {0.0F, 0.0F, 1.0F, 0.0F}})
          .requires_grad_();
  Inputs inputs{.x = scores, .y = torch::tensor({0, 1, -100}, torch::kInt64)};
  inputs.teacher_scores = kept.to(torch::kHalf).view(torch::kByte);
  inputs.teacher_ids = torch::tensor({{0, 3}, {1, 0}, {3, 2}}, torch::kInt32).unsqueeze(1);
  const at::Tensor own = torch::cross_entropy_loss(scores, inputs.y);
  const at::Tensor loss = mix_with_stored({.weight = 0.7, .temperature = 2}, own, scores, inputs);
  EXPECT_NEAR(loss.item<double>(), 0.6955266, 1e-3);
  loss.backward();
  const at::Tensor expected = torch::tensor({{-0.1760393F, 0.1073667F, 0.0552409F, 0.0134316F},
                                             {-0.1011219F, -0.2180258F, 0.2322334F, 0.0869143F},
                                             {0.0F, 0.0F, 0.0F, 0.0F}});
  EXPECT_TRUE(torch::allclose(scores.grad(), expected, 1e-3, 1e-3)) << scores.grad();
}

}  // namespace
}  // namespace kedge::train
