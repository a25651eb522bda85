// Keeps passwords and tokens out of what is recorded with a run.
#pragma once

#include <string>
#include <vector>

namespace kedge::track {

// "--api-key=x", "--token x", "wandb.key=x" and "https://me:x@host" lose their x.
std::vector<std::string> redact_arguments(std::vector<std::string> arguments);

}  // namespace kedge::track
