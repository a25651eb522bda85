#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "use/export.h"

namespace kedge::cli {

Result<void> run_export(const Invocation& invocation) {
  const VerbHelp help = {
      .usage = "kedge export MODEL OUTPUT",
      .text =
          "Writes a trained model (a run or checkpoint folder) for other programs. The output's\n"
          "ending says how: .safetensors (weights), .pt (TorchScript, for torch.jit.load) or "
          ".onnx\n"
          "(opset 17, for onnxruntime and others; batches of any size).",
      .flags = {}};
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 2 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "export needs a model and an output file",
                "kedge export runs/<project>/<id> model.pt");
  }
  return use::run_export(arguments->positionals()[0], arguments->positionals()[1]);
}

}  // namespace kedge::cli
