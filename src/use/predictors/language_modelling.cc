// How well a language model expects texts: the loss per byte, and the perplexity.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "device/precision.h"
#include "use/internal/predictor.h"

namespace kedge::use {
namespace {

class TextPredictor : public Predictor {
 public:
  explicit TextPredictor(const PredictorParts& parts) : parts_(parts) {}

  ItemKind takes() const override { return ItemKind::Text; }

  std::vector<std::string> columns() const override { return {"loss", "perplexity"}; }

  std::vector<Answer> answer(std::span<const PredictItem> items) override {
    const torch::NoGradGuard no_grad;
    std::vector<Answer> answers;
    for (const PredictItem& item : items) {
      answers.push_back(answer_text(item.text));
    }
    return answers;
  }

 private:
  Answer answer_text(const std::string& text) {
    if (text.size() < 2) {
      return {.error = "a text needs at least two bytes"};
    }
    const double loss = mean_loss(text);
    return {.cells = {fmt::format("{:.6g}", loss), fmt::format("{:.6g}", std::exp(loss))},
            .fields = {{"loss", loss}, {"perplexity", std::exp(loss)}}};
  }

  // Per byte, over windows of the model's context.
  double mean_loss(const std::string& text) {
    const auto size = static_cast<std::int64_t>(text.size());
    std::vector<std::int64_t> ids;
    for (const char c : text) {
      ids.push_back(static_cast<unsigned char>(c));
    }
    const at::Tensor all = torch::tensor(ids).to(parts_.context.device);
    const std::int64_t context = parts_.saved.preparation.signature.context;
    double sum = 0;
    for (std::int64_t start = 0; start + 1 < size; start += context) {
      const std::int64_t end = std::min(start + context, size - 1);
      const device::Autocast autocast(parts_.context);
      const at::Tensor scores = parts_.saved.model->forward(all.slice(0, start, end).unsqueeze(0));
      sum += at::cross_entropy_loss(scores.squeeze(0).to(at::kFloat),
                                    all.slice(0, start + 1, end + 1), {}, at::Reduction::Sum)
                 .item<double>();
    }
    return sum / static_cast<double>(size - 1);
  }

  PredictorParts parts_;
};

const Predictors::Add kAddTextPredictor(
    {"language_modelling", "the loss of texts",
     [](const PredictorParts& parts) -> Result<std::unique_ptr<Predictor>> {
       return std::make_unique<TextPredictor>(parts);
     }});

}  // namespace
}  // namespace kedge::use
