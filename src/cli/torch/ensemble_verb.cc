#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/ensemble.h"

namespace kedge::cli {

Result<void> run_ensemble(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("ensemble");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  use::EnsembleOptions options;
  for (const std::string& word : arguments->positionals()) {
    options.models.push_back(KEDGE_TRY(find_model(word)));
  }
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
