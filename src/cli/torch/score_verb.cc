#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "train/write_scores.h"

namespace kedge::cli {

Result<void> run_score(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("score");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  train::WriteScoresOptions options{.folder = arguments->value("--output")};
  options.kept = KEDGE_TRY(arguments->number("--top-k", options.kept));
  return train::write_scores(config, options);
}

}  // namespace kedge::cli
