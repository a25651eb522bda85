#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "jobs/time_limit.h"
#include "train/run_training.h"

namespace kedge::cli {

Result<void> run_train(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("train");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  return train::run_training(config, {.argc = invocation.argc,
                                      .argv = invocation.argv,
                                      .find_time_limit = [] { return jobs::find_time_limit(); },
                                      .find_waits = arguments->has("--waits")});
}

}  // namespace kedge::cli
