// A language model as a folder that transformers loads: config.json, weights, tokenizer.
#pragma once

#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::use {

struct HuggingFaceFolder {
  const nn::Model& model;  // without adapters
  at::ScalarType type;     // that the weights are written in
  Path original = {};      // a folder or .gguf file whose tokenizer goes along; empty: none
};

// Written beside and renamed: the folder is whole or not there. Usage: transformers has no such
// network, or there is something at `output` already.
Result<void> write_hugging_face(const HuggingFaceFolder& folder, const Path& output);

// "float32", "bfloat16", "float16", also "fp32", "bf16", "fp16".
Result<at::ScalarType> parse_type(std::string_view name);
std::string_view name_of_type(at::ScalarType type);

}  // namespace kedge::use
