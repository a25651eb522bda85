#include "nn/internal/gated_mlp.h"

namespace kedge::nn {

GatedMlp::GatedMlp(const Making& making, const GatedMlpShape& shape) : Layer(making) {
  add_linear(shape.gate, gate, shape.width, shape.ffn, shape.has_bias);
  add_linear(shape.up, up, shape.width, shape.ffn, shape.has_bias);
  add_linear(shape.down, down, shape.ffn, shape.width, shape.has_bias);
  if (shape.is_joined) {
    add_joined({&gate, &up});
  }
}

at::Tensor GatedMlp::forward(const at::Tensor& x) {
  const Joined both = forward_joined({gate.get(), up.get()}, x);
  return down->forward(gated(context(), both.parts[0], both.parts[1]));
}

}  // namespace kedge::nn
