// Several documents in one row: each is computed as if it were alone.
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/attention.h"
#include "nn/model.h"

namespace kedge::nn {
namespace {

std::unique_ptr<Model> make_small(const std::string& name) {
  config::ModelConfig config;
  config.name = name;
  config.layers = 2;
  config.width = 32;
  config.heads = 4;
  config.dropout = name == "llama" ? std::nullopt : std::optional(0.0);
  auto model = make_model(config, {.context = 12, .vocab = 50});
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

at::Tensor documents_of(const std::vector<int>& numbers) {
  return torch::tensor(numbers, torch::kInt32).unsqueeze(0);
}

TEST(Documents, positions_begin_anew_with_each) {
  const at::Tensor documents =
      torch::tensor({{0, 0, 0, 1, 1, 2}, {0, 1, 1, 1, 1, 1}}, torch::kInt32);
  const at::Tensor expected = torch::tensor({{0, 1, 2, 0, 1, 0}, {0, 0, 1, 2, 3, 4}}, torch::kLong);
  EXPECT_TRUE(document_positions(documents).equal(expected));
}

TEST(Documents, no_token_sees_another_document_or_the_future) {
  const at::Tensor expected =
      torch::tensor({{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 1, 1}}, torch::kBool);
  EXPECT_TRUE(seen_in_documents(documents_of({0, 0, 1, 1})).equal(expected.view({1, 1, 4, 4})));
}

class DocumentsModel : public testing::TestWithParam<std::string> {};

TEST_P(DocumentsModel, scores_are_those_of_each_alone) {
  torch::manual_seed(1);
  const auto model = make_small(GetParam());
  ASSERT_TRUE(model->takes_documents());
  const at::Tensor tokens = torch::randint(0, 50, {1, 12}, torch::kLong);
  const at::Tensor packed =
      model->forward({tokens, documents_of({0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2})});
  for (const auto& [from, count] : {std::pair(0, 5), std::pair(5, 4), std::pair(9, 3)}) {
    const at::Tensor alone = model->forward(tokens.narrow(1, from, count));
    EXPECT_TRUE(torch::allclose(packed.narrow(1, from, count), alone, 1e-5, 1e-6)) << from;
  }
}

TEST_P(DocumentsModel, gradients_are_those_of_each_alone) {
  torch::manual_seed(2);
  const auto model = make_small(GetParam());
  const at::Tensor tokens = torch::randint(0, 50, {1, 12}, torch::kLong);
  const auto gradients = [&](const std::function<at::Tensor()>& total) {
    for (const auto& [name, tensor] : model->parameters()) {
      tensor.mutable_grad() = at::Tensor();
    }
    total().backward();
    NamedTensors found;
    for (const auto& [name, tensor] : model->parameters()) {
      found.emplace_back(name, tensor.grad().clone());
    }
    return found;
  };
  const NamedTensors packed = gradients([&] {
    return model->forward({tokens, documents_of({0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1})})
        .square()
        .sum();
  });
  const NamedTensors apart = gradients([&] {
    return model->forward(tokens.narrow(1, 0, 7)).square().sum() +
           model->forward(tokens.narrow(1, 7, 5)).square().sum();
  });
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const double scale = apart[i].second.abs().max().item<double>();
    EXPECT_TRUE(torch::allclose(packed[i].second, apart[i].second, 1e-4, 1e-5 * scale))
        << packed[i].first;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, DocumentsModel, testing::Values("llama", "gpt-nano"));

}  // namespace
}  // namespace kedge::nn
