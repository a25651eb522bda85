#include "use/export.h"

#include <fmt/format.h>

#include "checkpoint/tensor_file.h"
#include "core/log.h"
#include "core/units.h"
#include "nn/lora.h"
#include "nn/onnx_export.h"
#include "nn/pretrained.h"
#include "nn/script_export.h"
#include "train/saved_model.h"
#include "train/torch_guard.h"
#include "use/internal/hugging_face_folder.h"

namespace kedge::use {
namespace {

// In the type that they were trained in.
at::ScalarType trained_type(const train::SavedModel& saved) {
  return saved.config->train.precision == config::Precision::Bf16Pure ? at::kBFloat16 : at::kFloat;
}

// The folder or .gguf file that the training began with; empty: none.
Path original_of(const train::SavedModel& saved, const std::optional<nn::BaseWeights>& base) {
  for (const std::string& path :
       {saved.config->model.file, saved.config->model.weights, base ? base->path : std::string()}) {
    if (!path.empty() && nn::is_pretrained(path)) {
      return path;
    }
  }
  return {};
}

Result<void> export_hugging_face(const train::SavedModel& saved, const ExportOptions& options) {
  const auto base = KEDGE_TRY(train::read_base(saved.state));
  if (saved.config->model.lora.is_on()) {
    return fail(ErrorKind::Usage, fmt::format("{} has adapters", saved.path.string()),
                "kedge merge puts them into the weights; --format peft writes them alone");
  }
  const at::ScalarType type =
      options.type.empty() ? trained_type(saved) : KEDGE_TRY(parse_type(options.type));
  return write_hugging_face(
      {.model = *saved.model, .type = type, .original = original_of(saved, base)}, options.output);
}

Result<void> export_adapters(const train::SavedModel& saved, const ExportOptions& options) {
  const auto base = KEDGE_TRY(train::read_base(saved.state));
  if (!options.type.empty()) {
    return fail(ErrorKind::Usage, "--dtype is for --format hf: adapters keep their float32");
  }
  return nn::write_adapter(*saved.model, base ? base->lora : saved.config->model.lora,
                           original_of(saved, base).string(), options.output);
}

Result<void> export_file(const train::SavedModel& saved, const Path& output) {
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
                "end it in .safetensors (weights), .pt (TorchScript) or .onnx, or say --format hf "
                "or peft for a folder");
  }
  say("wrote {} ({}) from {}", output.string(), render_bytes({KEDGE_TRY(size_of_file(output))}),
      saved.path.string());
  return {};
}

Result<void> check_options(const ExportOptions& options) {
  if (!options.format.empty() && options.format != "hf" && options.format != "peft") {
    return fail(ErrorKind::Usage, fmt::format("--format '{}' is not known", options.format),
                "it is hf or peft; the ending of the output's name says everything else");
  }
  if (options.format.empty() && !options.type.empty()) {
    return fail(ErrorKind::Usage, "--dtype goes with --format hf");
  }
  return {};
}

Result<void> export_model(const ExportOptions& options) {
  KEDGE_TRY(check_options(options));
  const train::SavedModel saved = KEDGE_TRY(
      train::load_saved_model(options.model, {"train.device=cpu", "model.quantize=none"}));
  if (options.format.empty()) {
    return export_file(saved, options.output);
  }
  KEDGE_TRY(options.format == "hf" ? export_hugging_face(saved, options)
                                   : export_adapters(saved, options));
  say("wrote {} from {}", options.output.string(), saved.path.string());
  return {};
}

}  // namespace

Result<void> run_export(const ExportOptions& options) {
  return train::catch_torch([&] { return export_model(options); });
}

}  // namespace kedge::use
