// A Signature is what a model takes and what it gives, by size and type. A task fills it in from
// the data (train/task.h); a model is made for it.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

struct Signature {
  std::int64_t height = 0;  // of images; 0 where the input is tokens
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t classes = 0;  // scores of a sample; 0: `vocab` scores of each token
  std::int64_t context = 0;  // tokens of a sample; 0 where the input is images
  std::int64_t vocab = 0;

  bool operator==(const Signature&) const = default;

  bool takes_tokens() const { return context > 0; }

  // An input of zeros: images float [batch, C, H, W], or tokens int64 [batch, T].
  at::Tensor zeros(std::int64_t batch) const;

  // What a model gives for it: [batch, classes] or [batch, T, vocab].
  std::vector<std::int64_t> scores_shape(std::int64_t batch) const;
};

}  // namespace kedge::nn
