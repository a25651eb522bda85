// The best classes of texts, with their probabilities.
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "data/chat/chat_format.h"
#include "data/dataset.h"
#include "data/text_encoder.h"
#include "use/internal/class_answers.h"

namespace kedge::use {
namespace {

class TextClassPredictor : public Predictor {
 public:
  TextClassPredictor(const PredictorParts& parts, const data::Tokenizer& tokenizer)
      : parts_(parts), encoder_(tokenizer, context()) {}

  ItemKind takes() const override { return ItemKind::Text; }

  std::vector<std::string> columns() const override { return class_columns(parts_.top_k); }

  // Texts that are too long get an error row, or are cut where those of training were.
  std::vector<Answer> answer(std::span<const PredictItem> items) override {
    const torch::NoGradGuard no_grad;
    const bool may_cut = parts_.saved.config->data.too_long == config::TooLong::Cut;
    std::vector<Answer> answers(items.size());
    std::vector<std::size_t> places;
    at::Tensor tokens = torch::zeros({std::ssize(items), context()}, at::kLong);
    at::Tensor documents = torch::ones({std::ssize(items), context()}, at::kInt);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const data::EncodedText encoded = encoder_.encode(items[i].text);
      if (encoded.ids.empty() || (encoded.is_cut() && !may_cut)) {
        answers[i].error = encoded.ids.empty()
                               ? std::string("the text has no tokens")
                               : fmt::format("the text has {} tokens, the model takes {}",
                                             encoded.tokens, context());
        continue;
      }
      const auto row = std::ssize(places);
      const std::vector<std::int64_t> ids(encoded.ids.begin(), encoded.ids.end());
      tokens[row].narrow(0, 0, std::ssize(ids)).copy_(torch::tensor(ids));
      documents[row].narrow(0, 0, std::ssize(ids)).zero_();
      places.push_back(i);
    }
    if (places.empty()) {
      return answers;
    }
    const auto here = [&](const at::Tensor& all) {
      return all.narrow(0, 0, std::ssize(places)).to(parts_.context.device);
    };
    std::vector<Answer> best = best_classes(parts_, {here(tokens), here(documents)});
    for (std::size_t row = 0; row < places.size(); ++row) {
      answers[places[row]] = std::move(best[row]);
    }
    return answers;
  }

 private:
  std::int64_t context() const { return parts_.saved.preparation.signature.context; }

  PredictorParts parts_;
  data::TextEncoder encoder_;
};

const Predictors::Add kAddTextClassPredictor(
    {"text_classification", "the best classes of texts",
     [](const PredictorParts& parts) -> Result<std::unique_ptr<Predictor>> {
       const auto format =
           KEDGE_TRY(data::load_chat_format(data::data_config(*parts.saved.config).tokenizer));
       return std::make_unique<TextClassPredictor>(parts, format.tokenizer);
     }});

}  // namespace
}  // namespace kedge::use
