#include "use/internal/recomputing_decoder.h"

#include <torch/types.h>

namespace kedge::use {

// The one layer's "keys" are the tokens themselves: int64 [B, 1, room, 1].
nn::KvCache RecomputingDecoder::make_cache(std::int64_t batch, std::int64_t room) const {
  const auto parameters = model_.parameters();
  const auto options = at::TensorOptions(at::kLong).device(parameters.front().second.device());
  return nn::KvCache::make(batch, room, 1, 1, 1, options);
}

at::Tensor RecomputingDecoder::decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B,
                                      nn::KvCache& cache) {
  const at::Tensor text_BL = cache.layers[0].keys_BHLD.select(3, 0).select(1, 0);
  const at::Tensor at_BT =
      (cache.lengths_B.unsqueeze(1) + torch::arange(tokens_BT.size(1), tokens_BT.options()))
          .clamp_max(text_BL.size(1) - 1);
  text_BL.scatter_(1, at_BT, tokens_BT);
  cache.lengths_B.add_(counts_B);
  const at::Tensor last_B11 = (cache.lengths_B - 1).clamp_min(0).view({-1, 1, 1});
  const std::int64_t longest = cache.lengths_B.max().item<std::int64_t>();
  const at::Tensor scores_BTV = model_.forward(text_BL.narrow(1, 0, longest));
  return scores_BTV.gather(1, last_B11.expand({-1, 1, scores_BTV.size(2)})).squeeze(1);
}

}  // namespace kedge::use
