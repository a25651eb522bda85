// Writes a Model as a TorchScript file that Python's torch.jit.load runs.
#pragma once

#include <string>

#include "core/file.h"
#include "core/result.h"
#include "nn/model.h"

namespace kedge::nn {

// The extra file inside the archive that holds `metadata`; in Python:
//   extra = {"kedge.json": ""}; torch.jit.load(path, _extra_files=extra)
inline constexpr const char* kScriptMetadataFile = "kedge.json";

// The model as it evaluates (no dropout, running statistics), with its parameters and buffers under
// their own names, on any batch size. It takes what forward() takes: images already normalised to
// float. `metadata` is JSON text that says how (class names, transforms, mean, std). The model must
// be on the CPU; it is in evaluation mode afterwards.
Result<void> write_script(Model& model, const Signature& signature, const std::string& metadata,
                          const Path& file);

}  // namespace kedge::nn
