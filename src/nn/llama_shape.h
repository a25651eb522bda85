// The layout of Llama and its family (Mistral, Mixtral, Qwen2, Qwen3, SmolLM2, ...), as Hugging
// Face's config.json and GGUF headers describe it: numbers and switches, no tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "core/result.h"

namespace kedge::nn {

// How rotary positions are stretched beyond the context that a model was first trained with.
struct RopeScaling {
  std::string type = "default";  // or "linear", "llama3", "yarn"
  double factor = 1;
  double low_frequency = 1;   // llama3: wavelengths beyond original / low are stretched whole,
  double high_frequency = 4;  // those below original / high not at all
  double original_context = 8192;
  double beta_fast = 32;        // yarn: rotations in the original context beyond which nothing is
  double beta_slow = 1;         // stretched, and below which all is
  double attention_factor = 0;  // yarn: of cosines and sines; 0: 0.1 ln(factor) + 1
};

// Experts in the place of MLPs, of which each token passes a few.
struct MoeShape {
  std::int64_t experts = 0;  // 0: every block has an MLP
  std::int64_t per_token = 2;
  std::int64_t ffn = 0;                         // inner width of an expert
  std::int64_t shared_ffn = 0;                  // of the expert that every token passes; 0: none
  bool is_normalised = true;                    // a token's chosen experts weigh 1 together
  std::int64_t every = 1;                       // of so many blocks the last has experts,
  std::vector<std::int64_t> dense_layers = {};  // but for these
  double aux_loss = 0.001;                      // router_aux_loss_coef
};

struct LlamaShape {
  std::string family = "llama";  // config.json's model_type
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;    // each is shared by heads / kv_heads heads
  std::int64_t head_width = 0;  // even
  std::int64_t ffn = 0;         // inner width of an MLP
  std::int64_t vocab = 0;
  std::int64_t context = 0;  // the longest that it was made for
  double norm_eps = 1e-5;
  double rope_base = 10000;
  RopeScaling rope = {};
  bool is_tied = false;      // the head is the embedding's table
  bool qkv_bias = false;     // in the projections to queries, keys and values
  bool output_bias = false;  // in the projection after attention
  bool mlp_bias = false;
  bool qk_norm = false;     // RMSNorm over each head of queries and keys
  std::int64_t window = 0;  // tokens that attention looks back, itself included; 0: all
  // The layer from which on the window holds.
  std::int64_t window_from = 0;
  std::vector<std::int64_t> end_ids = {};  // tokens that end a text
  MoeShape moe = {};

  std::int64_t window_of(std::int64_t layer) const { return layer >= window_from ? window : 0; }

  bool has_experts(std::int64_t layer) const;
};

// A config.json of transformers 4 or 5. Usage: another architecture, or a key that is not known
// here and might change what is computed, by name. `where` is for messages.
Result<LlamaShape> read_llama_config(const nlohmann::json& json, std::string_view where);

// The header of a GGUF file of architecture llama, qwen2 or qwen3.
Result<LlamaShape> read_llama_gguf(const nlohmann::json& facts, std::string_view where);

// What transformers reads.
nlohmann::json to_config_json(const LlamaShape& shape, std::string_view dtype);

// Angles per position of each pair of a head's values: head_width / 2 of them.
std::vector<double> rope_frequencies(const LlamaShape& shape);

// What cosines and sines are multiplied by.
double rope_attention_factor(const RopeScaling& rope);

}  // namespace kedge::nn
