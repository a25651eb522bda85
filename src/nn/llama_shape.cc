#include "nn/llama_shape.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/internal/config_keys.h"
#include "nn/internal/moe_shape.h"

namespace kedge::nn {
namespace {

using nlohmann::json;

Result<RopeScaling> read_rope(const json& object, std::string_view where, double context,
                              double& base) {
  RopeScaling rope;
  ConfigKeys keys(object, where);
  rope.type = KEDGE_TRY(keys.get<std::string>("type", "default"));
  rope.type = KEDGE_TRY(keys.get<std::string>("rope_type", rope.type));
  base = KEDGE_TRY(keys.get<double>("rope_theta", base));
  rope.factor = KEDGE_TRY(keys.get<double>("factor", 1.0));
  rope.low_frequency = KEDGE_TRY(keys.get<double>("low_freq_factor", 1.0));
  rope.high_frequency = KEDGE_TRY(keys.get<double>("high_freq_factor", 4.0));
  rope.original_context = KEDGE_TRY(keys.get<double>("original_max_position_embeddings", context));
  rope.beta_fast = KEDGE_TRY(keys.get<double>("beta_fast", 32.0));
  rope.beta_slow = KEDGE_TRY(keys.get<double>("beta_slow", 1.0));
  rope.attention_factor = KEDGE_TRY(keys.get<double>("attention_factor", 0.0));
  constexpr std::array<std::string_view, 4> kTypes = {"default", "linear", "llama3", "yarn"};
  if (std::ranges::find(kTypes, rope.type) == kTypes.end()) {
    return fail(ErrorKind::Usage, fmt::format("{}: rope type '{}' is not known", where, rope.type),
                "known are default, linear, llama3 and yarn");
  }
  KEDGE_TRY(keys.refuse_others());
  return rope;
}

// Layers with a window, as transformers 5 lists them and 4 counts them.
Result<void> read_windows(ConfigKeys& keys, std::string_view where, LlamaShape& shape) {
  const bool has_switch = shape.family.starts_with("qwen");
  const bool is_used = KEDGE_TRY(keys.get<bool>("use_sliding_window", !has_switch));
  const auto window = KEDGE_TRY(keys.get<std::int64_t>("sliding_window", std::int64_t{0}));
  shape.window = is_used ? window : 0;
  if (shape.family == "qwen2_moe" && shape.window > 0) {
    return fail(ErrorKind::Usage,
                fmt::format("{}: sliding windows of qwen2_moe are not known", where),
                "set use_sliding_window to false in the file");
  }
  if (has_switch && shape.family != "qwen3_moe" && shape.window > 0) {
    shape.window_from = KEDGE_TRY(keys.get<std::int64_t>("max_window_layers", std::int64_t{0}));
  }
  const auto types =
      KEDGE_TRY(keys.get<std::vector<std::string>>("layer_types", std::vector<std::string>()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool has_window = shape.window_of(static_cast<std::int64_t>(i)) > 0;
    if (types[i] != (has_window ? "sliding_attention" : "full_attention")) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: layer {} has attention of type '{}', which does not go with "
                              "sliding_window",
                              where, i, types[i]));
    }
  }
  return {};
}

Result<void> check_shape(const LlamaShape& shape, std::string_view where) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::Usage, fmt::format("{}: {}", where, what));
  };
  for (const std::int64_t size : {shape.layers, shape.width, shape.heads, shape.kv_heads,
                                  shape.head_width, shape.ffn, shape.vocab, shape.context}) {
    if (size < 1) {
      return bad("every size of the model must be at least 1");
    }
  }
  if (shape.heads % shape.kv_heads != 0) {
    return bad(fmt::format("{} heads cannot share {} key/value heads evenly", shape.heads,
                           shape.kv_heads));
  }
  if (shape.head_width % 2 != 0) {
    return bad(fmt::format("heads of width {} cannot be rotated in pairs", shape.head_width));
  }
  return {};
}

