// What the verbs of kedge-train take, for both programs: `kedge eval --help` needs no libtorch.
#pragma once

#include <string_view>

#include "cli/shared/arguments.h"

namespace kedge::cli {

// "eval", "ckpt estimate"; null: kedge-train has no such verb.
const VerbHelp* find_torch_help(std::string_view verb);

}  // namespace kedge::cli
