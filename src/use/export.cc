#include "use/export.h"

#include <fmt/format.h>

#include "checkpoint/tensor_file.h"
#include "core/log.h"
#include "core/units.h"
#include "nn/onnx_export.h"
#include "nn/script_export.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"

namespace kedge::use {
namespace {

Result<void> export_model(const Path& model, const Path& output) {
  train::SavedModel saved = KEDGE_TRY(train::load_saved_model(model, {"train.device=cpu"}));
  const std::string metadata = saved.preparation.to_json().dump();
  const std::string ending = output.extension().string();
  if (ending == ".safetensors") {
    train::HostCopies copies;
    const auto part = copies.part("model", train::parameters_and_buffers(*saved.model));
    KEDGE_TRY(checkpoint::write_safetensors(output, part.tensors,
                                            {{"format", "pt"}, {"kedge", metadata}}));
  } else if (ending == ".pt" || ending == ".ts") {
    KEDGE_TRY(nn::write_script(*saved.model, saved.preparation.signature, metadata, output));
  } else if (ending == ".onnx") {
    KEDGE_TRY(nn::write_onnx(*saved.model, saved.preparation.signature, metadata, output));
  } else {
    return fail(ErrorKind::Usage, fmt::format("cannot tell the format of '{}'", output.string()),
                "end it in .safetensors (weights), .pt (TorchScript) or .onnx");
  }
  say("wrote {} ({}) from {}", output.string(), render_bytes({KEDGE_TRY(size_of_file(output))}),
      saved.path.string());
  return {};
}

}  // namespace

Result<void> run_export(const Path& model, const Path& output) {
  return train::catch_torch([&] { return export_model(model, output); });
}

}  // namespace kedge::use
