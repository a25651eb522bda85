// From the words of `kedge submit` to jobs.
#pragma once

#include <string_view>
#include <vector>

#include "cli/shared/arguments.h"
#include "cli/verbs.h"
#include "core/result.h"
#include "launch/job_spec.h"

namespace kedge::cli {

// In JobSpec::after: the job that is submitted right before this one.
inline constexpr std::string_view kJobBefore = "<the job before>";

// One job, or with --test-one a small one and then the rest. `is_dry`: no sweep is made.
Result<std::vector<launch::JobSpec>> specs_to_submit(const Arguments& arguments, Args command,
                                                     bool is_dry);

}  // namespace kedge::cli
