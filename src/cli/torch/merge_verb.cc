#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/merge.h"

namespace kedge::cli {

Result<void> run_merge(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("merge");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 2) {
    return fail(ErrorKind::Usage, "merge needs a model with adapters and a folder to write",
                "kedge merge runs/<project>/<id> merged, or kedge merge BASE merged --adapter DIR");
  }
  return use::run_merge({.model = KEDGE_TRY(find_model(arguments->positionals()[0])),
                         .adapter = arguments->value("--adapter"),
                         .output = arguments->positionals()[1],
                         .type = arguments->value("--dtype"),
                         .probe = arguments->value("--probe"),
                         .as_json = arguments->has("--json"),
                         .overrides = arguments->overrides()});
}

}  // namespace kedge::cli
