#include "nn/internal/cached_attention.h"

#include <torch/types.h>

namespace kedge::nn {

KvCache KvCache::make(std::int64_t batch, std::int64_t room, std::int64_t layers,
                      std::int64_t heads, std::int64_t head_width, at::TensorOptions options) {
  KvCache cache{.layers = {},
                .lengths_B = torch::zeros({batch}, options.dtype(at::kLong).requires_grad(false)),
                .room = room};
  for (std::int64_t i = 0; i < layers; ++i) {
    // Zeros: attention multiplies what is not there yet by a weight of 0.
    cache.layers.push_back({torch::zeros({batch, heads, room, head_width}, options),
                            torch::zeros({batch, heads, room, head_width}, options)});
  }
  return cache;
}

DecodePlace::DecodePlace(const at::Tensor& tokens_BT, const at::Tensor& counts,
                         const KvCache& cache)
    : positions_BT(cache.lengths_B.unsqueeze(1) +
                   torch::arange(tokens_BT.size(1), cache.lengths_B.options())),
      counts_B(counts) {}

at::Tensor DecodePlace::last_of(const at::Tensor& x_BTC) const {
  // A text that has ended before the others has none in this call.
  const at::Tensor last_B11 = (counts_B - 1).clamp_min(0).view({-1, 1, 1});
  return x_BTC.gather(1, last_B11.expand({-1, 1, x_BTC.size(2)})).squeeze(1);
}

at::Tensor attend_cached(const device::Context& context, const at::Tensor& q_BHTD, const at::Tensor& k_BKTD,
                         const at::Tensor& v_BKTD, const DecodePlace& place, KvCache::Layer& layer,
                         std::int64_t window) {
  const at::Tensor& keys = layer.keys_BHLD;
  if (context.fused != nullptr && q_BHTD.size(2) == 1) {
    const at::Tensor y = context.fused->attend_cached({.q = q_BHTD,
                                                       .k = k_BKTD,
                                                       .v = v_BKTD,
                                                       .keys = keys,
                                                       .values = layer.values_BHLD,
                                                       .places = place.positions_BT.select(1, 0),
                                                       .window = window});
    if (y.defined()) {
      return y;
    }
  }
  // Padding may stand past the end; it goes to the last place, which no text uses before it is
  // full.
  const at::Tensor at_B1T1 =
      place.positions_BT.clamp_max(keys.size(2) - 1).view({keys.size(0), 1, -1, 1});
  const at::Tensor at_BKTD = at_B1T1.expand(k_BKTD.sizes());
  layer.keys_BHLD.scatter_(2, at_BKTD, k_BKTD.to(keys.scalar_type()));
  layer.values_BHLD.scatter_(2, at_BKTD, v_BKTD.to(keys.scalar_type()));
  const at::Tensor cached_L = torch::arange(keys.size(2), place.positions_BT.options());
  const at::Tensor query_B1T1 = place.positions_BT.view({keys.size(0), 1, -1, 1});
  at::Tensor is_seen = cached_L.le(query_B1T1);
  if (window > 0) {
    is_seen = is_seen.logical_and(cached_L.gt(query_B1T1 - window));
  }
  return at::scaled_dot_product_attention(q_BHTD.to(keys.scalar_type()), keys, layer.values_BHLD,
                                          is_seen, 0.0, /*is_causal=*/false, std::nullopt,
                                          /*enable_gqa=*/q_BHTD.size(1) != keys.size(1));
}

}  // namespace kedge::nn
