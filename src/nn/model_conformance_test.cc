// What every registered model must do; a new model is tested without an edit here.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/script.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <unistd.h>

#include "checkpoint/tensor_file.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/script_export.h"
#include "nn/tensor_view.h"
#include "nn/weights.h"

namespace kedge::nn {
namespace {

using testing::HasSubstr;

// Transformers are tried small; other models have no such options.
config::ModelConfig small_config(const std::string& name, double dropout = 0) {
  config::ModelConfig config;
  config.name = name;
  config.stem = config::Stem::Imagenet;
  config.hidden = {16};
  config.layers = 2;
  config.width = 48;
  config.dropout = dropout;
  return config;
}

struct Sample {
  Signature signature;
  at::Tensor input;
  at::Tensor targets;
  std::unique_ptr<Model> model;
};

// The first of these signatures that the model accepts.
Sample sample_of(const std::string& name, double dropout = 0) {
  const std::vector<Signature> signatures{
      {.height = 32, .width = 32, .channels = 3, .classes = 4},
      {.height = 64, .width = 64, .channels = 3, .classes = 4},
      {.context = 8, .vocab = 16},
      {.classes = 4, .context = 8, .vocab = 16},
  };
  torch::manual_seed(1);
  for (const Signature& signature : signatures) {
    auto model = make_model(small_config(name, dropout), signature);
    if (!model) {
      continue;
    }
    if (signature.takes_tokens() && signature.classes > 0) {
      return {signature, torch::randint(signature.vocab, {6, signature.context}),
              torch::randint(signature.classes, {6}), std::move(*model)};
    }
    if (signature.takes_tokens()) {
      const at::Tensor tokens = torch::randint(signature.vocab, {6, signature.context + 1});
      return {signature, tokens.narrow(1, 0, signature.context),
              tokens.narrow(1, 1, signature.context), std::move(*model)};
    }
    return {signature, torch::randn({6, signature.channels, signature.height, signature.width}),
            torch::randint(signature.classes, {6}), std::move(*model)};
  }
  ADD_FAILURE() << name << " accepts none of the signatures";
  return {};
}

at::Tensor loss_of(const Sample& sample) {
  config::LossConfig config;
  return (**Losses::make("loss", config.name, config, Making().context))(
      sample.model->forward(sample.input), sample.targets);
}

Path scratch_file(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "." + std::to_string(getpid()));
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, gives_scores_of_the_tasks_shape) {
  const Sample sample = sample_of(GetParam());
  const Signature& signature = sample.signature;
  const std::vector<std::int64_t> expected =
      signature.classes == 0 ? std::vector<std::int64_t>{6, signature.context, signature.vocab}
                             : std::vector<std::int64_t>{6, signature.classes};
  EXPECT_EQ(sample.model->forward(sample.input).sizes(), at::IntArrayRef(expected));
  EXPECT_EQ(signature.scores_shape(6), expected);
  EXPECT_EQ(signature.zeros(6).sizes(), sample.input.sizes());
}

TEST_P(EveryModel, sends_gradients_to_every_parameter) {
  const Sample sample = sample_of(GetParam());
  loss_of(sample).backward();
  for (const auto& [name, tensor] : sample.model->parameters()) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    EXPECT_GT(tensor.grad().abs().max().item<double>(), 0) << name;
  }
}

TEST_P(EveryModel, lists_each_tensor_once_and_has_its_head) {
  const Sample sample = sample_of(GetParam());
  std::map<std::string, int> names;
  std::map<const void*, int> storages;
  bool has_head = false;
  for (const auto& [name, tensor] : sample.model->parameters()) {
    EXPECT_EQ(++names[name], 1) << name;
    EXPECT_EQ(++storages[tensor.const_data_ptr()], 1) << name;
    has_head |= name.starts_with(sample.model->names().head);
  }
  EXPECT_TRUE(has_head);
}

// Returns how many tensors the file has.
std::int64_t write_model(const Model& model, const Path& file) {
  std::vector<checkpoint::TensorView> views;
  for (const NamedTensors& list : {model.parameters(), model.buffers()}) {
    for (const auto& [name, tensor] : list) {
      views.push_back(to_view(name, tensor));
    }
  }
  EXPECT_TRUE(checkpoint::write_safetensors(file, views, {}));
  return std::ssize(views);
}

