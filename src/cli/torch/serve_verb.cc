#include <cstdint>

#include "cli/shared/arguments.h"
#include "cli/shared/listen_flags.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/answer_flags.h"
#include "cli/torch/verbs.h"
#include "use/serve.h"

namespace kedge::cli {
namespace {

constexpr std::int64_t kServePort = 8000;

}  // namespace

Result<void> run_serve(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("serve");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const auto& words = arguments->positionals();
  if (words.size() != 1) {
    return fail(ErrorKind::Usage, "serve needs a model", "kedge serve path/to/model");
  }
  use::ServeOptions options{.model = KEDGE_TRY(model_options(*arguments, words[0]))};
  options.listen = KEDGE_TRY(listen_options(*arguments, kServePort));
  options.tokens = arguments->value("--tokens");
  options.name = arguments->value("--name");
  options.slots = KEDGE_TRY(arguments->number("--slots", options.slots));
  options.context = KEDGE_TRY(arguments->number("--context", options.context));
  options.queue = KEDGE_TRY(arguments->number("--queue", options.queue));
  options.as_json = arguments->has("--json");
  return use::run_serve(options);
}

}  // namespace kedge::cli
