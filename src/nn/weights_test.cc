#include "nn/weights.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "checkpoint/tensor_file.h"
#include "nn/internal/weight_names.h"
#include "nn/tensor_view.h"

namespace kedge::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Model> make_convnet(std::int64_t classes, std::uint64_t seed) {
  torch::manual_seed(seed);
  config::ModelConfig config;
  config.name = "convnet";
  auto model = make_model(config, {.height = 8, .width = 8, .channels = 1, .classes = classes});
  return std::move(model).value();
}

class Weights : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }

  // Writes the model's tensors, each renamed, or left out where the new name is empty.
  void save(const Model& model, const std::function<std::string(std::string)>& rename,
            at::ScalarType type = at::kFloat) {
    std::vector<at::Tensor> tensors;
    std::vector<checkpoint::TensorView> views;
    for (const NamedTensors& list : {model.parameters(), model.buffers()}) {
      for (const auto& [name, tensor] : list) {
        const std::string new_name = rename(name);
        if (!new_name.empty()) {
          tensors.push_back(tensor.is_floating_point() ? tensor.detach().to(type) : tensor);
          views.push_back(to_view(new_name, tensors.back()));
        }
      }
    }
    const auto written = checkpoint::write_safetensors(file_, views, {});
    ASSERT_TRUE(written) << written.error().message;
  }

  Path file_ = std::filesystem::temp_directory_path() /
               ("kedge_weights." + std::to_string(getpid()) + ".safetensors");
};

std::string same(std::string name) {
  return name;
}

void expect_equal(const Model& a, const Model& b) {
  const NamedTensors left = a.parameters();
  const NamedTensors right = b.parameters();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_TRUE(torch::equal(left[i].second, right[i].second)) << left[i].first;
  }
}

TEST_F(Weights, are_found_behind_prefixes) {
  const auto source = make_convnet(3, 1);
  for (const std::string prefix :
       {"module.", "model.", "_orig_mod.", "module._orig_mod.", "backbone.", "net.encoder."}) {
    save(*source, [&](const std::string& name) { return prefix + name; });
    const auto target = make_convnet(3, 2);
    const auto report = load_weights(*target, file_);
    ASSERT_TRUE(report) << prefix << ": " << report.error().message;
    EXPECT_TRUE(report->unused.empty());
    expect_equal(*source, *target);
  }
}

TEST(WeightNames, match_when_only_the_model_has_a_prefix) {
  const auto matched = match_names({"backbone.conv.weight", "backbone.fc.weight", "head.weight"},
                                   {"conv.weight", "fc.weight", "other"});
  EXPECT_THAT(matched, ElementsAre(testing::Pair("backbone.conv.weight", "conv.weight"),
                                   testing::Pair("backbone.fc.weight", "fc.weight")));
}

TEST(WeightNames, match_when_torch_compile_renamed_inner_modules) {
  const auto matched = match_names({"layer.0.weight"}, {"module.layer._orig_mod.0.weight"});
  EXPECT_EQ(matched.at("layer.0.weight"), "module.layer._orig_mod.0.weight");
}

TEST_F(Weights, of_a_head_with_other_classes_are_left_new) {
  const auto source = make_convnet(5, 1);
  save(*source, same);
  const auto target = make_convnet(3, 2);
  const at::Tensor head_before = target->parameters().back().second.detach().clone();
  const auto report = load_weights(*target, file_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->new_head, ElementsAre("fc.weight", "fc.bias"));
  EXPECT_TRUE(torch::equal(target->parameters().back().second, head_before));
  EXPECT_TRUE(
      torch::equal(target->parameters().front().second, source->parameters().front().second));
}

TEST_F(Weights, without_a_head_leave_it_new) {
  save(*make_convnet(5, 1), [](std::string name) { return name.starts_with("fc.") ? "" : name; });
  const auto target = make_convnet(3, 2);
  const auto report = load_weights(*target, file_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->new_head, ElementsAre("fc.weight", "fc.bias"));
}

TEST_F(Weights, in_half_precision_are_converted) {
  const auto source = make_convnet(3, 1);
  save(*source, same, at::kBFloat16);
  const auto target = make_convnet(3, 2);
  ASSERT_TRUE(load_weights(*target, file_));
  const at::Tensor weight = target->parameters().front().second;
  EXPECT_EQ(weight.scalar_type(), at::kFloat);
  EXPECT_TRUE(
      torch::equal(weight, source->parameters().front().second.to(at::kBFloat16).to(at::kFloat)));
}

