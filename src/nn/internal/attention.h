// Attention of decoders in training: each token looks at itself and at those before it, within its
// document and within a window where there are such.
#pragma once

#include <cstdint>

#include "nn/model.h"

namespace kedge::nn {

// Of [B, T] documents: each token's place in its own, int64 [B, T].
at::Tensor document_positions(const at::Tensor& documents_BT);

// Of [B, T] documents: Flow::seen.
at::Tensor seen_in_documents(const at::Tensor& documents_BT);

struct Attending {
  at::Tensor seen = {};     // Flow::seen
  std::int64_t window = 0;  // tokens that each looks back, itself included; 0: all
  double dropout = 0;
};

// softmax(q k / sqrt(D)) v of q [B, H, T, D] and k, v [B, K, T, D], K dividing H.
at::Tensor attend(const at::Tensor& q_BHTD, const at::Tensor& k_BKTD, const at::Tensor& v_BKTD,
                  const Attending& attending);

}  // namespace kedge::nn
