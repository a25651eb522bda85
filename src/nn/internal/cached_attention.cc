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

namespace {

// A single token's heads become queries of the key/value head that they share, so that nothing is
// repeated. For more tokens on a GPU it is: its kernels that take a mask share no heads.
at::Tensor attend_shared(const at::Tensor& q_BHTD, const at::Tensor& keys_BKLD,
                         const at::Tensor& values_BKLD, const std::optional<at::Tensor>& seen,
                         bool is_causal = false) {
  const bool is_shared = q_BHTD.size(1) != keys_BKLD.size(1);
  const bool is_folded = is_shared && q_BHTD.size(2) == 1;
  const at::Tensor q = q_BHTD.to(keys_BKLD.scalar_type());
  const bool is_repeated = is_shared && !is_folded && q.is_cuda();
  const auto for_all = [&](const at::Tensor& x_BKLD) {
    return is_repeated ? x_BKLD.repeat_interleave(q.size(1) / x_BKLD.size(1), 1) : x_BKLD;
  };
  const at::Tensor y = at::scaled_dot_product_attention(
      is_folded ? q.reshape({q.size(0), keys_BKLD.size(1), -1, q.size(3)}) : q, for_all(keys_BKLD),
      for_all(values_BKLD), seen, 0.0, is_causal, std::nullopt,
      /*enable_gqa=*/is_shared && !is_folded && !is_repeated);
  return is_folded ? y.reshape(q.sizes()) : y;
}

// Which of `length` cached tokens those at `query` see.
at::Tensor seen_from(const at::Tensor& query_T1, std::int64_t length, std::int64_t window) {
  const at::Tensor cached_L = torch::arange(length, query_T1.options());
  const at::Tensor is_seen = cached_L.le(query_T1);
  return window > 0 ? is_seen.logical_and(cached_L.gt(query_T1 - window)) : is_seen;
}

// On a CPU, where lengths can be looked at, each text attends by itself to what it has: nothing is
// computed for the room behind it, nor for texts that rest.
at::Tensor attend_one_by_one(const at::Tensor& q_BHTD, const at::Tensor& k_BKTD,
                             const at::Tensor& v_BKTD, const DecodePlace& place,
                             KvCache::Layer& layer, std::int64_t window) {
  at::Tensor y_BHTD = torch::zeros(q_BHTD.sizes(), layer.keys_BHLD.options());
  for (std::int64_t row = 0; row < q_BHTD.size(0); ++row) {
    const auto count = place.counts_B[row].item<std::int64_t>();
    if (count == 0) {
      continue;
    }
    const auto start = place.positions_BT[row][0].item<std::int64_t>();
    const auto mine = [&](const at::Tensor& x) { return x.narrow(0, row, 1); };
    const auto now = [&](const at::Tensor& x) { return mine(x).narrow(2, 0, count); };
    mine(layer.keys_BHLD).narrow(2, start, count).copy_(now(k_BKTD));
    mine(layer.values_BHLD).narrow(2, start, count).copy_(now(v_BKTD));
    const std::int64_t length = start + count;
    std::optional<at::Tensor> seen;
    if (window > 0 || (count > 1 && start > 0)) {
      seen = seen_from(place.positions_BT[row].narrow(0, 0, count).unsqueeze(1), length, window);
    }
    now(y_BHTD).copy_(attend_shared(now(q_BHTD), mine(layer.keys_BHLD).narrow(2, 0, length),
                                    mine(layer.values_BHLD).narrow(2, 0, length), seen,
                                    /*is_causal=*/!seen && count > 1));
  }
  return y_BHTD;
}

}  // namespace

at::Tensor attend_cached(const device::Context& context, const at::Tensor& q_BHTD,
                         const at::Tensor& k_BKTD, const at::Tensor& v_BKTD,
                         const DecodePlace& place, KvCache::Layer& layer, std::int64_t window) {
  const at::Tensor& keys = layer.keys_BHLD;
  if (keys.is_cpu()) {
    return attend_one_by_one(q_BHTD, k_BKTD, v_BKTD, place, layer, window);
  }
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
  const at::Tensor query_B1T1 = place.positions_BT.view({keys.size(0), 1, -1, 1});
  return attend_shared(q_BHTD, keys, layer.values_BHLD,
                       seen_from(query_B1T1, keys.size(2), window));
}

}  // namespace kedge::nn
