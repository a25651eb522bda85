#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/predict.h"

namespace kedge::cli {

Result<void> run_predict(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("predict");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 2) {
    return fail(ErrorKind::Usage, "predict needs a model and an input",
                "kedge predict runs/<project>/<id> images/ --output out.csv");
  }
  return use::run_predict({.model = KEDGE_TRY(find_model(arguments->positionals()[0])),
                           .input = arguments->positionals()[1],
                           .output = arguments->value("--output"),
                           .top_k = KEDGE_TRY(arguments->number("--top-k", 5)),
                           .batch_size = KEDGE_TRY(arguments->number("--batch", 100)),
                           .overrides = arguments->overrides()});
}

}  // namespace kedge::cli
