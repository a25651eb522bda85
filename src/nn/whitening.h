// What speednet alone needs: a first layer of whitened patches that is not trained, made from
// training images, and a maximum over whole images.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

// A model that wants to see training images before it learns. Not asked of one whose weights come
// from elsewhere.
class LooksAtImages {
 public:
  virtual ~LooksAtImages() = default;

  virtual std::int64_t wants_images() const = 0;

  // As forward() gets them.
  virtual void look_at(const at::Tensor& images) = 0;
};

// y = gelu(conv2d(x, weight, bias)): fields of 2 x 2, one pixel apart, by weights that are not
// trained.
struct WhitenStep {
  at::Tensor x;       // [N, C, H, W]
  at::Tensor weight;  // [8 C, C, 2, 2]
  at::Tensor bias;
};

// A context's FusedOps may be one of these as well. Each answers with an undefined tensor where it
// cannot do the step.
class WhitenOps {
 public:
  virtual ~WhitenOps() = default;

  virtual at::Tensor whiten(const WhitenStep& step) = 0;
  virtual at::Tensor max_of_image(const at::Tensor& x) = 0;  // [N, C] of [N, C, H, W]
};

}  // namespace kedge::nn
