// From the words of `kedge submit` to jobs.
#pragma once

#include <string_view>
#include <vector>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "launch/job_book.h"
#include "launch/job_spec.h"
#include "launch/launcher.h"
#include "launch/submit_set.h"

namespace kedge::cli {

// In JobSpec::after: the job that is submitted right before this one.
inline constexpr std::string_view kJobBefore = "<the job before>";

// One job, or with --test-one a small one and then the rest. `is_dry`: no sweep is made.
Result<std::vector<launch::JobSpec>> specs_to_submit(const Arguments& arguments, Args command,
                                                     bool is_dry);

const VerbHelp& submit_help();

void print_rendering(const launch::Rendering& rendering, const Path& folder);

// Whether the word names a file of steps that wait for each other.
bool is_dag(const std::string& word);

// All of them, or with --dry-run what would be submitted.
Result<int> submit_dag(const Arguments& arguments, const launch::JobBook& book);
Result<int> submit_steps(const Arguments& arguments, const launch::JobBook& book,
                         const launch::Launcher& launcher,
                         const std::vector<launch::SetStep>& steps);

// Jobs of which each waits for the one before, as steps.
std::vector<launch::SetStep> as_steps(std::vector<launch::JobSpec> specs);

}  // namespace kedge::cli
