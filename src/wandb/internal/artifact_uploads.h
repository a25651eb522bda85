// Bytes of versions on their way.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "wandb/internal/call.h"

namespace kedge::wandb {

// The body of a PUT to an address that stands for a file or the manifest of a draft.
Result<void> take_draft_bytes(const Call& call, const nlohmann::json& meaning);

}  // namespace kedge::wandb
