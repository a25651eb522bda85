#include "nn/internal/moe_shape.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kedge::nn {
namespace {

Result<void> check(const MoeShape& moe, std::string_view where) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::Usage, fmt::format("{}: {}", where, what));
  };
  if (moe.experts < 1 || moe.ffn < 1 || moe.every < 1 || moe.shared_ffn < 0) {
    return bad("every size of the experts must be at least 1");
  }
  if (moe.per_token < 1 || moe.per_token > moe.experts) {
    return bad(fmt::format("a token cannot pass {} of {} experts", moe.per_token, moe.experts));
  }
  return {};
}

// Keys that only Qwen's have.
Result<void> read_qwen(ConfigKeys& keys, const LlamaShape& shape, MoeShape& moe) {
  moe.ffn = KEDGE_TRY(keys.get<std::int64_t>("moe_intermediate_size"));
  moe.is_normalised = KEDGE_TRY(keys.get<bool>("norm_topk_prob", false));
  moe.every = KEDGE_TRY(keys.get<std::int64_t>("decoder_sparse_step", std::int64_t{1}));
  moe.dense_layers = KEDGE_TRY(
      keys.get<std::vector<std::int64_t>>("mlp_only_layers", std::vector<std::int64_t>()));
  if (shape.family == "qwen2_moe") {
    moe.shared_ffn = KEDGE_TRY(keys.get<std::int64_t>("shared_expert_intermediate_size"));
  }
  return {};
}

}  // namespace

bool LlamaShape::has_experts(std::int64_t layer) const {
  return moe.experts > 0 && (layer + 1) % moe.every == 0 &&
         std::ranges::find(moe.dense_layers, layer) == moe.dense_layers.end();
}

Result<MoeShape> read_moe(ConfigKeys& keys, std::string_view where, const LlamaShape& shape) {
  MoeShape moe;
  const bool is_mixtral = shape.family == "mixtral";
  if (!is_mixtral && !shape.family.ends_with("_moe")) {
    return moe;
  }
  // transformers 5 says num_local_experts of all.
  const bool is_local = is_mixtral || keys.has("num_local_experts");
  moe.experts = KEDGE_TRY(keys.get<std::int64_t>(is_local ? "num_local_experts" : "num_experts"));
  moe.per_token = KEDGE_TRY(keys.get<std::int64_t>("num_experts_per_tok"));
  moe.aux_loss = KEDGE_TRY(keys.get<double>("router_aux_loss_coef", 0.001));
  moe.ffn = shape.ffn;
  // Only what training with transformers does with it.
  KEDGE_TRY(keys.get<bool>("output_router_logits", false));
  if (is_mixtral) {
    if (KEDGE_TRY(keys.get<double>("router_jitter_noise", 0.0)) != 0) {
      return fail(ErrorKind::Usage, fmt::format("{}: router_jitter_noise is not known", where),
                  "set it to 0 in the file");
    }
  } else {
    KEDGE_TRY(read_qwen(keys, shape, moe));
  }
  KEDGE_TRY(check(moe, where));
  return moe;
}

void write_moe(const LlamaShape& shape, nlohmann::json& object) {
  const MoeShape& moe = shape.moe;
  if (moe.experts == 0) {
    return;
  }
  const bool is_mixtral = shape.family == "mixtral";
  object[is_mixtral ? "num_local_experts" : "num_experts"] = moe.experts;
  object["num_experts_per_tok"] = moe.per_token;
  object["router_aux_loss_coef"] = moe.aux_loss;
  if (is_mixtral) {
    return;
  }
  object["moe_intermediate_size"] = moe.ffn;
  object["norm_topk_prob"] = moe.is_normalised;
  object["decoder_sparse_step"] = moe.every;
  object["mlp_only_layers"] = moe.dense_layers;
  if (moe.shared_ffn > 0) {
    object["shared_expert_intermediate_size"] = moe.shared_ffn;
  }
}

}  // namespace kedge::nn
