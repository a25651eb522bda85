// BERT (Devlin et al. 2018): encoder blocks in which every token sees all others, each sum
// normalised behind it, and classes told by the first token. Names and numerics are those of
// transformers' BertForSequenceClassification.
// Shapes: B texts, T tokens, C width, H heads, D width of a head.
#include "nn/internal/bert.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/network.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr double kBertInitStd = 0.02;

// LayerNorm(x + Linear(y)), as "attention.output" and "output" are.
class BertSum : public Layer {
 public:
  BertSum(const Making& making, const BertShape& shape, std::int64_t in) : Layer(making) {
    add_linear("dense", dense_, in, shape.width);
    dropout_ = add_layer("dropout", std::make_shared<Dropout>(making, shape.dropout));
    norm_ =
        add_layer("LayerNorm", std::make_shared<LayerNorm>(making, shape.width, shape.norm_eps));
  }

  at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
    return norm_->forward_sum(x, dropout_->forward(dense_->forward(y))).normed;
  }

 private:
  std::shared_ptr<Linear> dense_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<LayerNorm> norm_;
};

class BertBlock : public Layer {
 public:
  BertBlock(const Making& making, const BertShape& shape) : Layer(making), shape_(shape) {
    add_linear("attention.self.query", query_, shape.width, shape.width);
    add_linear("attention.self.key", key_, shape.width, shape.width);
    add_linear("attention.self.value", value_, shape.width, shape.width);
    add_joined({&query_, &key_, &value_});
    attended_ =
        add_layer("attention.output", std::make_shared<BertSum>(making, shape, shape.width));
    add_linear("intermediate.dense", inner_, shape.width, shape.ffn);
    output_ = add_layer("output", std::make_shared<BertSum>(making, shape, shape.ffn));
  }

  Flow forward(const Flow& flow) {
    const Joined qkv = forward_joined({query_.get(), key_.get(), value_.get()}, flow.x);
    const at::Tensor y_BHTD = torch::scaled_dot_product_attention(
        split_heads(qkv.parts[0], shape_.heads), split_heads(qkv.parts[1], shape_.heads),
        split_heads(qkv.parts[2], shape_.heads),
        flow.seen.defined() ? std::optional(flow.seen) : std::nullopt,
        is_training() ? shape_.attention_dropout : 0.0);
    const at::Tensor x = attended_->forward(flow.x, y_BHTD.transpose(1, 2).flatten(2));
    return {.x = output_->forward(x, inner_->forward(x, shape_.activation)), .seen = flow.seen};
  }

 private:
  BertShape shape_;
  std::shared_ptr<Linear> query_;
  std::shared_ptr<Linear> key_;
  std::shared_ptr<Linear> value_;
  std::shared_ptr<BertSum> attended_;
  std::shared_ptr<Linear> inner_;
  std::shared_ptr<BertSum> output_;
};

// Files hold as many positions as the model was trained with; what stands in them for pre-training
// is not needed.
const WeightNames kBertNames = {
    .head = "classifier.",
    .tables = {"bert.embeddings.*_embeddings.weight"},
    .longer = {"bert.embeddings.position_embeddings.weight"},
    .repeated = {"*embeddings.position_ids", "cls.*"},
};

