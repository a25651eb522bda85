// From the words of `kedge submit` to jobs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/estimate.h"
#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "config/load.h"
#include "core/file.h"
#include "core/result.h"
#include "jobs/job_book.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"
#include "jobs/submit_set.h"
#include "search/sweep_plan.h"

namespace kedge::cli {

// In JobSpec::after: the job that is submitted right before this one.
inline constexpr std::string_view kJobBefore = "<the job before>";

// One job, or with --test-one a small one and then the rest. `is_dry`: no sweep is made.
Result<std::vector<jobs::JobSpec>> specs_to_submit(const Arguments& arguments, Args command,
                                                   bool is_dry);

// What `kedge submit SWEEP` makes an array of.
struct SweepToRun {
  std::string folder;  // of the sweep, absolute
  search::SweepPlan plan;
  Path config;  // of its program; empty: it is none of ours
  std::string name;
  std::int64_t ended = 0;  // trials that need no task any more
};

// Whether the word names a sweep: a file, a config with a `sweep:` section, a CSV, a sweep's id.
bool is_sweep(const std::string& word, const Arguments& arguments);

// Makes the sweep where the word is a file, unless `is_dry`.
Result<SweepToRun> open_sweep_to_run(const Arguments& arguments, bool is_dry);

// For tasks of a sweep's job that are run again: opens as many failed trials as they will run. How
// many; 0 for jobs of other programs.
Result<std::int64_t> reopen_trials(const jobs::JobSpec& spec, std::int64_t task_count);

// The config that the jobs train; nothing for a program that is none of ours.
Result<std::optional<config::LoadedConfig>> config_to_train(const Arguments& arguments,
                                                            Args command);

// How long a task takes and how fast it is, as far as anybody knows; --probe measures it.
Result<KnownWork> estimate_work(const Arguments& arguments, Args command, const jobs::JobBook& book,
                                const jobs::JobSpec& spec);

// --advise: prints what to know before submitting, and submits nothing.
Result<int> show_advice(const Arguments& arguments, Args command, const jobs::Launcher& launcher,
                        const jobs::JobSpec& spec, const KnownWork& known);

const VerbHelp& submit_help();

void print_rendering(const jobs::Rendering& rendering, const Path& folder);

// Says which variables look secret and are not among `handed`: a key that a job lacks is found
// missing much later.
void tell_kept_back(const std::vector<std::string>& handed);

// Whether the word names a file of steps that wait for each other.
bool is_dag(const std::string& word);

// All of them, or with --dry-run what would be submitted.
Result<int> submit_dag(const Arguments& arguments, const jobs::JobBook& book);
Result<int> submit_steps(const Arguments& arguments, const jobs::JobBook& book,
                         const jobs::Launcher& launcher, const std::vector<jobs::SetStep>& steps);

// Jobs of which each waits for the one before, as steps.
std::vector<jobs::SetStep> as_steps(std::vector<jobs::JobSpec> specs);

}  // namespace kedge::cli
