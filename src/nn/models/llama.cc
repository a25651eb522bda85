// Llama (Touvron et al. 2023) and its family: pre-norm decoder blocks with RMSNorm, rotary
// positions, keys and values that several heads share, and a gated MLP. Names and numerics are
// those of transformers, so that its folders load.
// Shapes: B sequences, T tokens, C width, H heads, K key/value heads, D width of a head.
#include "nn/internal/llama.h"

#include <numeric>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/nn/init.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "nn/internal/attention.h"
#include "nn/internal/cached_attention.h"
#include "nn/internal/shape.h"

namespace kedge::nn {
namespace {

constexpr double kLlamaInitStd = 0.02;

}  // namespace

LlamaAttention::LlamaAttention(const Making& making, const LlamaShape& shape, std::int64_t layer,
                               std::shared_ptr<Rope> rope)
    : Layer(making), shape_(shape), window_(shape.window_of(layer)), rope_(std::move(rope)) {
  const std::int64_t kv_width = shape.kv_heads * shape.head_width;
  add_linear("q_proj", q_proj_, shape.width, shape.heads * shape.head_width, shape.qkv_bias);
  add_linear("k_proj", k_proj_, shape.width, kv_width, shape.qkv_bias);
  add_linear("v_proj", v_proj_, shape.width, kv_width, shape.qkv_bias);
  add_joined({&q_proj_, &k_proj_, &v_proj_});
  add_linear("o_proj", o_proj_, shape.heads * shape.head_width, shape.width, shape.output_bias);
  if (shape.qk_norm) {
    q_norm_ =
        add_layer("q_norm", std::make_shared<RmsNorm>(making, shape.head_width, shape.norm_eps));
    k_norm_ =
        add_layer("k_norm", std::make_shared<RmsNorm>(making, shape.head_width, shape.norm_eps));
  }
}

LlamaAttention::Heads LlamaAttention::heads_of(const at::Tensor& x_BTC,
                                               const at::Tensor& positions) {
  device::Rotation rotation;
  if (q_norm_ == nullptr && context().fused != nullptr) {
    const Rope::Table& table = rope_->table(shape_.context, x_BTC);
    rotation = {.columns = (shape_.heads + shape_.kv_heads) * shape_.head_width,
                .cosines = table.cosines,
                .sines = table.sines,
                .positions = positions.contiguous()};
  }
  const Joined qkv = forward_joined({q_proj_.get(), k_proj_.get(), v_proj_.get()}, x_BTC, rotation);
  const auto heads = [&](std::size_t part, const std::shared_ptr<RmsNorm>& norm) {
    const at::Tensor x_BTHD = qkv.parts[part].unflatten(-1, {-1, shape_.head_width});
    const at::Tensor x_BHTD = (norm == nullptr ? x_BTHD : norm->forward(x_BTHD)).transpose(1, 2);
    const bool is_turned = qkv.is_rotated || part == 2;
    return is_turned ? x_BHTD : rope_->turn(x_BHTD, positions, shape_.context);
  };
  return {.q = heads(0, q_norm_), .k = heads(1, k_norm_), .v = heads(2, nullptr)};
}

at::Tensor LlamaAttention::forward(const at::Tensor& x_BTC, const Flow& flow) {
  const Heads heads = heads_of(x_BTC, flow.positions);
  const at::Tensor y_BHTD =
      attend(heads.q, heads.k, heads.v, {.seen = flow.seen, .window = window_});
  return o_proj_->forward(y_BHTD.transpose(1, 2).flatten(2));
}

at::Tensor LlamaAttention::decode(const at::Tensor& x_BTC, const DecodePlace& place,
                                  KvCache::Layer& layer) {
  const Heads heads = heads_of(x_BTC, place.positions_BT);
  const at::Tensor y_BHTD =
      attend_cached(context(), heads.q, heads.k, heads.v, place, layer, window_);
  return o_proj_->forward(y_BHTD.transpose(1, 2).flatten(2));
}

LlamaBlock::LlamaBlock(const Making& making, const LlamaShape& shape, std::int64_t layer,
                       const std::shared_ptr<Rope>& rope)
    : Layer(making) {
  const auto norm = [&] { return std::make_shared<RmsNorm>(making, shape.width, shape.norm_eps); };
  input_norm_ = add_layer("input_layernorm", norm());
  attention_ = add_layer("self_attn", std::make_shared<LlamaAttention>(making, shape, layer, rope));
  mlp_norm_ = add_layer("post_attention_layernorm", norm());
  if (shape.has_experts(layer)) {
    moe_ = add_layer(shape.family == "mixtral" ? "block_sparse_moe" : "mlp",
                     std::make_shared<MoeMlp>(making, shape));
  } else {
    mlp_ = add_layer("mlp",
                     std::make_shared<GatedMlp>(making, GatedMlpShape{.width = shape.width,
                                                                      .ffn = shape.ffn,
                                                                      .has_bias = shape.mlp_bias}));
  }
}

Flow LlamaBlock::forward(const Flow& flow) {
  return through(flow, [&](const at::Tensor& x) { return attention_->forward(x, flow); });
}

Flow LlamaBlock::decode(const Flow& flow, const DecodePlace& place, KvCache::Layer& layer) {
  return through(flow, [&](const at::Tensor& x) { return attention_->decode(x, place, layer); });
}

template <typename Attend>
Flow LlamaBlock::through(const Flow& flow, const Attend& attend) {
  const AddNormed first = input_norm_->forward_sum(flow.x, flow.delta);
  const AddNormed second = mlp_norm_->forward_sum(first.sum, attend(first.normed));
  const MoeMlp::Mixed mixed = moe_ == nullptr ? MoeMlp::Mixed{.y = mlp_->forward(second.normed)}
                                              : moe_->forward(second.normed);
  return {.x = second.sum,
          .delta = mixed.y,
          .positions = flow.positions,
          .seen = flow.seen,
          .load = sum_of(flow.load, mixed.load_2E)};
}

// A tied head may be written twice.
Llama::Llama(const Making& making, const LlamaShape& shape)
    : Network(making, {.head = shape.is_tied ? "model.embed_tokens." : "lm_head.",
                       .tables = {"model.embed_tokens.*"},
                       .repeated = {"lm_head.weight", "*rotary_emb.inv_freq"}}),
      shape_(shape),
      rope_(std::make_shared<Rope>(shape)) {
  embed_ = add_layer("model.embed_tokens",
                     std::make_shared<Embedding>(making, shape.vocab, shape.width));
  add_block("stem", {"model.embed_tokens."}, [this](const Flow& flow) { return embed(flow); });
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    blocks_.push_back(std::make_shared<LlamaBlock>(making, shape, i, rope_));
    add_block_layer(fmt::format("model.layers.{}", i), blocks_.back());
  }
  norm_ = add_layer("model.norm", std::make_shared<RmsNorm>(making, shape.width, shape.norm_eps));
  if (!shape.is_tied) {
    add_linear("lm_head", head_, shape.width, shape.vocab, /*has_bias=*/false);
  }
  add_block("head", {"model.norm.", shape.is_tied ? "model.embed_tokens." : "lm_head."},
            [this](const Flow& flow) -> Flow { return {scores_of(flow)}; });
  init_weights();
}

