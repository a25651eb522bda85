// `kedge export`: a trained model for other programs.
#pragma once

#include <string>

#include "core/file.h"
#include "core/result.h"

namespace kedge::use {

struct ExportOptions {
  Path model;
  // Its ending says what is written: .safetensors (weights), .pt or .ts (TorchScript), .onnx; with
  // a format it is a folder that is not there yet.
  Path output;
  std::string format = {};  // "hf": as transformers loads it, "peft": its adapters as PEFT does
  std::string type = {};    // hf: of the weights; empty: as they were trained
};

// Usage: the format or the ending is unknown, or is not for this model.
Result<void> run_export(const ExportOptions& options);

}  // namespace kedge::use
