#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "use/ensemble.h"

namespace kedge::cli {

Result<void> run_ensemble(const Invocation& invocation) {
  const VerbHelp help = {
      .usage =
          "kedge ensemble MODEL MODEL ... [key=value ...]\n"
          "       kedge ensemble SWEEP [--top K]",
      .text =
          "Measures trained models (run or checkpoint folders, or the best of a sweep) one by one "
          "and together:\nthe mean of their probabilities, and one model with the mean of their "
          "weights.",
      .flags = {{"--output", "FILE", "write the mean weights there (.safetensors)"},
                {"--train", "", "measure on the training split instead"},
                kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  use::EnsembleOptions options;
  options.models.assign(arguments->positionals().begin(), arguments->positionals().end());
  if (options.models.size() < 2) {
    return fail(ErrorKind::Usage, "an ensemble needs two models or more",
                "kedge ensemble runs/<project>/<id> runs/<project>/<id>");
  }
  options.overrides = arguments->overrides();
  options.on_train_split = arguments->has("--train");
  options.output = arguments->value("--output");
  options.as_json = arguments->has("--json");
  return use::run_ensemble(options);
}

}  // namespace kedge::cli