Flow Llama::begin(const ModelInput& input) const {
  Flow flow{.x = input.x};
  if (input.documents.defined()) {
    flow.positions = document_positions(input.documents);
    flow.seen = seen_in_documents(input.documents);
  }
  return flow;
}

Flow Llama::embed(const Flow& flow) const {
  const at::Tensor& tokens_BT = flow.x;
  // 0, 1, ... T-1, counted from the input itself so that a trace takes any length.
  const at::Tensor positions = flow.positions.defined()
                                   ? flow.positions
                                   : torch::ones_like(tokens_BT.select(0, 0)).cumsum(0).sub(1);
  return {.x = embed_->forward(tokens_BT), .positions = positions, .seen = flow.seen};
}

at::Tensor Llama::normed_of(const Flow& flow) {
  if (flow.load.defined()) {
    std::int64_t mixtures = 0;
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      mixtures += shape_.has_experts(i) ? 1 : 0;
    }
    aux_loss_ = balance_loss(flow.load, flow.x.numel() / shape_.width * mixtures);
  }
  return norm_->forward_sum(flow.x, flow.delta).normed;
}

std::optional<double> Llama::aux_loss_coefficient() const {
  return shape_.moe.experts > 0 ? std::optional(shape_.moe.aux_loss) : std::nullopt;
}

