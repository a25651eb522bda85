#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "train/run_training.h"

namespace kedge::cli {

Result<void> run_train(const Invocation& invocation) {
  const VerbHelp help = {
      .usage = "kedge train [CONFIG] [key=value ...]",
      .text =
          "Trains the model that the config describes, into a new run folder. Any value can be\n"
          "given as key=value (or --key=value); `kedge config reference` lists them.",
      .flags = {kConfigFlag}};
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  return train::run_training(config, invocation.argc, invocation.argv);
}

}  // namespace kedge::cli
