// The parts of a job's script that are the same for every scheduler: its surroundings (variables,
// modules, conda, venv, secrets, setup lines) and the command, wrapped by `kedge task`. Bash.
// in_container.h puts it into an image.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs {

// Lines that bring the shell to where the command can be started. Variables first, so that setup
// lines see them; secrets are sourced where there are any and never printed. A setup line that
// fails ends the script with its exit code.
std::string render_surroundings(const JobSpec& spec, const SubmissionPlace& place);

// The part of it that belongs to no job: variables, modules, conda, venv, folder, setup lines.
std::string render_environment(const JobSpec& spec);

// Lines that activate a conda environment; none where its name is empty.
std::string render_conda(const std::string& environment);

struct TaskOptions {
  std::string kedge;       // the program inside the job; empty: place.kedge
  bool is_stamped = true;  // time and host before each line
};

// kedge task [...] -- COMMAND: fills in {item} and {task}, hands on signals, stops a resumable
// program before the time limit, and lets nothing survive it.
std::vector<std::string> task_words(const JobSpec& spec, const SubmissionPlace& place,
                                    const TaskOptions& options = {});

// jobs/<key>/logs/..., or job.output with Slurm's placeholders filled in as {task}, {node}, {job}.
std::string output_pattern(const JobSpec& spec, const SubmissionPlace& place);

}  // namespace kedge::jobs
