// Reads every byte of every tensor, so that a view outside of its file is found.
#pragma once

#include <atomic>
#include <cstdint>

#include "checkpoint/tensor_file.h"
#include "core/result.h"

namespace kedge {

inline void read_tensors(const checkpoint::TensorFile& file) {
  static std::atomic<std::uint8_t> sink = 0;  // so that no read is optimised away
  for (const checkpoint::TensorView& tensor : file.tensors()) {
    std::uint64_t elements = 1;
    for (const std::int64_t size : tensor.shape) {
      KEDGE_CHECK(size >= 0, "no reader gives a negative size");
      elements *= static_cast<std::uint64_t>(size);
    }
    const auto element_size = static_cast<std::uint64_t>(checkpoint::size_of(tensor.type));
    KEDGE_CHECK(elements * element_size == tensor.bytes.size(), "shape and bytes agree");
    std::uint8_t all = 0;
    for (const std::uint8_t byte : tensor.bytes) {
      all = static_cast<std::uint8_t>(all ^ byte);
    }
    sink.store(all);
  }
}

}  // namespace kedge
