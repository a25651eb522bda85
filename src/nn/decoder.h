// A Decoder is a model that goes on with a text token by token: what it has computed of the tokens
// before stays in a cache, so that each new one costs one token's work.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

// Keys and values of the tokens so far, for B texts that advance together. Everything is on the
// model's device, so that a step can be captured: a replayed one finds its place by `lengths`.
struct KvCache {
  struct Layer {
    at::Tensor keys_BHLD;
    at::Tensor values_BHLD;
  };

  std::vector<Layer> layers;
  at::Tensor lengths_B;   // int64: tokens of each text that are in the cache
  std::int64_t room = 0;  // tokens that fit

  // Makes room for `room` tokens of `batch` texts; none is in it.
  static KvCache make(std::int64_t batch, std::int64_t room, std::int64_t layers,
                      std::int64_t heads, std::int64_t head_width, at::TensorOptions options);

  void clear() { lengths_B.zero_(); }
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual KvCache make_cache(std::int64_t batch, std::int64_t room) const = 0;

  // Scores [B, V] of what comes after the last token of each row. Of tokens_BT int64 the first
  // counts_B of each row go into the cache after what is there; the others are padding. The caller
  // sees to it that there is room. In evaluation mode, without gradients.
  virtual at::Tensor decode(const at::Tensor& tokens_BT, const at::Tensor& counts_B,
                            KvCache& cache) = 0;

  // The longest text that the model was made for.
  virtual std::int64_t longest() const = 0;
};

}  // namespace kedge::nn
