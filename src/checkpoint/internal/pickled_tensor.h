// How torch describes its tensors to pickle.
#pragma once

#include <string_view>
#include <vector>

#include "checkpoint/internal/pickle.h"
#include "core/result.h"

namespace kedge::checkpoint {

// The types that a tensor's pickle refers to.
bool is_tensor_name(std::string_view name);

// ('storage', torch.FloatStorage, '0', 'cpu', elements)
Result<StridedTensor> read_storage(const PickleValue& id);

// What torch._utils._rebuild_tensor_v2 is called with:
// (storage, offset, shape, strides, requires_grad, hooks[, metadata])
Result<StridedTensor> read_tensor(const std::vector<PickleValue*>& arguments);

}  // namespace kedge::checkpoint
