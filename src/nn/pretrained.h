// Models of text that others trained, whole on disk: a folder as Hugging Face keeps it
// (config.json, safetensors, tokenizer.json), or a GGUF file.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "config/model_config.h"
#include "core/file.h"
#include "core/result.h"
#include "nn/bert_shape.h"
#include "nn/llama_shape.h"

namespace kedge::nn {

bool is_pretrained(const Path& path);

// Whether it holds weights too; a folder may describe a model that is yet to be trained.
bool has_weights(const Path& path);

using PretrainedShape = std::variant<LlamaShape, BertShape>;

// Usage: an architecture that kedge does not have, or something in its description that is not
// known here.
Result<PretrainedShape> read_pretrained(const Path& path);

// Of a language model; Usage where it is none.
Result<LlamaShape> read_pretrained_shape(const Path& path);

// How many tokens the model of the config has scores for; nothing: as many as the data has. Usage
// where model.vocab contradicts model.file.
Result<std::optional<std::int64_t>> find_vocab(const config::ModelConfig& config);

}  // namespace kedge::nn
