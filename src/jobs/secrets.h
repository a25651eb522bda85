// Keys and tokens of the submitting shell reach a job in a file that only its owner can read, and
// by no other way: not on a command line, not in a submit file, not in the environment that
// schedulers keep in their databases, not in a log. A job is handed those that job.secrets names
// and those of the trackers its command may use (JobSpec::keys), no others. The file goes away with
// the job: docs/security.md says who removes it when.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "jobs/job_spec.h"

namespace kedge::jobs {

// Variables with the keys of trackers: kedge's, W&B's, MLflow's. A script that logs in a shell is
// expected to log in a job, so that a program is handed these without being asked.
std::vector<std::string> tracker_keys();

// The names of the variables that a job of ours on a machine of ours is handed where they are set.
std::vector<std::string> secrets_of(const JobSpec& spec);

// Usage: job.secrets names a variable that this process does not have.
Result<void> check_secrets(const JobSpec& spec);

// The variables of this process that look secret (is_secret_name) and are not in `handed`.
std::vector<std::string> secrets_kept_back(const std::vector<std::string>& handed);

// "secrets-<submission>.sh": the tasks of an earlier submission may still need theirs.
std::string secrets_file_name(std::int64_t submission);

// Writes the file, mode 0600, to be sourced by the job; none when no variable of `names` is set.
Result<void> write_secrets(const Path& folder, std::int64_t submission,
                           const std::vector<std::string>& names);
void remove_secrets(const Path& folder, std::int64_t submission);
void remove_all_secrets(const Path& folder);

// The variables of this process that look secret, and inside a job those that it was handed.
std::map<std::string, std::string> find_secrets();

// The same command run without them and without `names`: {"env", "-u", "X", ..., command...}.
std::vector<std::string> without_secrets(std::vector<std::string> command,
                                         const std::vector<std::string>& names = {});

// Replaces each secret in what a job prints by "***".
std::string hide_secrets(std::string_view line, const std::map<std::string, std::string>& secrets);

}  // namespace kedge::jobs
