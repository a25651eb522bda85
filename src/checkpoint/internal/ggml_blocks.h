// The packed number formats of GGUF files: blocks of 32 values that have a scale of 16 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "checkpoint/tensor_file.h"

namespace kedge::checkpoint {

struct GgmlType {
  std::uint32_t number = 0;  // in files
  DType unpacked = DType::F32;
  std::int64_t values = 1;  // of a block
  std::int64_t bytes = 4;   // of a block

  bool is_packed() const { return values > 1; }
};

// Nothing: a type that is not read here.
std::optional<GgmlType> find_ggml_type(std::uint32_t number);

// Whole blocks to floats.
void unpack_blocks(const GgmlType& type, std::span<const std::uint8_t> blocks,
                   std::span<float> values);

}  // namespace kedge::checkpoint
