#include <string>

#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/answer_flags.h"
#include "cli/torch/verbs.h"
#include "use/generate.h"

namespace kedge::cli {

Result<void> run_generate(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("generate");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.empty() || words.size() > 2) {
    return fail(ErrorKind::Usage, "generate needs a model, and a prompt if there is one",
                "kedge generate path/to/model 'Once upon a time'");
  }
  use::GenerateOptions options{.model = KEDGE_TRY(model_options(*arguments, words[0]))};
  options.settings = KEDGE_TRY(answer_settings(*arguments));
  options.prompt = words.size() > 1 ? words[1] : "";
  options.input = arguments->value("--input");
  options.output = arguments->value("--output");
  options.batch = KEDGE_TRY(arguments->number("--batch", options.batch));
  options.as_json = arguments->has("--json");
  return use::run_generate(options);
}

}  // namespace kedge::cli
