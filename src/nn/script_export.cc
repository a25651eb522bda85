#include "nn/script_export.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <torch/script.h>
#include <torch/types.h>

#include "nn/internal/trace.h"
#include "nn/script_model.h"
#include "nn/torch_error.h"

namespace kedge::nn {
namespace {

torch::jit::Module script_of(Model& model, const Signature& signature) {
  // A model that came as TorchScript goes out as it came, branches and all.
  if (auto* script = dynamic_cast<ScriptModel*>(&model)) {
    script->set_training(false);
    return script->module();
  }
  return trace(model, signature);
}

}  // namespace

Result<void> write_script(Model& model, const Signature& signature, const std::string& metadata,
                          const Path& file) {
  const bool is_on_cpu = std::ranges::all_of(
      model.parameters(), [](const auto& named) { return named.second.is_cpu(); });
  KEDGE_CHECK(is_on_cpu, "models are exported from the CPU");
  std::ostringstream archive;
  try {
    script_of(model, signature).save(archive, {{kScriptMetadataFile, metadata}});
  } catch (const std::exception& error) {
    return fail(ErrorKind::Usage, fmt::format("the model cannot be written as TorchScript: {}",
                                              torch_message(error)));
  }
  return write_file_atomic(file, std::move(archive).str());
}

}  // namespace kedge::nn