TEST_P(EveryModel, comes_back_from_a_file_bit_for_bit) {
  const Sample sample = sample_of(GetParam());
  sample.model->forward(sample.input);  // moves the running statistics
  sample.model->set_training(false);
  const at::Tensor before = sample.model->forward(sample.input);
  const Path file = scratch_file(GetParam());
  const std::int64_t count = write_model(*sample.model, file);

  torch::manual_seed(2);
  auto other = make_model(small_config(GetParam()), sample.signature);
  ASSERT_TRUE(other);
  (*other)->set_training(false);
  ASSERT_FALSE(torch::equal((*other)->forward(sample.input), before));
  const auto report = load_weights(**other, file);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->loaded, count);
  EXPECT_TRUE(report->new_head.empty());
  EXPECT_TRUE(report->unused.empty());
  EXPECT_TRUE(torch::equal((*other)->forward(sample.input), before));
  std::filesystem::remove(file);
}

TEST_P(EveryModel, is_made_without_memory_and_filled_later) {
  const Sample sample = sample_of(GetParam());
  const auto model =
      make_model(small_config(GetParam()), sample.signature, {.has_memory = false}).value();
  for (const NamedTensors& list : {model->parameters(), model->buffers()}) {
    for (const auto& [name, tensor] : list) {
      EXPECT_TRUE(tensor.is_meta()) << name;
    }
  }
  const Path file = scratch_file(GetParam());
  write_model(*sample.model, file);
  model->allocate(at::kCPU);
  const auto report = load_weights(*model, file);
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& [name, tensor] : model->parameters()) {
    EXPECT_TRUE(tensor.requires_grad()) << name;
  }
  model->set_training(false);
  sample.model->set_training(false);
  EXPECT_TRUE(at::equal(model->forward(sample.input), sample.model->forward(sample.input)));
  std::filesystem::remove(file);
}

TEST_P(EveryModel, is_its_blocks_one_after_the_other) {
  const Sample sample = sample_of(GetParam());
  Flow flow{.x = sample.input};
  std::set<std::string> parameters;
  for (const Block& block : sample.model->blocks()) {
    flow = block.forward(std::move(flow));
    for (const auto& [name, tensor] : block.parameters) {
      parameters.insert(name);
    }
  }
  EXPECT_TRUE(at::equal(flow.x, sample.model->forward(sample.input)));
  for (const auto& [name, tensor] : sample.model->parameters()) {
    EXPECT_TRUE(parameters.contains(name)) << name << " is in no block";
  }
}

// What recomputing, sharding and offloading rely on: a block needs nothing of the others but what
// they gave.
TEST_P(EveryModel, sends_the_same_gradients_through_blocks_that_are_apart) {
  const Sample sample = sample_of(GetParam());
  loss_of(sample).backward();
  NamedTensors expected;
  for (const auto& [name, tensor] : sample.model->parameters()) {
    expected.emplace_back(name, tensor.grad().clone());
    tensor.mutable_grad().reset();
  }
  std::vector<Flow> cuts;  // what each block got, as leaves
  std::vector<Flow> outputs;
  Flow flow{.x = sample.input};
  for (const Block& block : sample.model->blocks()) {
    cuts.push_back(flow);
    outputs.push_back(block.forward(flow));
    flow = outputs.back();
    for (at::Tensor* part : {&flow.x, &flow.delta}) {
      *part = part->defined() ? part->detach().requires_grad_() : at::Tensor();
    }
  }
  const at::Tensor scores = flow.x;
  config::LossConfig config;
  (**Losses::make("loss", config.name, config, Making().context))(scores, sample.targets)
      .backward();
  at::Tensor gradient = scores.grad();
  at::Tensor delta_gradient;
  for (std::size_t i = outputs.size(); i-- > 0;) {
    std::vector<at::Tensor> roots = {outputs[i].x};
    std::vector<at::Tensor> gradients = {gradient};
    if (outputs[i].delta.defined()) {
      roots.push_back(outputs[i].delta);
      gradients.push_back(delta_gradient);
    }
    torch::autograd::backward(roots, gradients);
    gradient = cuts[i].x.grad();
    delta_gradient = cuts[i].delta.defined() ? cuts[i].delta.grad() : at::Tensor();
  }
  for (const auto& [name, wanted] : expected) {
    const auto& list = sample.model->parameters();
    const auto found = std::ranges::find(list, name, &NamedTensors::value_type::first);
    EXPECT_TRUE(at::allclose(found->second.grad(), wanted, 1e-5, 1e-7)) << name;
  }
}

