// Files of transformers 5 may hold all experts of a layer in one tensor.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/tensor_file.h"

namespace kedge::nn {

// `views`, but "...mlp.experts.gate_up_proj" [experts, 2 inner, width] and
// "...mlp.experts.down_proj" [experts, width, inner] in the pieces, and all under the names, that
// models have for them. Views of packed tensors, without bytes of their own, stay.
std::vector<checkpoint::TensorView> experts_apart(const std::vector<checkpoint::TensorView>& views,
                                                  const std::vector<std::string>& model_names);

}  // namespace kedge::nn
