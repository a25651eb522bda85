// Names, sizes and shapes of tensors, for the readers and writers of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/tensor_file.h"

namespace kedge::checkpoint {

std::optional<DType> find_dtype(std::string_view name);

// Elements of a shape times `element_size`, or nothing when a dimension is negative or the product
// does not fit into 63 bits.
std::optional<std::int64_t> find_byte_count(std::span<const std::int64_t> shape,
                                            std::int64_t element_size);

std::string render_shape(std::span<const std::int64_t> shape);  // "[64, 3, 3]"

}  // namespace kedge::checkpoint