TEST_P(EveryModel, learns_a_batch) {
  // So small that the loss falls along the gradient whatever the processor rounds.
  constexpr double kRate = 2e-4;
  const Sample sample = sample_of(GetParam());
  const double first = loss_of(sample).item<double>();
  double last = first;
  for (int step = 0; step < 5; ++step) {
    const at::Tensor loss = loss_of(sample);
    loss.backward();
    const torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : sample.model->parameters()) {
      tensor.sub_(tensor.grad(), kRate);
      tensor.mutable_grad().reset();
    }
    last = loss.item<double>();
  }
  EXPECT_LT(last, first);
}

TEST_P(EveryModel, becomes_a_script_with_the_same_scores_for_any_batch) {
  const Sample sample = sample_of(GetParam());
  sample.model->forward(sample.input);
  const Path file = scratch_file(GetParam() + ".pt");
  const auto written = write_script(*sample.model, sample.signature, R"({"classes":["a"]})", file);
  ASSERT_TRUE(written) << written.error().message;

  torch::jit::ExtraFilesMap extra{{kScriptMetadataFile, ""}};
  torch::jit::Module script = torch::jit::load(file.string(), at::kCPU, extra);
  EXPECT_EQ(extra.at(kScriptMetadataFile), R"({"classes":["a"]})");
  const torch::NoGradGuard no_grad;
  for (const std::int64_t batch : {1, 5}) {
    const at::Tensor input = sample.input.narrow(0, 0, batch);
    const at::Tensor expected = sample.model->forward(input);
    const at::Tensor actual = script.forward({input}).toTensor();
    ASSERT_EQ(actual.sizes(), expected.sizes());
    EXPECT_TRUE(torch::allclose(actual, expected, 1e-5, 1e-6));
  }
  std::vector<std::string> names;
  for (const auto& item : script.named_parameters()) {
    names.push_back(item.name);
  }
  std::vector<std::string> expected_names;
  for (const auto& [name, tensor] : sample.model->parameters()) {
    expected_names.push_back(name);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(expected_names));
  std::filesystem::remove(file);
}

TEST_P(EveryModel, changes_its_type_but_not_its_counters) {
  const Sample sample = sample_of(GetParam());
  sample.model->to(torch::kBFloat16);
  for (const auto& [name, tensor] : sample.model->parameters()) {
    EXPECT_EQ(tensor.scalar_type(), torch::kBFloat16) << name;
  }
  for (const auto& [name, tensor] : sample.model->buffers()) {
    EXPECT_EQ(tensor.scalar_type(),
              name.ends_with("num_batches_tracked") ? torch::kInt64 : torch::kBFloat16)
        << name;
  }
}

