#include <algorithm>
#include <array>
#include <vector>

#include "cli/shared/arguments.h"
#include "cli/shared/torch_helps.h"
#include "cli/torch/verbs.h"
#include "core/nearest.h"
#include "jobs/time_limit.h"
#include "train/run_training.h"
#include "train/verify_resume.h"

namespace kedge::cli {
namespace {

Result<std::vector<std::string>> parse_pieces(const std::string& given) {
  if (given.empty()) {
    return std::vector<std::string>();
  }
  const std::vector<std::string> known(train::kStatePieces.begin(), train::kStatePieces.end());
  if (std::ranges::find(known, given) == known.end()) {
    return std::unexpected(unknown_name("piece of the state", given, known));
  }
  return std::vector<std::string>{given};
}

}  // namespace

Result<void> run_verify_resume(const Invocation& invocation) {
  const VerbHelp& help = *find_torch_help("verify-resume");
  const auto arguments = KEDGE_TRY(parse_or_help(invocation.args, help));
  if (!arguments) {
    return {};
  }
  const std::vector<std::string> dropped = KEDGE_TRY(parse_pieces(arguments->value("--drop")));
  if (arguments->has("--worker")) {
    const config::LoadedConfig config = KEDGE_TRY(load_config_of(*arguments));
    return train::run_training(config,
                               {.argc = invocation.argc,
                                .argv = invocation.argv,
                                .find_time_limit = [] { return jobs::find_time_limit(); },
                                .stop_after_step = KEDGE_TRY(arguments->number("--worker", 0)),
                                .dropped = {dropped.begin(), dropped.end()},
                                .restored_copy = arguments->value("--restored-copy")});
  }
  const std::int64_t steps = KEDGE_TRY(arguments->number("--steps", 20));
  if (steps < 1) {
    return fail(ErrorKind::Usage, "--steps must be at least 1");
  }
  KEDGE_TRY(load_config_of(*arguments));
  train::VerifyOptions options{
      .train_args = {}, .steps = steps, .dropped = dropped, .as_json = arguments->has("--json")};
  const std::string file = arguments->value("--config");
  if (!file.empty()) {
    options.train_args = {"--config", file};
  }
  for (const auto& words : {arguments->positionals(), arguments->overrides()}) {
    options.train_args.insert(options.train_args.end(), words.begin(), words.end());
  }
  return train::run_verify_resume(options);
}

}  // namespace kedge::cli