class Bert : public Network {
 public:
  Bert(const Making& making, const BertShape& shape, std::int64_t classes)
      : Network(making, kBertNames), shape_(shape), classes_(classes) {
    const auto table = [&](const char* name, std::int64_t rows) {
      return add_layer(fmt::format("bert.embeddings.{}_embeddings", name),
                       std::make_shared<Embedding>(making, rows, shape.width));
    };
    words_ = table("word", shape.vocab);
    positions_ = table("position", shape.context);
    kinds_ = table("token_type", shape.kinds);
    norm_ = add_layer("bert.embeddings.LayerNorm",
                      std::make_shared<LayerNorm>(making, shape.width, shape.norm_eps));
    dropout_ = add_layer("dropout", std::make_shared<Dropout>(making, shape.dropout));
    add_block("stem", {"bert.embeddings."}, [this](const Flow& flow) { return embed(flow); });
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      add_block_layer(fmt::format("bert.encoder.layer.{}", i),
                      std::make_shared<BertBlock>(making, shape));
    }
    add_linear("bert.pooler.dense", pooler_, shape.width, shape.width);
    add_linear("classifier", classifier_, shape.width, classes);
    add_block("head", {"bert.pooler.", "classifier."},
              [this](const Flow& flow) -> Flow { return {scores_of(flow.x)}; });
    init_weights();
  }

  // Padding is a document of its own, which no other token sees.
  bool takes_documents() const override { return true; }

  // Random numbers are drawn where there is dropout.
  bool recompute_blocks() override {
    return shape_.dropout == 0 && shape_.attention_dropout == 0 && Network::recompute_blocks();
  }

  std::optional<HuggingFaceLayout> hugging_face_layout(std::string_view dtype) const override {
    return HuggingFaceLayout{.config_json = to_config_json(shape_, classes_, dtype).dump(2),
                             .prefix = ""};
  }

 private:
  Flow begin(const ModelInput& input) const override {
    Flow flow{.x = input.x};
    if (input.documents.defined()) {
      flow.seen = input.documents.unsqueeze(2).eq(input.documents.unsqueeze(1)).unsqueeze(1);
    }
    return flow;
  }

  Flow embed(const Flow& flow) const {
    const at::Tensor& tokens_BT = flow.x;
    // 0, 1, ... T-1, counted from the input itself so that a trace takes any length.
    const at::Tensor places_T = torch::ones_like(tokens_BT.select(0, 0)).cumsum(0).sub(1);
    const at::Tensor sum = words_->forward(tokens_BT) + positions_->forward(places_T);
    const at::Tensor placed = sum + kinds_->weight.select(0, 0);
    return {.x = dropout_->forward(norm_->forward(placed)), .seen = flow.seen};
  }

  at::Tensor scores_of(const at::Tensor& x_BTC) const {
    const at::Tensor pooled = pooler_->forward(x_BTC.select(1, 0)).tanh();
    return classifier_->forward(dropout_->forward(pooled));
  }

  void init_weights() {
    const torch::NoGradGuard no_grad;
    each_layer([&](const std::string&, Layer& layer) {
      if (auto* embedding = dynamic_cast<Embedding*>(&layer)) {
        torch::nn::init::normal_(embedding->weight, 0, kBertInitStd);
      } else if (auto* linear = dynamic_cast<Linear*>(&layer)) {
        torch::nn::init::normal_(linear->weight, 0, kBertInitStd);
        torch::nn::init::zeros_(linear->bias);
      }
    });
  }

  BertShape shape_;
  std::int64_t classes_;
  std::shared_ptr<Embedding> words_;
  std::shared_ptr<Embedding> positions_;
  std::shared_ptr<Embedding> kinds_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Linear> pooler_;
  std::shared_ptr<Linear> classifier_;
};

Models::Entry bert_entry(std::string_view name, BertShape own, std::string_view summary) {
  return {name,
          summary,
          [=](const config::ModelConfig& config, const Signature& signature,
              const Making& making) -> Result<std::unique_ptr<Model>> {
            KEDGE_TRY(require_text_classes(name, signature));
            BertShape shape = own;
            shape.layers = config.layers.value_or(own.layers);
            shape.heads = config.heads.value_or(own.heads);
            shape.width = config.width.value_or(own.width);
            shape.ffn = config.ffn.value_or(config.width ? 4 * shape.width : own.ffn);
            shape.dropout = config.dropout.value_or(own.dropout);
            shape.attention_dropout = config.dropout.value_or(own.attention_dropout);
            shape.vocab = signature.vocab;
            shape.context = signature.context;
            KEDGE_TRY(require_heads_divide(name, shape.width, shape.heads));
            return make_bert(shape, signature.classes, making);
          },
          {"layers", "heads", "width", "ffn", "dropout", "vocab"}};
}

const Models::Add kAddBertMini(bert_entry("bert-mini",
                                          {.layers = 4, .width = 256, .heads = 4, .ffn = 1024},
                                          "BERT layout, 4 layers of width 256 with 4 heads: texts "
                                          "to classes"));
const Models::Add kAddBertBase(bert_entry("bert-base",
                                          {.layers = 12, .width = 768, .heads = 12, .ffn = 3072},
                                          "BERT, 12 layers of width 768 with 12 heads: texts to "
                                          "classes"));

}  // namespace

std::unique_ptr<Model> make_bert(const BertShape& shape, std::int64_t classes,
                                 const Making& making) {
  return std::make_unique<Bert>(making, shape, classes);
}

}  // namespace kedge::nn
