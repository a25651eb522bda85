#include "use/ensemble.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/types.h>
#include <torch/utils.h>

#include "checkpoint/tensor_file.h"
#include "core/log.h"
#include "device/device.h"
#include "device/plugin.h"
#include "nn/model.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/evaluate.h"

namespace kedge::use {
namespace {

// The logarithm of the members' mean probability: what a loss and a ranking of classes want.
class MeanOfProbabilities : public nn::Model {
 public:
  explicit MeanOfProbabilities(const std::vector<train::SavedModel>& members) : members_(members) {}

  at::Tensor forward(const nn::ModelInput& input) override {
    at::Tensor sum;
    for (const train::SavedModel& member : members_) {
      const at::Tensor shares = member.model->forward(input).to(at::kFloat).softmax(-1);
      sum = sum.defined() ? sum + shares : shares;
    }
    return (sum / static_cast<double>(members_.size())).log();
  }

  nn::NamedTensors parameters() const override { return {}; }

  nn::NamedTensors buffers() const override { return {}; }

  void set_training(bool is_training) override {
    for (const train::SavedModel& member : members_) {
      member.model->set_training(is_training);
    }
  }

  void to(at::Device device) override {
    for (const train::SavedModel& member : members_) {
      member.model->to(device);
    }
  }

  void to(at::ScalarType type) override {
    for (const train::SavedModel& member : members_) {
      member.model->to(type);
    }
  }

 private:
  const std::vector<train::SavedModel>& members_;
};

// Why the weights of these models have no mean; nothing: they have one.
std::optional<std::string> find_mismatch(const std::vector<train::SavedModel>& members) {
  const nn::NamedTensors first = train::parameters_and_buffers(*members.front().model);
  for (const train::SavedModel& member : members) {
    const nn::NamedTensors other = train::parameters_and_buffers(*member.model);
    if (other.size() != first.size()) {
      return fmt::format("{} has {} tensors, {} has {}", members.front().path.string(),
                         first.size(), member.path.string(), other.size());
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (other[i].first != first[i].first || other[i].second.sizes() != first[i].second.sizes()) {
        return fmt::format("'{}' differs in name or shape in {}", first[i].first,
                           member.path.string());
      }
    }
  }
  return std::nullopt;
}

// Into the first member. Counters (whole numbers) stay the first one's.
void average_weights(std::vector<train::SavedModel>& members) {
  const torch::NoGradGuard no_grad;
  nn::NamedTensors target = train::parameters_and_buffers(*members.front().model);
  std::vector<nn::NamedTensors> all;
  for (const train::SavedModel& member : members) {
    all.push_back(train::parameters_and_buffers(*member.model));
  }
  for (std::size_t i = 0; i < target.size(); ++i) {
    at::Tensor& tensor = target[i].second;
    if (!tensor.is_floating_point()) {
      continue;
    }
    at::Tensor sum = at::zeros_like(tensor, tensor.options().dtype(at::kDouble));
    for (const nn::NamedTensors& tensors : all) {
      sum += tensors[i].second.to(at::kDouble);
    }
    tensor.copy_(sum / static_cast<double>(members.size()));
  }
}

Result<void> write_weights(const train::SavedModel& saved, const Path& output) {
  train::HostCopies copies;
  const checkpoint::Part part = copies.part("model", train::parameters_and_buffers(*saved.model));
  return checkpoint::write_safetensors(
      output, part.tensors, {{"format", "pt"}, {"kedge", saved.preparation.to_json().dump()}});
}

struct Row {
  std::string name;
  train::Metrics metrics;
};

void print_rows(const std::vector<Row>& rows, bool as_json) {
  if (as_json) {
    nlohmann::json json = nlohmann::json::array();
    for (const Row& row : rows) {
      json.push_back({{"name", row.name}, {"metrics", row.metrics}});
    }
    fmt::print("{}\n", json.dump());
    return;
  }
  for (const Row& row : rows) {
    std::string line;
    for (const auto& [name, value] : row.metrics) {
      line += fmt::format("  {} {:.4f}", name, value);
    }
    fmt::print("{:<28}{}\n", row.name, line);
  }
}

Result<void> check_alike(const std::vector<train::SavedModel>& members) {
  for (const train::SavedModel& member : members) {
    if (member.preparation.to_json() != members.front().preparation.to_json()) {
      return fail(ErrorKind::Usage,
                  fmt::format("{} and {} take different inputs or classes",
                              members.front().path.string(), member.path.string()),
                  "an ensemble needs models of one task, trained on the same preparation");
    }
  }
  return {};
}

Result<void> ensemble(const EnsembleOptions& options) {
  std::vector<train::SavedModel> members;
  for (const Path& path : options.models) {
    members.push_back(KEDGE_TRY(train::load_saved_model(path, options.overrides)));
  }
  KEDGE_TRY(check_alike(members));
  std::vector<Row> rows;
  const auto measure = [&](std::string name, nn::Model& model) -> Result<void> {
    const Measured measured =
        KEDGE_TRY(measure_model(model, members.front(), options.on_train_split));
    rows.push_back({std::move(name), measured.evaluation.metrics});
    return {};
  };
  for (const train::SavedModel& member : members) {
    const Path run = member.path.parent_path().parent_path();
    KEDGE_TRY(measure(run.filename().string(), *member.model));
  }
  MeanOfProbabilities mean(members);
  KEDGE_TRY(measure("mean of probabilities", mean));
  const auto mismatch = find_mismatch(members);
  if (mismatch) {
    warn("the weights have no mean: {}", *mismatch);
  } else {
    average_weights(members);
    KEDGE_TRY(measure("mean of weights", *members.front().model));
  }
  if (!options.output.empty()) {
    if (mismatch) {
      return fail(ErrorKind::Usage, "there are no mean weights to write", *mismatch);
    }
    KEDGE_TRY(write_weights(members.front(), options.output));
    say("kedge: the mean weights are in {}", options.output.string());
  }
  print_rows(rows, options.as_json);
  return {};
}

}  // namespace

Result<void> run_ensemble(const EnsembleOptions& options) {
  device::open();
  return train::catch_torch([&] { return ensemble(options); });
}

}  // namespace kedge::use
