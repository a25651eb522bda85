#include "cli/shared/arguments.h"
#include "cli/torch/verbs.h"
#include "jobs/time_limit.h"
#include "train/run_training.h"

namespace kedge::cli {

Result<void> run_train(const Invocation& invocation) {
  const VerbHelp help = {
      .usage = "kedge train [CONFIG] [key=value ...] [--waits]",
      .text =
          "Trains the model that the config describes, into a run folder. Goes on with an\n"
          "unfinished run of the same config, if there is one; resume=never starts a new one.\n"
          "Any value can be given as key=value (or --key=value): `kedge config reference`.\n"
          "SIGTERM, Ctrl-C, SIGHUP, SIGUSR1 and the end of the job's time make it save and exit\n"
          "with 85: run the same command again.",
      .flags = {kConfigFlag,
                {"--waits", "", "tell which operations make a step wait for the device"}}};
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