Result<std::vector<std::int64_t>> read_end_ids(ConfigKeys& keys) {
  if (keys.has("eos_token_id") && keys.at("eos_token_id").is_array()) {
    return keys.get<std::vector<std::int64_t>>("eos_token_id");
  }
  const auto id = KEDGE_TRY(keys.get<std::int64_t>("eos_token_id", std::int64_t{-1}));
  return id < 0 ? std::vector<std::int64_t>() : std::vector<std::int64_t>{id};
}

Result<void> read_biases(ConfigKeys& keys, LlamaShape& shape) {
  const bool is_qwen2 = shape.family.starts_with("qwen2");
  const bool has_bias = KEDGE_TRY(keys.get<bool>("attention_bias", is_qwen2));
  shape.qkv_bias =
      shape.family == "qwen2_moe" ? KEDGE_TRY(keys.get<bool>("qkv_bias", true)) : has_bias;
  shape.output_bias = has_bias && !is_qwen2;
  shape.mlp_bias = KEDGE_TRY(keys.get<bool>("mlp_bias", false));
  shape.qk_norm = shape.family.starts_with("qwen3");
  return {};
}

}  // namespace

Result<LlamaShape> read_llama_config(const json& object, std::string_view where) {
  if (!object.is_object()) {
    return fail(ErrorKind::Usage, fmt::format("{} is not a JSON object", where));
  }
  ConfigKeys keys(object, where);
  LlamaShape shape;
  shape.family = KEDGE_TRY(keys.get<std::string>("model_type"));
  constexpr std::array<std::string_view, 7> kFamilies = {
      "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"};
  if (std::ranges::find(kFamilies, shape.family) == kFamilies.end()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{} is of model_type '{}', which kedge does not have", where, shape.family),
        "folders of llama, mistral, mixtral, qwen2, qwen2_moe, qwen3 and qwen3_moe are read");
  }
  shape.layers = KEDGE_TRY(keys.get<std::int64_t>("num_hidden_layers"));
  shape.width = KEDGE_TRY(keys.get<std::int64_t>("hidden_size"));
  shape.heads = KEDGE_TRY(keys.get<std::int64_t>("num_attention_heads"));
  shape.kv_heads = KEDGE_TRY(keys.get<std::int64_t>("num_key_value_heads", shape.heads));
  shape.head_width = KEDGE_TRY(keys.get<std::int64_t>(
      "head_dim", shape.family.starts_with("qwen3")
                      ? 128
                      : shape.width / std::max<std::int64_t>(1, shape.heads)));
  shape.ffn = KEDGE_TRY(keys.get<std::int64_t>("intermediate_size"));
  shape.vocab = KEDGE_TRY(keys.get<std::int64_t>("vocab_size"));
  shape.context = KEDGE_TRY(keys.get<std::int64_t>("max_position_embeddings"));
  shape.norm_eps = KEDGE_TRY(keys.get<double>("rms_norm_eps", 1e-6));
  shape.is_tied = KEDGE_TRY(keys.get<bool>("tie_word_embeddings", false));
  shape.end_ids = KEDGE_TRY(read_end_ids(keys));
  KEDGE_TRY(read_biases(keys, shape));
  KEDGE_TRY(read_windows(keys, where, shape));
  shape.moe = KEDGE_TRY(read_moe(keys, where, shape));
  shape.rope_base = KEDGE_TRY(keys.get<double>("rope_theta", 10000.0));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {  // of transformers 4 and 5
    if (keys.has(key)) {
      shape.rope = KEDGE_TRY(read_rope(keys.at(key), fmt::format("{}: {}", where, key),
                                       static_cast<double>(shape.context), shape.rope_base));
    }
  }
  if (const auto act = KEDGE_TRY(keys.get<std::string>("hidden_act", "silu")); act != "silu") {
    return fail(ErrorKind::Usage,
                fmt::format("{}: hidden_act '{}' is not known, only silu", where, act));
  }
  if (KEDGE_TRY(keys.get<double>("attention_dropout", 0.0)) != 0) {
    return fail(ErrorKind::Usage, fmt::format("{}: attention_dropout is not known", where),
                "set it to 0 in the file");
  }
  KEDGE_TRY(keys.refuse_others());
  KEDGE_TRY(check_shape(shape, where));
  return shape;
}

