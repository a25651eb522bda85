#include "nn/script_model.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "nn/script_export.h"

namespace kedge::nn {
namespace {

using testing::HasSubstr;
using testing::Not;

const Signature kTask{.height = 8, .width = 8, .channels = 1, .classes = 3};

Path fixture(const std::string& name) {
  return Path(KEDGE_FIXTURES) / "nn" / name;
}

Path scratch_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "." + std::to_string(getpid()));
}

TEST(ScriptModel, is_made_from_model_file) {
  config::ModelConfig config;
  config.file = fixture("scripted.pt").string();
  const auto model = make_model(config, kTask);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(count_parameters(**model), 819);
  EXPECT_EQ((*model)->parameters().front().first, "conv.weight");
  EXPECT_EQ((*model)->names().head, "fc.");
  EXPECT_EQ((*model)->buffers().size(), 3U);
}

TEST(ScriptModel, trains_natively) {
  torch::manual_seed(1);
  const auto model = load_script_model(fixture("scripted.pt"), kTask).value();
  model->set_training(true);
  const at::Tensor input = torch::randn({16, 1, 8, 8});
  const at::Tensor targets = torch::randint(3, {16});
  double first = 0;
  double last = 0;
  for (int step = 0; step < 30; ++step) {
    const at::Tensor loss = torch::cross_entropy_loss(model->forward(input), targets);
    loss.backward();
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : model->parameters()) {
      tensor.sub_(tensor.grad(), 0.05);
      tensor.mutable_grad().reset();
    }
    last = loss.item<double>();
    first = step == 0 ? last : first;
  }
  EXPECT_LT(last, first / 2);
}

TEST(ScriptModel, drops_out_only_in_training) {
  const auto model = load_script_model(fixture("scripted.pt"), kTask).value();
  const at::Tensor input = torch::ones({2, 1, 8, 8});
  model->set_training(false);
  EXPECT_TRUE(torch::equal(model->forward(input), model->forward(input)));
  model->set_training(true);
  EXPECT_FALSE(torch::equal(model->forward(input), model->forward(input)));
}

TEST(ScriptModel, changes_its_type_but_not_its_counters) {
  const auto model = load_script_model(fixture("scripted.pt"), kTask).value();
  model->to(torch::kBFloat16);
  for (const auto& [name, tensor] : model->buffers()) {
    EXPECT_EQ(tensor.is_floating_point(), !name.ends_with("num_batches_tracked")) << name;
  }
  const at::Tensor input = torch::ones({2, 1, 8, 8}, torch::kBFloat16);
  EXPECT_EQ(model->forward(input).scalar_type(), torch::kBFloat16);
}

TEST(ScriptModel, is_exported_as_it_came) {
  const auto model = load_script_model(fixture("scripted.pt"), kTask).value();
  const Path file = scratch_file("scripted.pt");
  ASSERT_TRUE(write_script(*model, kTask, "{}", file));
  const auto again = load_script_model(file, kTask);
  ASSERT_TRUE(again) << again.error().message;
  (*again)->set_training(false);
  const at::Tensor input = torch::randn({5, 1, 8, 8});
  EXPECT_TRUE(torch::equal((*again)->forward(input), model->forward(input)));
  std::filesystem::remove(file);
}

void expect_refused(const Path& file, const Signature& signature, const std::string& message) {
  const auto model = load_script_model(file, signature);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr(message));
  EXPECT_THAT(model.error().message, HasSubstr(file.string()));
  EXPECT_THAT(model.error().message, Not(HasSubstr("\n")));
  EXPECT_FALSE(model.error().hint.empty());
}

TEST(ScriptModel, that_does_not_exist_is_refused) {
  expect_refused("no/such/file.pt", kTask, "does not exist");
}

TEST(ScriptModel, that_is_no_torchscript_is_refused) {
  const Path file = scratch_file("not_script.pt");
  std::ofstream(file) << "weights: none\n";
  expect_refused(file, kTask, "is not a TorchScript file");
  std::filesystem::remove(file);
}

TEST(ScriptModel, that_is_cut_off_is_refused) {
  const Path file = scratch_file("cut.pt");
  std::filesystem::copy_file(fixture("scripted.pt"), file,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(file, 4000);
  expect_refused(file, kTask, "is not a TorchScript file");
  std::filesystem::remove(file);
}

TEST(ScriptModel, with_other_scores_than_the_data_ask_for_is_refused) {
  expect_refused(fixture("scripted.pt"), {.height = 8, .width = 8, .channels = 1, .classes = 10},
                 "gives shape [2, 3] where the data ask for scores of shape [2, 10]");
  expect_refused(fixture("scripted_pair.pt"), kTask, "gives a Tuple where the data ask");
}

TEST(ScriptModel, that_cannot_take_the_data_is_refused) {
  expect_refused(fixture("scripted.pt"), {.height = 16, .width = 16, .channels = 1, .classes = 3},
                 "mat1 and mat2 shapes cannot be multiplied");
}

TEST(ScriptModel, without_parameters_is_refused) {
  expect_refused(fixture("frozen.pt"), kTask, "has no parameters to train");
}

}  // namespace
}  // namespace kedge::nn
