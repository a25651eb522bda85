#include "use/internal/class_answers.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/types.h>

#include "device/precision.h"

namespace kedge::use {
namespace {

std::string class_name(const std::vector<std::string>& names, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return at < names.size() ? names[at] : std::to_string(index);
}

}  // namespace

std::vector<std::string> class_columns(std::int64_t top_k) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= top_k; ++i) {
    names.push_back(fmt::format("class{}", i));
    names.push_back(fmt::format("score{}", i));
  }
  return names;
}

std::vector<Answer> best_classes(const PredictorParts& parts, const nn::ModelInput& input) {
  const device::Autocast autocast(parts.context);
  const at::Tensor probabilities = parts.saved.model->forward(input).to(at::kFloat).softmax(1);
  const auto [scores, indices] =
      probabilities.topk(std::min(parts.top_k, probabilities.size(1)), 1);
  const at::Tensor score = scores.cpu();
  const at::Tensor index = indices.cpu();
  std::vector<Answer> answers;
  for (std::int64_t row = 0; row < score.size(0); ++row) {
    Answer answer{.fields = {{"predictions", nlohmann::json::array()}}};
    for (std::int64_t k = 0; k < score.size(1); ++k) {
      const std::string name =
          class_name(parts.saved.preparation.class_names, index[row][k].item<std::int64_t>());
      const auto value = score[row][k].item<double>();
      answer.cells.push_back(name);
      answer.cells.push_back(fmt::format("{:.6f}", value));
      answer.fields["predictions"].push_back({{"class", name}, {"score", value}});
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace kedge::use
