#include "nn/bert_shape.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/internal/config_keys.h"

namespace kedge::nn {
namespace {

using device::Activation;
using nlohmann::json;

constexpr std::array<std::pair<std::string_view, Activation>, 4> kActivations = {
    {{"gelu", Activation::Gelu},
     {"gelu_new", Activation::GeluTanh},
     {"gelu_pytorch_tanh", Activation::GeluTanh},
     {"relu", Activation::Relu}}};

// Keys that say what is always so here.
Result<void> expect(ConfigKeys& keys, std::string_view where, const char* key,
                    const std::string& wanted) {
  const auto found = KEDGE_TRY(keys.get<std::string>(key, wanted));
  return found == wanted
             ? Result<void>()
             : fail(ErrorKind::Usage, fmt::format("{}: {} '{}' is not known", where, key, found),
                    fmt::format("known is {}", wanted));
}

}  // namespace

Result<BertShape> read_bert_config(const json& object, std::string_view where) {
  ConfigKeys keys(object, where);
  KEDGE_TRY(expect(keys, where, "model_type", "bert"));
  KEDGE_TRY(expect(keys, where, "position_embedding_type", "absolute"));
  BertShape shape;
  shape.layers = KEDGE_TRY(keys.get<std::int64_t>("num_hidden_layers"));
  shape.width = KEDGE_TRY(keys.get<std::int64_t>("hidden_size"));
  shape.heads = KEDGE_TRY(keys.get<std::int64_t>("num_attention_heads"));
  shape.ffn = KEDGE_TRY(keys.get<std::int64_t>("intermediate_size"));
  shape.vocab = KEDGE_TRY(keys.get<std::int64_t>("vocab_size"));
  shape.context = KEDGE_TRY(keys.get<std::int64_t>("max_position_embeddings"));
  shape.kinds = KEDGE_TRY(keys.get<std::int64_t>("type_vocab_size", shape.kinds));
  shape.norm_eps = KEDGE_TRY(keys.get<double>("layer_norm_eps", shape.norm_eps));
  shape.dropout = KEDGE_TRY(keys.get<double>("hidden_dropout_prob", shape.dropout));
  shape.attention_dropout =
      KEDGE_TRY(keys.get<double>("attention_probs_dropout_prob", shape.attention_dropout));
  KEDGE_TRY(keys.get<double>("classifier_dropout", 0.0));  // of the head alone
  for (const char* key : {"gradient_checkpointing", "tie_word_embeddings"}) {
    KEDGE_TRY(keys.get<bool>(key, false));  // of training there, and of a head that is none of ours
  }
  const auto name = KEDGE_TRY(keys.get<std::string>("hidden_act", "gelu"));
  const auto* activation =
      std::ranges::find(kActivations, name, &std::pair<std::string_view, Activation>::first);
  if (activation == kActivations.end()) {
    return fail(ErrorKind::Usage, fmt::format("{}: hidden_act '{}' is not known", where, name),
                "known are gelu, gelu_new and relu");
  }
  shape.activation = activation->second;
  if (shape.heads < 1 || shape.width % shape.heads != 0) {
    return fail(ErrorKind::Usage, fmt::format("{}: {} heads do not divide a width of {}", where,
                                              shape.heads, shape.width));
  }
  KEDGE_TRY(keys.refuse_others());
  return shape;
}

json to_config_json(const BertShape& shape, std::int64_t classes, std::string_view dtype) {
  const auto* name = std::ranges::find(kActivations, shape.activation,
                                       &std::pair<std::string_view, Activation>::second);
  json labels = json::object();
  json numbers = json::object();
  for (std::int64_t i = 0; i < classes; ++i) {
    const std::string label = fmt::format("LABEL_{}", i);
    labels[std::to_string(i)] = label;
    numbers[label] = i;
  }
  return {{"architectures", {"BertForSequenceClassification"}},
          {"model_type", "bert"},
          {"num_hidden_layers", shape.layers},
          {"hidden_size", shape.width},
          {"num_attention_heads", shape.heads},
          {"intermediate_size", shape.ffn},
          {"vocab_size", shape.vocab},
          {"max_position_embeddings", shape.context},
          {"type_vocab_size", shape.kinds},
          {"layer_norm_eps", shape.norm_eps},
          {"hidden_dropout_prob", shape.dropout},
          {"attention_probs_dropout_prob", shape.attention_dropout},
          {"hidden_act", name->first},
          {"id2label", std::move(labels)},
          {"label2id", std::move(numbers)},
          {"pad_token_id", 0},
          {"torch_dtype", dtype}};
}

}  // namespace kedge::nn
