// What a training needs from being one of many ranks: its group, the run that rank 0 writes, and a
// learning rate that may follow their number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/load.h"
#include "core/result.h"
#include "dist/process_group.h"
#include "track/run.h"

namespace kedge::train {

// The group that the environment says this process is in (ranks/rank_place.h), or one of its own.
// All ranks must have the same config.
Result<std::unique_ptr<dist::ProcessGroup>> join_ranks(const config::LoadedConfig& config);

// Rank 0's run, and a silent one of the same name on the others.
std::unique_ptr<track::Run> broadcast_run(dist::ProcessGroup& group,
                                          std::unique_ptr<track::Run> run);

struct ScaledRate {
  double peak = 0;
  config::ScheduleConfig schedule;
};

// optimizer.lr and the schedule as dist.lr_scale and dist.lr_warmup change them.
ScaledRate scale_rate(const config::Config& config, std::int64_t ranks);

// "4, over gloo; batches of 32, 8 a rank"; empty where there is one.
std::string describe_ranks(const config::Config& config, const dist::ProcessGroup& group);

// Where the ranks' time went, over all steps. A collective: every rank asks.
struct RankTimes {
  double data_fraction = 0;        // of rank 0's steps, waiting for batches
  double collective_fraction = 0;  // and waiting for other ranks
  std::string stragglers;          // who is slow in what; empty: nobody
};

RankTimes gather_times(dist::ProcessGroup& group);

}  // namespace kedge::train
