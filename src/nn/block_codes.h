// Values as numbers of entries in a table, times what a block of them has in common: how
// bitsandbytes keeps weights in 4 bits and an optimizer's moments in 8. Nothing here waits for the
// device.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

// The 16 values of NF4 (Dettmers et al. 2023), for weights that are normally distributed.
at::Tensor nf4_table();

// The 256 values of the dynamic type (Dettmers 2016), sorted: the further from 1, the fewer bits
// are left for the fraction. Without a sign they are all positive.
at::Tensor dynamic_table(bool is_signed);

struct BlockCodes {
  at::Tensor codes;   // uint8, as many as values
  at::Tensor absmax;  // float, of each block
};

// The nearest entries, in blocks of so many values; the last block may be short.
BlockCodes encode_blocks(const at::Tensor& values, const at::Tensor& table, std::int64_t block);

// In float32, one after the other.
at::Tensor decode_blocks(const BlockCodes& blocks, const at::Tensor& table, std::int64_t block);

}  // namespace kedge::nn
