// What config.json says of a mixture of experts.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "nn/internal/config_keys.h"
#include "nn/llama_shape.h"

namespace kedge::nn {

// Of a family that has experts; the others' shape is left without. The family and the sizes of the
// rest are known.
Result<MoeShape> read_moe(ConfigKeys& keys, std::string_view where, const LlamaShape& shape);

void write_moe(const LlamaShape& shape, nlohmann::json& object);

}  // namespace kedge::nn
