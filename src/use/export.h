// `kedge export`: a trained model for other programs.
#pragma once

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

// The output's ending says what is written: .safetensors (weights), .pt or .ts (TorchScript),
// .onnx.
Result<void> run_export(const Path& model, const Path& output);

}  // namespace kedge::use