Result<LlamaShape> read_llama_gguf(const json& facts, std::string_view where) {
  ConfigKeys keys(facts, where);
  LlamaShape shape;
  shape.family = KEDGE_TRY(keys.get<std::string>("general.architecture"));
  constexpr std::array<std::string_view, 3> kFamilies = {"llama", "qwen2", "qwen3"};
  if (std::ranges::find(kFamilies, shape.family) == kFamilies.end()) {
    return fail(
        ErrorKind::Usage,
        fmt::format("{} is of architecture '{}', which kedge does not have", where, shape.family),
        "GGUF files of llama, qwen2 and qwen3 are read");
  }
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", shape.family, name); };
  const auto number = [&](std::string_view name, std::optional<std::int64_t> otherwise = {}) {
    return keys.get<std::int64_t>(key(name).c_str(), otherwise);
  };
  shape.layers = KEDGE_TRY(number("block_count"));
  shape.width = KEDGE_TRY(number("embedding_length"));
  shape.heads = KEDGE_TRY(number("attention.head_count"));
  shape.kv_heads = KEDGE_TRY(number("attention.head_count_kv", shape.heads));
  shape.head_width = KEDGE_TRY(
      number("attention.key_length", shape.width / std::max<std::int64_t>(1, shape.heads)));
  shape.ffn = KEDGE_TRY(number("feed_forward_length"));
  shape.context = KEDGE_TRY(number("context_length"));
  shape.norm_eps =
      KEDGE_TRY(keys.get<double>(key("attention.layer_norm_rms_epsilon").c_str(), 1e-5));
  shape.rope_base = KEDGE_TRY(keys.get<double>(key("rope.freq_base").c_str(), 10000.0));
  shape.vocab = facts.contains("tokenizer.ggml.tokens")
                    ? static_cast<std::int64_t>(facts["tokenizer.ggml.tokens"].size())
                    : KEDGE_TRY(number("vocab_size"));
  shape.qkv_bias = shape.family == "qwen2";
  shape.qk_norm = shape.family == "qwen3";
  if (const auto type = KEDGE_TRY(keys.get<std::string>(key("rope.scaling.type").c_str(), "none"));
      type != "none") {
    return fail(ErrorKind::Usage,
                fmt::format("{}: rope scaling '{}' of GGUF files is not read", where, type),
                "use the model's folder from Hugging Face instead");
  }
  if (facts.contains(key("expert_count"))) {
    return fail(ErrorKind::Usage, fmt::format("{} is a mixture of experts", where));
  }
  const auto end =
      KEDGE_TRY(keys.get<std::int64_t>("tokenizer.ggml.eos_token_id", std::int64_t{-1}));
  if (end >= 0) {
    shape.end_ids = {end};
  }
  KEDGE_TRY(check_shape(shape, where));
  return shape;
}

