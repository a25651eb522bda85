// The best classes of images, with their probabilities.
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "data/decode.h"
#include "use/internal/class_answers.h"

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

  std::vector<std::string> columns() const override { return class_columns(parts_.top_k); }

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
    std::vector<Answer> best = best_classes(parts_, make_inputs_(batch).input());
    for (std::size_t row = 0; row < places.size(); ++row) {
      answers[places[row]] = std::move(best[row]);
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
