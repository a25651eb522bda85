// The layout of BERT and its kin (MiniLM, BGE, ...), as Hugging Face's config.json describes it.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "device/fused_ops.h"

namespace kedge::nn {

struct BertShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t ffn = 0;  // inner width of an MLP
  std::int64_t vocab = 0;
  std::int64_t context = 512;  // positions that it has
  std::int64_t kinds = 2;      // of segments; all tokens are of the first here
  double norm_eps = 1e-12;
  double dropout = 0.1;
  double attention_dropout = 0.1;
  device::Activation activation = device::Activation::Gelu;
};

// Usage: another architecture, or a key that is not known here and might change what is computed,
// by name. `where` is for messages.
Result<BertShape> read_bert_config(const nlohmann::json& json, std::string_view where);

// What transformers reads, for a model that tells `classes` apart.
nlohmann::json to_config_json(const BertShape& shape, std::int64_t classes, std::string_view dtype);

}  // namespace kedge::nn