json to_config_json(const LlamaShape& shape, std::string_view dtype) {
  const std::map<std::string_view, std::string_view> kClasses = {
      {"llama", "LlamaForCausalLM"},        {"mistral", "MistralForCausalLM"},
      {"mixtral", "MixtralForCausalLM"},    {"qwen2", "Qwen2ForCausalLM"},
      {"qwen2_moe", "Qwen2MoeForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"},
      {"qwen3_moe", "Qwen3MoeForCausalLM"}};
  json object = {{"model_type", shape.family},
                 {"architectures", {kClasses.at(shape.family)}},
                 {"num_hidden_layers", shape.layers},
                 {"hidden_size", shape.width},
                 {"num_attention_heads", shape.heads},
                 {"num_key_value_heads", shape.kv_heads},
                 {"head_dim", shape.head_width},
                 {"intermediate_size", shape.ffn},
                 {"vocab_size", shape.vocab},
                 {"max_position_embeddings", shape.context},
                 {"rms_norm_eps", shape.norm_eps},
                 {"rope_theta", shape.rope_base},
                 {"tie_word_embeddings", shape.is_tied},
                 {"hidden_act", "silu"},
                 {"torch_dtype", dtype}};
  const bool is_mistral = shape.family == "mistral" || shape.family == "mixtral";
  if (shape.family == "qwen2_moe") {
    object["qkv_bias"] = shape.qkv_bias;
  } else if (shape.family != "qwen2" && !is_mistral) {
    object["attention_bias"] = shape.qkv_bias;
  }
  write_moe(shape, object);
  if (shape.family == "llama") {
    object["mlp_bias"] = shape.mlp_bias;
  }
  if (is_mistral) {
    object["sliding_window"] = shape.window > 0 ? json(shape.window) : json();
  } else if (shape.window > 0) {
    object["use_sliding_window"] = true;
    object["sliding_window"] = shape.window;
    if (shape.family != "qwen3_moe") {
      object["max_window_layers"] = shape.window_from;
    }
  }
  if (!shape.end_ids.empty()) {
    object["eos_token_id"] =
        shape.end_ids.size() == 1 ? json(shape.end_ids[0]) : json(shape.end_ids);
  }
  if (shape.rope.type != "default") {
    json rope = {{"rope_type", shape.rope.type},
                 {"factor", shape.rope.factor},
                 {"original_max_position_embeddings", shape.rope.original_context}};
    if (shape.rope.type == "llama3") {
      rope["low_freq_factor"] = shape.rope.low_frequency;
      rope["high_freq_factor"] = shape.rope.high_frequency;
    } else if (shape.rope.type == "yarn") {
      rope["beta_fast"] = shape.rope.beta_fast;
      rope["beta_slow"] = shape.rope.beta_slow;
    }
    object["rope_scaling"] = std::move(rope);
  }
  return object;
}

namespace {

double llama3_frequency(const RopeScaling& rope, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < rope.original_context / rope.high_frequency) {
    return frequency;
  }
  if (wavelength > rope.original_context / rope.low_frequency) {
    return frequency / rope.factor;
  }
  const double kept = (rope.original_context / wavelength - rope.low_frequency) /
                      (rope.high_frequency - rope.low_frequency);
  return (1 - kept) * frequency / rope.factor + kept * frequency;
}

// Where in a head the pair lies that makes so many rotations in the original context.
double yarn_pair(const LlamaShape& shape, double rotations) {
  return static_cast<double>(shape.head_width) *
         std::log(shape.rope.original_context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(shape.rope_base));
}

void stretch_by_yarn(const LlamaShape& shape, std::vector<double>& frequencies) {
  const double low = std::max(0.0, std::floor(yarn_pair(shape, shape.rope.beta_fast)));
  double high = std::min(static_cast<double>(shape.head_width - 1),
                         std::ceil(yarn_pair(shape, shape.rope.beta_slow)));
  high = high == low ? high + 0.001 : high;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] =
        frequencies[i] / shape.rope.factor * stretched + frequencies[i] * (1 - stretched);
  }
}

}  // namespace

std::vector<double> rope_frequencies(const LlamaShape& shape) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.head_width; i += 2) {
    double frequency =
        std::pow(shape.rope_base, -static_cast<double>(i) / static_cast<double>(shape.head_width));
    if (shape.rope.type == "linear") {
      frequency /= shape.rope.factor;
    } else if (shape.rope.type == "llama3") {
      frequency = llama3_frequency(shape.rope, frequency);
    }
    frequencies.push_back(frequency);
  }
  if (shape.rope.type == "yarn") {
    stretch_by_yarn(shape, frequencies);
  }
  return frequencies;
}

double rope_attention_factor(const RopeScaling& rope) {
  if (rope.type != "yarn") {
    return 1;
  }
  if (rope.attention_factor > 0) {
    return rope.attention_factor;
  }
  return rope.factor > 1 ? 0.1 * std::log(rope.factor) + 1 : 1;
}

}  // namespace kedge::nn