TEST_P(EveryModel, reads_the_keys_that_it_lists_and_no_others) {
  const std::map<std::string_view, void (*)(config::ModelConfig&)> changes = {
      {"stem", [](auto& config) { config.stem = config::Stem::Cifar; }},
      {"batch_norm", [](auto& config) { config.batch_norm = false; }},
      {"dropout", [](auto& config) { config.dropout = 0.5; }},
      {"hidden", [](auto& config) { config.hidden = {8}; }},
      {"layers", [](auto& config) { config.layers = 1; }},
      {"heads", [](auto& config) { config.heads = 1; }},
      {"width", [](auto& config) { config.width = 12; }},
      {"kv_heads", [](auto& config) { config.kv_heads = 1; }},
      {"ffn", [](auto& config) { config.ffn = 24; }},
      {"experts", [](auto& config) { config.experts = 3; }},
      {"experts_per_token", [](auto& config) { config.experts_per_token = 1; }},
      {"patch", [](auto& config) { config.patch = 8; }},
      {"vocab", [](auto& config) { config.vocab = 32; }},
  };
  const std::vector<std::string_view>& reads = Models::all().at(GetParam()).reads;
  for (const std::string_view key : reads) {
    EXPECT_TRUE(changes.contains(key)) << key << ": add a change of it above";
  }
  const Signature signature = sample_of(GetParam()).signature;
  const auto scores_of = [&](const config::ModelConfig& config) {
    Signature chosen = signature;
    chosen.vocab = config.vocab.value_or(signature.vocab);  // as a task does
    torch::manual_seed(1);
    const auto model = make_model(config, chosen).value();
    at::Tensor input = chosen.zeros(2);
    input = input.is_floating_point() ? input.fill_(1) : input;
    model->set_training(true);
    torch::manual_seed(2);
    return model->forward(input);
  };
  const at::Tensor before = scores_of(small_config(GetParam()));
  config::ModelConfig others = small_config(GetParam());
  for (const auto& [key, change] : changes) {
    if (std::ranges::count(reads, key) == 0) {
      change(others);
      continue;
    }
    config::ModelConfig config = small_config(GetParam());
    change(config);
    EXPECT_FALSE(at::equal(before, scores_of(config))) << key;
  }
  EXPECT_TRUE(at::equal(before, scores_of(others)));
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : Models::all()) {
    names.emplace_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryModel, testing::ValuesIn(model_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

struct KnownCount {
  std::string model;
  Signature signature;
  std::int64_t parameters = 0;
  bool batch_norm = true;
  config::Stem stem = config::Stem::Auto;
};

TEST(ModelCounts, are_those_of_the_originals) {
  const Signature cifar{.height = 32, .width = 32, .channels = 3, .classes = 10};
  const Signature mnist{.height = 28, .width = 28, .channels = 1, .classes = 10};
  const Signature pets{.height = 224, .width = 224, .channels = 3, .classes = 2};
  const std::vector<KnownCount> known{
      {.model = "simplecnn", .signature = cifar, .parameters = 2474506},
      {.model = "simplecnn", .signature = cifar, .parameters = 2473610, .batch_norm = false},
      {.model = "resnet18", .signature = cifar, .parameters = 11173962},
      {.model = "resnet18",
       .signature = cifar,
       .parameters = 11181642,
       .stem = config::Stem::Imagenet},
      {.model = "resnet34",
       .signature = cifar,
       .parameters = 21289802,
       .stem = config::Stem::Imagenet},
      {.model = "resnet50",
       .signature = cifar,
       .parameters = 23528522,
       .stem = config::Stem::Imagenet},
      {.model = "catdog", .signature = pets, .parameters = 1210196},
      {.model = "convnet", .signature = mnist, .parameters = 29034},
      {.model = "mnistnet", .signature = mnist, .parameters = 431080},
      {.model = "gpt2", .signature = {.context = 1024, .vocab = 50257}, .parameters = 124439808},
      {.model = "smollm2-135m",
       .signature = {.context = 8192, .vocab = 49152},
       .parameters = 134515008},
  };
  for (const KnownCount& count : known) {
    config::ModelConfig config;
    config.name = count.model;
    config.batch_norm = count.batch_norm;
    config.stem = count.stem;
    const auto model = make_model(config, count.signature);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(count_parameters(**model), count.parameters) << count.model;
  }
}

struct Impossible {
  config::ModelConfig config;
  Signature signature;
  std::string message;
};

TEST(ModelErrors, say_the_numbers_that_do_not_fit) {
  const Signature tiny{.height = 7, .width = 9, .channels = 3, .classes = 10};
  const Signature cifar{.height = 32, .width = 32, .channels = 3, .classes = 10};
  const Signature text{.context = 8, .vocab = 256};
  const auto config = [](std::string name, auto change) {
    config::ModelConfig config;
    config.name = std::move(name);
    change(config);
    return config;
  };
  const auto same = [](config::ModelConfig&) {};
  const std::vector<Impossible> cases{
      {config("simplecnn", same), tiny,
       "simplecnn needs images of at least 8x8 pixels; these are "
       "7x9"},
      {config("catdog", same), cifar, "catdog needs images of at least 37x37 pixels"},
      {config("vit", [](auto& c) { c.patch = 5; }), cifar,
       "model.patch 5 does not divide images "
       "of 32x32"},
      {config("gpt-nano", [](auto& c) { c.width = 50; }), text,
       "model.width 50 is not a multiple "
       "of model.heads 3"},
      {config("mlp", [](auto& c) { c.hidden = {8, 0}; }), cifar, "width 0"},
      {config("resnet18", same), text, "resnet18 takes images; the data are tokens"},
      {config("gpt2", same), cifar, "gpt2 takes tokens; the data are images"},
      {config("resnet81", same), cifar, "did you mean 'resnet18'?"},
  };
  for (const Impossible& impossible : cases) {
    const auto model = make_model(impossible.config, impossible.signature);
    ASSERT_FALSE(model) << impossible.message;
    EXPECT_EQ(model.error().kind, ErrorKind::Usage);
    EXPECT_THAT(model.error().message, HasSubstr(impossible.message));
  }
}

}  // namespace
}  // namespace kedge::nn
