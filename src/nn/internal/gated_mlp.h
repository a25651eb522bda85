// down(silu(gate(x)) * up(x)) (Shazeer 2020): the MLP of Llama's family, and each expert of a
// mixture.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/layers.h"

namespace kedge::nn {

struct GatedMlpShape {
  std::int64_t width = 0;
  std::int64_t ffn = 0;
  bool has_bias = false;
  // What its linear layers are called.
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
  bool is_joined = true;  // gate and up are asked together; false: somebody else joins them
};

class GatedMlp : public Layer {
 public:
  GatedMlp(const Making& making, const GatedMlpShape& shape);

  at::Tensor forward(const at::Tensor& x);

  // Slots, for whoever joins several.
  std::shared_ptr<Linear> gate;
  std::shared_ptr<Linear> up;
  std::shared_ptr<Linear> down;
};

}  // namespace kedge::nn
