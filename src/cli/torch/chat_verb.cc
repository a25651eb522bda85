#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/answer_flags.h"
#include "cli/torch/verbs.h"
#include "use/chat.h"

namespace kedge::cli {

Result<void> run_chat(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("chat");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.empty() || words.size() > 2) {
    return fail(ErrorKind::Usage, "chat needs a model, and what you say first if you like",
                "kedge chat path/to/model");
  }
  return use::run_chat({.model = KEDGE_TRY(model_options(*arguments, words[0])),
                        .settings = KEDGE_TRY(answer_settings(*arguments)),
                        .system = arguments->value("--system"),
                        .context = KEDGE_TRY(arguments->number("--context", 0)),
                        .first = words.size() > 1 ? words[1] : ""});
}

}  // namespace kedge::cli
