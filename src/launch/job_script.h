// The parts of a job's script that are the same for every scheduler: its surroundings (variables,
// modules, conda, venv, secrets, setup lines) and the command, wrapped by `kedge task` and by a
// container. Bash.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "launch/job_spec.h"
#include "launch/launcher.h"

namespace kedge::launch {

// Lines that bring the shell to where the command can be started. Variables first, so that setup
// lines see them; secrets are sourced where there are any and never printed. A setup line that
// fails ends the script with its exit code.
std::string render_surroundings(const JobSpec& spec, const SubmissionPlace& place);

struct TaskOptions {
  std::string kedge;       // the program inside the job; empty: place.kedge
  bool is_stamped = true;  // time and host before each line
};

// kedge task [...] -- COMMAND: fills in {item} and {task}, hands on signals, stops a resumable
// program before the time limit, and lets nothing survive it.
std::vector<std::string> task_words(const JobSpec& spec, const SubmissionPlace& place,
                                    const TaskOptions& options = {});

// `words` inside job.container by apptainer or docker, where the folders of the work, the job and
// kedge are seen under their own names. Pyxis is srun's own: see pyxis_options().
std::vector<std::string> in_container(const JobSpec& spec, const SubmissionPlace& place,
                                      std::vector<std::string> words);

// The tool that job.container_tool means; auto is Pyxis where `has_pyxis` and the image is a
// .sqsh file or a registry's name.
config::ContainerTool container_tool(const JobSpec& spec, bool has_pyxis);

// --container-image=... and the like.
std::vector<std::string> pyxis_options(const JobSpec& spec, const SubmissionPlace& place);

// jobs/<key>/logs/..., or job.output with Slurm's placeholders filled in as {task}, {node}, {job}.
std::string output_pattern(const JobSpec& spec, const SubmissionPlace& place);

}  // namespace kedge::launch
