#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "core/units.h"
#include "train/estimate.h"

namespace kedge::cli {

// `kedge ckpt` has the other words.
Result<void> run_ckpt_estimate(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("ckpt estimate");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args.subspan(1), help));
  if (!arguments) {
    return {};
  }
  train::EstimateOptions options{.folders = {}, .speeds = {}, .as_json = arguments->has("--json")};
  if (arguments->has("--to")) {
    options.folders.emplace_back(arguments->value("--to"));
  }
  if (arguments->has("--speed")) {
    const Bytes speed = KEDGE_TRY(parse_bytes(arguments->value("--speed")));
    if (speed.value == 0) {
      return fail(ErrorKind::Usage, "--speed must be above 0");
    }
    options.speeds.push_back(speed);
  }
  const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
  return train::run_estimate(config, options);
}

}  // namespace kedge::cli
