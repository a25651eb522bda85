// Writes a Model as an ONNX file (opset 17) with a free batch axis.
#pragma once

#include <string>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::nn {

// The entry of metadata_props that holds `metadata`.
inline constexpr const char* kOnnxMetadataKey = "kedge";

// The model as it evaluates, from "input" (images [batch, C, H, W], already normalised to float, or
// tokens [batch, tokens]) to "output"; initializers carry the parameters' own names. `metadata` is
// JSON text as for write_script. An operation without a translation is an error that names it, and
// nothing is written. The model must be on the CPU; it is in evaluation mode afterwards.
Result<void> write_onnx(Model& model, const Signature& signature, const std::string& metadata,
                        const Path& file);

}  // namespace kedge::nn
