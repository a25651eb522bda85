// Reading config.json of Hugging Face's folders, of which nothing may be ignored that changes what
// a model computes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/result.h"

namespace kedge::nn {

// Keys of config.json that change nothing in what a forward pass computes.
inline const std::set<std::string_view> kWithoutEffect = {"add_cross_attention",
                                                          "architectures",
                                                          "auto_map",
                                                          "bos_token_id",
                                                          "chunk_size_feed_forward",
                                                          "cross_attention_hidden_size",
                                                          "decoder_start_token_id",
                                                          "dtype",
                                                          "id2label",
                                                          "initializer_range",
                                                          "is_decoder",
                                                          "is_encoder_decoder",
                                                          "is_llama_config",
                                                          "label2id",
                                                          "max_window_layers",
                                                          "output_attentions",
                                                          "output_hidden_states",
                                                          "pad_token_id",
                                                          "pretraining_tp",
                                                          "problem_type",
                                                          "return_dict",
                                                          "rope_interleaved",
                                                          "router_aux_loss_coef",
                                                          "torch_dtype",
                                                          "torchscript",
                                                          "transformers.js_config",
                                                          "transformers_version",
                                                          "unk_token_id",
                                                          "unsloth_fixed",
                                                          "unsloth_version",
                                                          "use_cache"};

// Reads the keys of one object, and knows afterwards which were not asked for.
class ConfigKeys {
 public:
  ConfigKeys(const nlohmann::json& object, std::string_view where)
      : object_(object), where_(where) {}

  template <typename T>
  Result<T> get(const char* key, std::optional<T> otherwise = std::nullopt) {
    asked_.insert(key);
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) {
      if (!otherwise) {
        return fail(ErrorKind::Usage, fmt::format("{} has no '{}'", where_, key),
                    "it is needed to build the model");
      }
      return *otherwise;
    }
    try {
      return found->template get<T>();
    } catch (const nlohmann::json::exception&) {
      return fail(ErrorKind::Usage,
                  fmt::format("{}: '{}' cannot be {}", where_, key, found->dump()));
    }
  }

  bool has(const char* key) const { return object_.contains(key) && !object_[key].is_null(); }

  const nlohmann::json& at(const char* key) {
    asked_.insert(key);
    return object_[key];
  }

  Result<void> refuse_others() const {
    for (const auto& [key, value] : object_.items()) {
      if (!key.starts_with('_') && !asked_.contains(key) && !kWithoutEffect.contains(key) &&
          !value.is_null()) {
        return fail(ErrorKind::Usage,
                    fmt::format("{}: kedge does not know what '{}' does to the model", where_, key),
                    "if it changes nothing, take it out of the file");
      }
    }
    return {};
  }

 private:
  const nlohmann::json& object_;
  std::string_view where_;
  std::set<std::string> asked_;
};

}  // namespace kedge::nn