TEST_F(Weights, that_lack_a_tensor_are_refused_and_nothing_is_copied) {
  save(*make_convnet(3, 1),
       [](std::string name) { return name.starts_with("layer2.1.") ? "" : name; });
  const auto target = make_convnet(3, 2);
  const auto report = load_weights(*target, file_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Usage);
  EXPECT_THAT(report.error().message, HasSubstr("lacks 4 of the model's 16 tensors: "
                                                "layer2.1.weight, layer2.1.bias, "
                                                "layer2.1.running_mean and 1 more"));
  expect_equal(*target, *make_convnet(3, 2));
}

TEST_F(Weights, of_another_shape_are_refused_with_both_shapes) {
  torch::manual_seed(1);
  config::ModelConfig config;
  config.name = "convnet";
  const auto colour =
      make_model(config, {.height = 8, .width = 8, .channels = 3, .classes = 3}).value();
  save(*colour, same);
  const auto target = make_convnet(3, 2);
  const auto report = load_weights(*target, file_);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message,
              HasSubstr("layer1.0.weight has shape [16, 3, 5, 5], the model's layer1.0.weight has "
                        "[16, 1, 5, 5]"));
  expect_equal(*target, *make_convnet(3, 2));
}

TEST_F(Weights, of_a_longer_context_are_cut_to_the_models_positions) {
  config::ModelConfig config;
  config.name = "gpt-nano";
  const auto longer = make_model(config, {.context = 16, .vocab = 32}).value();
  save(*longer, same);
  const auto shorter = make_model(config, {.context = 4, .vocab = 32}).value();
  const auto report = load_weights(*shorter, file_);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(torch::equal(shorter->parameters()[1].second,
                           longer->parameters()[1].second.narrow(0, 0, 4)));
}

TEST(Freeze, stops_the_parameters_that_match) {
  const auto model = make_convnet(3, 1);
  const auto count = freeze(*model, {"layer1.*", "layer2.?.bias"});
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_EQ(*count, 6);
  for (const auto& [name, tensor] : model->parameters()) {
    const bool is_frozen =
        name.starts_with("layer1.") || name == "layer2.0.bias" || name == "layer2.1.bias";
    EXPECT_EQ(tensor.requires_grad(), !is_frozen) << name;
  }
}

TEST(Freeze, refuses_a_pattern_that_matches_nothing) {
  const auto model = make_convnet(3, 1);
  const auto count = freeze(*model, {"layer1.*", "layer9.*"});
  ASSERT_FALSE(count);
  EXPECT_THAT(count.error().message, HasSubstr("'layer9.*' matches no parameter"));
  EXPECT_TRUE(model->parameters().front().second.requires_grad());
}

TEST(Finetune, without_weights_is_refused) {
  const auto model = make_convnet(3, 1);
  config::ModelConfig config;
  config.finetune = true;
  const auto report = apply_weights(*model, config);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::Usage);
  EXPECT_THAT(report.error().hint, HasSubstr("model.weights"));
}

TEST_F(Weights, finetune_trains_only_the_head) {
  save(*make_convnet(5, 1), same);
  const auto model = make_convnet(3, 2);
  config::ModelConfig config;
  config.finetune = true;
  config.weights = file_.string();
  ASSERT_TRUE(apply_weights(*model, config));
  for (const auto& [name, tensor] : model->parameters()) {
    EXPECT_EQ(tensor.requires_grad(), name.starts_with("fc.")) << name;
  }
}

TEST(Patterns, match_as_in_a_shell) {
  EXPECT_TRUE(matches_pattern("*", "fc.weight"));
  EXPECT_TRUE(matches_pattern("*.bn?.*", "layer1.0.bn1.weight"));
  EXPECT_TRUE(matches_pattern("a*b*c", "axxbxxbxc"));
  EXPECT_FALSE(matches_pattern("a*b*c", "axxbxxbx"));
  EXPECT_FALSE(matches_pattern("fc", "fc.weight"));
  EXPECT_TRUE(matches_pattern("", ""));
}

TEST(TensorViews, keep_every_type_and_value) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                    at::kInt, at::kShort, at::kChar, at::kByte, at::kBool}) {
    const at::Tensor tensor = torch::arange(6).reshape({2, 3}).to(type);
    const checkpoint::TensorView view = to_view("x", tensor);
    EXPECT_EQ(view.bytes.size(), tensor.nbytes());
    EXPECT_TRUE(torch::equal(to_tensor(view), tensor)) << tensor.dtype();
  }
}

}  // namespace
}  // namespace kedge::nn
