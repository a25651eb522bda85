// Activation recomputation (Chen et al. 2016): of a block only what goes in is kept; its backward
// pass computes it once more.
#pragma once

#include "nn/model.h"

namespace kedge::nn {

// What `forward` gives for the flow. Its parameters get the same gradients. It draws no random
// numbers: they would be others the second time.
Flow recomputed(const std::function<Flow(Flow)>& forward, const Flow& flow);

}  // namespace kedge::nn
