// What goes into a model, and what its last layer is asked for.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace kedge::nn {

struct ModelInput {
  at::Tensor x;  // images: float [N, C, H, W]; tokens: int64 [N, T]
  // Int32 [N, T], never falling along a row: which document each token belongs to. Positions begin
  // anew with each, and no token sees another's. Undefined: a row is one document.
  at::Tensor documents = {};

  // NOLINTNEXTLINE(google-explicit-constructor): most models take a tensor and nothing else
  ModelInput(at::Tensor tensor, at::Tensor documents_of_tokens = {})
      : x(std::move(tensor)), documents(std::move(documents_of_tokens)) {}
};

// The scores of a model are features weight^T.
struct Head {
  at::Tensor features;  // [..., width]
  at::Tensor weight;    // [vocab, width]
};

}  // namespace kedge::nn
