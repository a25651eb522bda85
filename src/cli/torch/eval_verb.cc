#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/evaluate.h"

namespace kedge::cli {

Result<void> run_eval(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("eval");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 1) {
    return fail(ErrorKind::Usage, "eval needs one model: a run or checkpoint folder",
                "kedge eval runs/<project>/<id>");
  }
  return use::run_evaluate({.model = KEDGE_TRY(find_model(arguments->positionals().front())),
                            .overrides = arguments->overrides(),
                            .on_train_split = arguments->has("--train"),
                            .as_json = arguments->has("--json")});
}

}  // namespace kedge::cli