at::Tensor Llama::scores_of(const Flow& flow) {
  const at::Tensor normed = normed_of(flow);
  return head_ == nullptr ? torch::linear(normed, embed_->weight) : head_->forward(normed);
}

// A converter may have put something else there.
bool Llama::ends_in_linear() const {
  const Linear* head = head_.get();
  return head == nullptr || typeid(*head) == typeid(Linear);
}

Head Llama::head_of(const Flow& flow) {
  return {.features = normed_of(flow), .weight = head_ == nullptr ? embed_->weight : head_->weight};
}

std::optional<HuggingFaceLayout> Llama::hugging_face_layout(std::string_view dtype) const {
  return HuggingFaceLayout{.config_json = to_config_json(shape_, dtype).dump(2), .prefix = ""};
}

void Llama::init_weights() {
  const torch::NoGradGuard no_grad;
  each_layer([&](const std::string&, Layer& layer) {
    if (auto* embedding = dynamic_cast<Embedding*>(&layer)) {
      torch::nn::init::normal_(embedding->weight, 0, kLlamaInitStd);
    } else if (auto* linear = dynamic_cast<Linear*>(&layer)) {
      torch::nn::init::normal_(linear->weight, 0, kLlamaInitStd);
      if (linear->bias.defined()) {
        torch::nn::init::zeros_(linear->bias);
      }
    }
  });
}

KvCache Llama::make_cache(std::int64_t batch, std::int64_t room) const {
  const at::Tensor& like = embed_->weight;
  return KvCache::make(batch, room, shape_.layers, shape_.kv_heads, shape_.head_width,
                       like.options().requires_grad(false));
}

at::Tensor Llama::decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B, KvCache& cache) {
  const DecodePlace place(tokens_BT, counts_B, cache);
  Flow flow{.x = embed_->forward(tokens_BT)};
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    flow = blocks_[i]->decode(flow, place, cache.layers[i]);
  }
  cache.lengths_B.add_(counts_B);
  flow.x = place.last_of(flow.x);
  flow.delta = place.last_of(flow.delta);
  return scores_of(flow);
}

