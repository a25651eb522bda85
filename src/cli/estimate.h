// How long a job will take and how fast the work is: from runs and jobs that were kept, or from a
// probe on this machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "core/result.h"
#include "jobs/advice.h"
#include "jobs/job_book.h"

namespace kedge::cli {

struct KnownWork {
  std::optional<jobs::Estimate> estimate = {};
  std::vector<jobs::MeasuredSpeed> speeds = {};
};

// From the newest finished runs of the project that trained the same model on the same data in
// batches of the same size. The estimate is of the device that is asked for.
KnownWork find_past_runs(const config::LoadedConfig& config, bool on_gpu);

// From the newest job of a program with the same words that ended well without having been
// interrupted. Trainings differ in more than words: their runs tell.
std::optional<jobs::Estimate> find_past_jobs(const jobs::JobBook& book, const jobs::JobSpec& spec);

// Trains a few steps here, on a GPU where there is one and on the CPU. Nothing is kept.
Result<KnownWork> probe(const config::LoadedConfig& config, std::vector<std::string> overrides,
                        bool on_gpu);

}  // namespace kedge::cli
