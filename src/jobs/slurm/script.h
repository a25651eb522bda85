// The batch script of a job on Slurm: what sbatch reads (#SBATCH lines), and what runs on the first
// node: the command by srun, and afterwards whether it is run again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/job_spec.h"
#include "jobs/launcher.h"

namespace kedge::jobs::slurm {

Result<std::string> render_script(const JobSpec& spec, const SubmissionPlace& place);

// {task}, {node}, {job} as Slurm writes them: %a, %N, %A or %j.
std::string slurm_output(const JobSpec& spec, const SubmissionPlace& place);

// "0-11", "0,3-5"; ascending.
std::string render_task_list(std::vector<std::int64_t> tasks);

// "1-02:30:00"; whole minutes, rounded up, as Slurm counts.
std::string render_time(double seconds);

// Partition, account, nodes, cores, memory, GPUs, ...: the options that sbatch, salloc and srun
// have in common.
std::vector<std::string> resource_options(const JobSpec& spec);

// A shell on a node with what the job would have had: srun's words.
Result<std::vector<std::string>> session_words(const JobSpec& spec, const Path& kedge);

}  // namespace kedge::jobs::slurm