namespace {

// A model that fills a device is made on it, in the type that it trains in.
Making on_device(const Making& making) {
  Making there = making;
  there.device = making.context->device;
  if (making.context->precision == config::Precision::Bf16Pure) {
    there.type = at::kBFloat16;
  } else if (making.context->precision == config::Precision::Fp64) {
    there.type = at::kDouble;
  }
  return there;
}

Result<void> choose_experts(std::string_view name, const config::ModelConfig& config,
                            LlamaShape& shape) {
  MoeShape& moe = shape.moe;
  if (moe.experts == 0) {
    return {};
  }
  moe.ffn = shape.ffn;
  moe.experts = config.experts.value_or(moe.experts);
  moe.per_token = config.experts_per_token.value_or(moe.per_token);
  if (moe.per_token > moe.experts) {
    return fail(ErrorKind::Usage,
                fmt::format("{}: model.experts_per_token {} is more than the {} experts", name,
                            moe.per_token, moe.experts));
  }
  return {};
}

std::vector<std::string_view> keys_of(const LlamaShape& own) {
  std::vector<std::string_view> keys = {"layers", "heads", "width", "kv_heads", "ffn", "vocab"};
  if (own.moe.experts > 0) {
    keys.insert(keys.end(), {"experts", "experts_per_token"});
  }
  return keys;
}

Models::Entry llama_entry(std::string_view name, LlamaShape own, std::string_view summary) {
  return {name, summary,
          [=](const config::ModelConfig& config, const Signature& signature,
              const Making& making) -> Result<std::unique_ptr<Model>> {
            KEDGE_TRY(require_tokens(name, signature));
            LlamaShape shape = own;
            shape.layers = config.layers.value_or(own.layers);
            shape.width = config.width.value_or(own.width);
            shape.ffn = config.ffn.value_or(own.ffn);
            KEDGE_TRY(choose_experts(name, config, shape));
            if (config.heads) {
              KEDGE_TRY(require_heads_divide(name, shape.width, *config.heads));
              shape.heads = *config.heads;
              shape.head_width = shape.width / shape.heads;
              shape.kv_heads = std::gcd(own.kv_heads, shape.heads);
            }
            shape.kv_heads = config.kv_heads.value_or(shape.kv_heads);
            if (shape.heads % shape.kv_heads != 0) {
              return fail(ErrorKind::Usage,
                          fmt::format("{}: {} heads cannot share model.kv_heads {} evenly", name,
                                      shape.heads, shape.kv_heads));
            }
            if (shape.head_width % 2 != 0) {
              return fail(ErrorKind::Usage,
                          fmt::format("{}: heads of width {} cannot be rotated in pairs", name,
                                      shape.head_width),
                          "choose model.width and model.heads so that each head is of even width");
            }
            shape.vocab = signature.vocab;
            shape.context = signature.context;
            return make_llama(shape, making);
          },
          keys_of(own)};
}

const Models::Add kAddLlama(llama_entry("llama",
                                        {.layers = 6,
                                         .width = 192,
                                         .heads = 6,
                                         .kv_heads = 2,
                                         .head_width = 32,
                                         .ffn = 512,
                                         .is_tied = true},
                                        "Llama layout, 6 layers of width 192 with 6 heads on 2 "
                                        "key/value heads"));
const Models::Add kAddMoeMini(
    llama_entry("moe-mini",
                {.family = "mixtral",
                 .layers = 4,
                 .width = 128,
                 .heads = 4,
                 .kv_heads = 2,
                 .head_width = 32,
                 .ffn = 256,
                 .moe = {.experts = 8, .aux_loss = 0.01}},
                "Mixtral's layout, small: 4 layers of width 128 with 8 experts, 2 for each token"));
const Models::Add kAddSmolLm(llama_entry("smollm2-135m",
                                         {.layers = 30,
                                          .width = 576,
                                          .heads = 9,
                                          .kv_heads = 3,
                                          .head_width = 64,
                                          .ffn = 1536,
                                          .rope_base = 100000,
                                          .is_tied = true},
                                         "SmolLM2-135M's layout (134.5 M parameters with 49152 "
                                         "tokens)"));
const Models::Add kAddLlama1b(
    llama_entry("llama-1b",
                {.layers = 16,
                 .width = 2048,
                 .heads = 32,
                 .kv_heads = 8,
                 .head_width = 64,
                 .ffn = 8192,
                 .rope_base = 500000,
                 .rope = {.type = "llama3", .factor = 32},
                 .is_tied = true},
                "Llama 3.2 1B's layout (1.24 G parameters with 128256 tokens)"));
const Models::Add kAddLlama8b(
    llama_entry("llama-8b",
                {.layers = 32,
                 .width = 4096,
                 .heads = 32,
                 .kv_heads = 8,
                 .head_width = 128,
                 .ffn = 14336,
                 .rope_base = 500000,
                 .rope = {.type = "llama3", .factor = 8}},
                "Llama 3.1 8B's layout (8.03 G parameters with 128256 tokens)"));

}  // namespace

Result<std::unique_ptr<Model>> make_llama(const LlamaShape& shape, const Making& making) {
  return std::make_unique<Llama>(on_device(making), shape);
}

}  // namespace kedge::nn
