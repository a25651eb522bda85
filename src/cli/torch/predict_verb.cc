#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "use/predict.h"

namespace kedge::cli {

Result<void> run_predict(const Invocation& invocation) {
  const VerbHelp help = {
      .usage = "kedge predict MODEL INPUT [key=value ...]",
      .text =
          "Applies a trained model (a run or checkpoint folder) to an image, a folder of images,\n"
          "or a .jsonl file of records with \"image\" (a path) or \"text\". Rows are appended\n"
          "batch by batch: the same command again goes on where it stopped.",
      .flags = {{"--output", "FILE", "a .csv or .jsonl file; default: CSV on stdout"},
                {"--top-k", "K", "classes per row (5)"},
                {"--batch", "N", "items per batch (100)"}}};
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 2) {
    return fail(ErrorKind::Usage, "predict needs a model and an input",
                "kedge predict runs/<project>/<id> images/ --output out.csv");
  }
  return use::run_predict({.model = arguments->positionals()[0],
                           .input = arguments->positionals()[1],
                           .output = arguments->value("--output"),
                           .top_k = KEDGE_TRY(arguments->number("--top-k", 5)),
                           .batch_size = KEDGE_TRY(arguments->number("--batch", 100)),
                           .overrides = arguments->overrides()});
}

}  // namespace kedge::cli
