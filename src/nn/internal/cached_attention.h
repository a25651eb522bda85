// What decoders have in common: tokens find their places in a cache, and attend to what is in it.
#pragma once

#include <cstdint>

#include "device/context.h"
#include "nn/decoder.h"

namespace kedge::nn {

// Where the tokens of one call of Decoder::decode() stand.
struct DecodePlace {
  at::Tensor positions_BT;  // int64
  at::Tensor counts_B;

  DecodePlace(const at::Tensor& tokens_BT, const at::Tensor& counts, const KvCache& cache);

  // Of [B, T, ...] the row of each text's last token: [B, ...].
  at::Tensor last_of(const at::Tensor& x_BTC) const;
};

// Puts keys and values into the cache and answers softmax(q k / sqrt(D)) v over what is in it by
// then. `window`: tokens that each looks back, itself included; 0: all.
at::Tensor attend_cached(const device::Context& context, const at::Tensor& q_BHTD,
                         const at::Tensor& k_BKTD, const at::Tensor& v_BKTD,
                         const DecodePlace& place, KvCache::Layer& layer, std::int64_t window = 0);

}  // namespace kedge::nn
