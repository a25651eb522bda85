#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "train/task.h"

namespace kedge::train {
namespace {

using testing::ElementsAre;

class MetersTest : public testing::Test {
 protected:
  static std::unique_ptr<Meters> meters_of(const std::string& task, std::int64_t classes,
                                           const MeterOptions& options = {}) {
    return Tasks::make("task", task).value()->make_meters({.classes = classes}, options);
  }

  std::unique_ptr<dist::ProcessGroup> group_ = dist::make_single_process_group();
};

// Scores that put class `winner` first and the others in falling order of their number.
at::Tensor scores_for(std::int64_t winner, std::int64_t classes) {
  at::Tensor scores = -torch::arange(classes, torch::kFloat32);
  scores[winner] = 1;
  return scores.unsqueeze(0);
}

TEST_F(MetersTest, a_small_last_batch_weighs_by_its_samples) {
  const auto meters = meters_of("classification", 2);
  meters->add(torch::tensor(1.0F), torch::tensor({{1.0F, 0.0F}, {1.0F, 0.0F}, {0.0F, 1.0F}}),
              {.x = {}, .y = torch::tensor({0, 1, 1}, torch::kInt64)});
  meters->add(torch::tensor(5.0F), torch::tensor({{1.0F, 0.0F}}),
              {.x = {}, .y = torch::tensor({1}, torch::kInt64)});
  const Metrics metrics = meters->read("val/", *group_);
  EXPECT_DOUBLE_EQ(metrics.at("val/loss"), (3 * 1.0 + 1 * 5.0) / 4);
  EXPECT_DOUBLE_EQ(metrics.at("val/accuracy"), 2.0 / 4);
  EXPECT_FALSE(metrics.contains("val/top5")) << "with two classes everything is in the top five";
}

TEST_F(MetersTest, the_top_five_hold_the_label_or_not) {
  const auto meters = meters_of("classification", 7);
  // Winner 6, then 0, 1, 2, 3: label 3 is the fifth, label 4 the sixth.
  meters->add(torch::tensor(0.0F), scores_for(6, 7),
              {.x = {}, .y = torch::tensor({3}, torch::kInt64)});
  meters->add(torch::tensor(0.0F), scores_for(6, 7),
              {.x = {}, .y = torch::tensor({4}, torch::kInt64)});
  const Metrics metrics = meters->read("", *group_);
  EXPECT_DOUBLE_EQ(metrics.at("top5"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("accuracy"), 0);
}

TEST_F(MetersTest, confusion_counts_rows_by_truth_and_columns_by_prediction) {
  const auto meters = meters_of("classification", 3, {.with_confusion = true});
  for (const auto& [label, predicted] : {std::pair{0, 0}, {0, 2}, {1, 1}, {2, 0}, {0, 2}}) {
    meters->add(torch::tensor(0.0F), scores_for(predicted, 3),
                {.x = {}, .y = torch::tensor({label}, torch::kInt64)});
  }
  EXPECT_THAT(meters->read_confusion(*group_),
              ElementsAre(ElementsAre(1, 0, 2), ElementsAre(0, 1, 0), ElementsAre(1, 0, 0)));
}

TEST_F(MetersTest, perplexity_is_the_exponential_of_the_mean_loss_per_token) {
  const auto meters = meters_of("language_modelling", 0);
  const at::Tensor labels = torch::zeros({2, 3}, torch::kInt64);
  meters->add(torch::tensor(1.0F), {}, {.x = {}, .y = labels});
  meters->add(torch::tensor(2.0F), {}, {.x = {}, .y = labels});
  const Metrics metrics = meters->read("val/", *group_);
  EXPECT_DOUBLE_EQ(metrics.at("val/perplexity"), std::exp(1.5));
  EXPECT_EQ(metrics.size(), 2U);
}

TEST_F(MetersTest, of_masked_targets_only_those_that_count_do) {
  const auto meters = meters_of("language_modelling", 0);
  const at::Tensor targets = torch::tensor({{7, -100, -100}, {3, -100, 5}}, torch::kInt64);
  meters->add(torch::tensor(1.0F), {},
              {.x = {}, .y = targets, .counted = torch::tensor(3.0, torch::kFloat64)});
  meters->add(torch::tensor(5.0F), {},
              {.x = {}, .y = targets, .counted = torch::tensor(1.0, torch::kFloat64)});
  EXPECT_DOUBLE_EQ(meters->read("", *group_).at("loss"), (3 * 1.0 + 1 * 5.0) / 4);
}

TEST_F(MetersTest, reset_forgets) {
  const auto meters = meters_of("classification", 2);
  meters->add(torch::tensor(9.0F), scores_for(0, 2),
              {.x = {}, .y = torch::tensor({0}, torch::kInt64)});
  meters->reset();
  EXPECT_DOUBLE_EQ(meters->read("", *group_).at("loss"), 0);
}

}  // namespace
}  // namespace kedge::train
