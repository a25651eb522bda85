#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "use/evaluate.h"

namespace kedge::cli {

Result<void> run_eval(const Invocation& invocation) {
  const VerbHelp help = {
      .usage = "kedge eval MODEL [key=value ...]",
      .text =
          "Measures a trained model (a run or checkpoint folder) on the validation split of its\n"
          "data: metrics, scores per class, confusion matrix. key=value changes the config it\n"
          "was trained with, e.g. data.path=other/folder.",
      .flags = {{"--train", "", "measure on the training split instead"}, kJsonFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "eval needs one model: a run or checkpoint folder",
                "kedge eval runs/<project>/<id>");
  }
  return use::run_evaluate({.model = arguments->positionals().front(),
                            .overrides = arguments->overrides(),
                            .on_train_split = arguments->has("--train"),
                            .as_json = arguments->has("--json")});
}

}  // namespace kedge::cli
