#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "use/export.h"

namespace kedge::cli {

Result<void> run_export(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("export");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  if (arguments->positionals().size() != 2 || !arguments->overrides().empty()) {
    return fail(ErrorKind::Usage, "export needs a model and an output file",
                "kedge export runs/<project>/<id> model.pt");
  }
  return use::run_export({.model = KEDGE_TRY(find_model(arguments->positionals()[0])),
                          .output = arguments->positionals()[1],
                          .format = arguments->value("--format"),
                          .type = arguments->value("--dtype")});
}

}  // namespace kedge::cli
