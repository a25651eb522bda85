#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "ranks/node_supervisor.h"
#include "ranks/rank_place.h"
#include "ranks/rank_supervisor.h"

namespace kedge::cli {
namespace {

// The training's own help, and every complaint about arguments, comes from kedge-train.
const VerbHelp kTrainHelp = {.usage = "kedge train [CONFIG] [key=value ...]",
                             .text = "",
                             .flags = {kConfigFlag, {"--waits", "", ""}}};

std::chrono::milliseconds milliseconds_of(Seconds seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds.value * 1000));
}

ranks::RankJob job_of(const config::Config& config, Args args) {
  ranks::RankJob job{.command = {kedge_train_program(), "train"},
                     .ranks = config.dist.ranks,
                     .restarts = config.dist.restarts,
                     .stall = milliseconds_of(config.dist.stall),
                     .resume_with =
                         [](const std::string& run) {
                           // Another machine without the run's folder must not begin anew.
                           return std::vector<std::string>{"run.id=" + run, "resume=must"};
                         },
                     .share_cores = config.train.threads == 0};
  job.command.insert(job.command.end(), args.begin(), args.end());
  return job;
}

Result<int> train_with_ranks(const config::Config& config, Args args) {
  const ranks::RankJob job = job_of(config, args);
  const auto place =
      KEDGE_TRY(ranks::find_node_place(ranks::find_environment_variable, config.dist.endpoint));
  const std::int64_t nodes = std::max(config.dist.nodes, place ? place->nodes : 1);
  if (!place && nodes > 1) {
    return fail(ErrorKind::Usage, fmt::format("dist.nodes is {}, but where do they meet?", nodes),
                "set dist.endpoint=HOST:PORT to the first machine, the same on all");
  }
  if (!place || nodes == 1) {
    return ranks::supervise_ranks(job);
  }
  return ranks::supervise_node({.ranks = job,
                                .place = *place,
                                .most = nodes,
                                .least = config.dist.min_nodes > 0 ? config.dist.min_nodes : nodes,
                                .init_timeout = milliseconds_of(config.dist.init_timeout)});
}

}  // namespace

int run_train_ranks(Args args) {
  if (asks_for_help(args) || ranks::find_environment_variable("RANK")) {
    return run_in_kedge_train("train", args);
  }
  const auto arguments = Arguments::parse(args, kTrainHelp);
  const auto config = arguments ? load_config_of(*arguments) : std::unexpected(arguments.error());
  // Who has one rank here may still be one of many: kedge-train looks.
  if (!config || ((*config)->dist.ranks == 1 && (*config)->dist.nodes == 1)) {
    return run_in_kedge_train("train", args);
  }
  const auto code = train_with_ranks(**config, args);
  return code ? *code : report(code.error());
}

}  // namespace kedge::cli
