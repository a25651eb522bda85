// GGUF files, in which llama.cpp and its friends keep a language model whole: weights (often
// packed in blocks of few bits), layout and tokenizer. They are read, never written.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/tensor_file.h"

namespace kedge::checkpoint {

class GgufFile : public TensorFile {
 public:
  // The header's keys and values: {"general.architecture": "llama", ...}.
  virtual const nlohmann::json& facts() const = 0;
};

bool is_gguf(const Path& path);

// Tensors have the names and the order of rows that Hugging Face's files have. Those of packed
// types (Q4_0, Q4_1, Q8_0) are F32 and unpacked by bytes_of(). Corrupt: damaged or cut short;
// Usage: another packed type, or another version of the format.
Result<std::unique_ptr<GgufFile>> open_gguf(const Path& path);

}  // namespace kedge::checkpoint
