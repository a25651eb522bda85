// The best classes of images, with their probabilities.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "data/decode.h"
#include "device/precision.h"
#include "use/internal/predictor.h"

namespace kedge::use {
namespace {

// The steps of training's validation, between what files may differ in: colour and size.
Result<data::Pipeline> make_pipeline(const train::Preparation& preparation) {
  const nn::Signature& wanted = preparation.signature;
  std::vector<std::string> steps;
  if (wanted.channels == 1) {
    steps.emplace_back("grey");
  }
  steps.insert(steps.end(), preparation.eval_steps.begin(), preparation.eval_steps.end());
  steps.push_back(fmt::format("resize {} {}", wanted.height, wanted.width));
  return data::Pipeline::parse(steps);
}

class ClassPredictor : public Predictor {
 public:
  ClassPredictor(const PredictorParts& parts, data::Pipeline pipeline)
      : parts_(parts),
        pipeline_(std::move(pipeline)),
        make_inputs_(parts.saved.preparation, {.device = parts.context.device}) {}

  ItemKind takes() const override { return ItemKind::Image; }

  std::vector<std::string> columns() const override {
    std::vector<std::string> names;
    for (std::int64_t i = 1; i <= parts_.top_k; ++i) {
      names.push_back(fmt::format("class{}", i));
      names.push_back(fmt::format("score{}", i));
    }
    return names;
  }

  // Images that cannot be read get an error row.
  std::vector<Answer> answer(std::span<const PredictItem> items) override {
    const torch::NoGradGuard no_grad;
    const nn::Signature& wanted = parts_.saved.preparation.signature;
    const data::FieldInfo field =
        data::image_fields({wanted.height, wanted.width, wanted.channels})[0];
    const std::size_t image_bytes = field.bytes_per_sample();
    const data::Buffer pixels = data::allocate_plain(items.size() * image_bytes);
    std::vector<Answer> answers(items.size());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto image = prepare_image(items[i]);
      if (!image) {
        answers[i].error = image.error().message;
        continue;
      }
      std::memcpy(pixels.get() + places.size() * image_bytes, image->pixels.data(), image_bytes);
      places.push_back(i);
    }
    if (places.empty()) {
      return answers;
    }
    const data::Batch batch{.count = std::ssize(places), .fields = {{field, pixels}}};
    const auto [score, index] = top_scores(make_inputs_(batch).x);
    for (std::size_t row = 0; row < places.size(); ++row) {
      const auto at = static_cast<std::int64_t>(row);
      answers[places[row]] = best_classes(score[at], index[at]);
    }
    return answers;
  }

 private:
  Result<data::Image> prepare_image(const PredictItem& item) const {
    data::Image image = KEDGE_TRY(data::read_image(item.image));
    data::Visit visit{.random = Random(0)};
    pipeline_.apply(image, visit);
    const std::int64_t wanted = parts_.saved.preparation.signature.channels;
    if (image.channels != wanted) {
      return fail(ErrorKind::Usage, fmt::format("{} has {} channels, the model takes {}",
                                                item.image.string(), image.channels, wanted));
    }
    return image;
  }

  std::pair<at::Tensor, at::Tensor> top_scores(const at::Tensor& x) {
    const device::Autocast autocast(parts_.context);
    const at::Tensor probabilities = parts_.saved.model->forward(x).to(at::kFloat).softmax(1);
    const auto [score, index] =
        probabilities.topk(std::min(parts_.top_k, probabilities.size(1)), 1);
    return {score.cpu(), index.cpu()};
  }

  Answer best_classes(const at::Tensor& score, const at::Tensor& index) const {
    Answer answer{.fields = {{"predictions", nlohmann::json::array()}}};
    for (std::int64_t k = 0; k < score.size(0); ++k) {
      const std::string name = class_name(index[k].item<std::int64_t>());
      const auto value = score[k].item<double>();
      answer.cells.push_back(name);
      answer.cells.push_back(fmt::format("{:.6f}", value));
      answer.fields["predictions"].push_back({{"class", name}, {"score", value}});
    }
    return answer;
  }

  std::string class_name(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    const auto& names = parts_.saved.preparation.class_names;
    return at < names.size() ? names[at] : std::to_string(index);
  }

  PredictorParts parts_;
  data::Pipeline pipeline_;
  train::InputMaker make_inputs_;
};

const Predictors::Add kAddClassPredictor(
    {"classification", "the best classes of images",
     [](const PredictorParts& parts) -> Result<std::unique_ptr<Predictor>> {
       return std::make_unique<ClassPredictor>(parts,
                                               KEDGE_TRY(make_pipeline(parts.saved.preparation)));
     }});

}  // namespace
}  // namespace kedge::use
