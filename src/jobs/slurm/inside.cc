// What Slurm tells the processes of its jobs.
#include "jobs/slurm/inside.h"

#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/inside_job.h"
#include "core/log.h"
#include "core/process.h"
#include "core/result.h"
#include "jobs/internal/time_text.h"
#include "jobs/slurm/host_list.h"

namespace kedge::jobs::slurm {
namespace {

constexpr auto kRecorded = std::to_array<const char*>(
    {"SLURM_JOB_ID",        "SLURM_JOB_NAME",      "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST",
     "SLURM_JOB_NUM_NODES", "SLURM_JOB_END_TIME",  "SLURM_JOB_ACCOUNT",   "SLURM_JOB_QOS",
     "SLURM_ARRAY_JOB_ID",  "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME",  "SLURM_RESTART_COUNT",
     "SLURM_NTASKS",        "SLURM_PROCID",        "SLURM_LOCALID",       "SLURM_NODEID",
     "SLURM_CPUS_PER_TASK", "SLURM_GPUS_ON_NODE",  "SLURM_MEM_PER_NODE",  "SLURM_SUBMIT_HOST"});

std::string text_of(const FindVariable& find, const char* name) {
  return find(name).value_or("");
}

Result<std::optional<std::int64_t>> find_whole_number(const FindVariable& find, const char* name) {
  const std::string text = text_of(find, name);
  if (text.empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 0) {
    return fail(ErrorKind::Usage, fmt::format("{}={} is no whole number", name, text));
  }
  return value;
}

Result<std::string> first_host(const FindVariable& find) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (const auto list = find(name); list && !list->empty()) {
      return KEDGE_TRY(expand_host_list(*list)).front();
    }
  }
  return std::string();
}

// "2(x4)", "3,1": of the machines in their order; those of kedge's jobs have equally many.
std::optional<std::int64_t> tasks_per_node(const FindVariable& find) {
  const std::string text = text_of(find, "SLURM_STEP_TASKS_PER_NODE");
  std::int64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc() && count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<TimeLimit> ask_squeue(const JobEnvironment& environment, const std::string& job) {
  // In UTC and the standard form, whatever the user's settings: local time is ambiguous for an hour
  // a year.
  const auto answer =
      run_process({.args = {"env", "-u", "SQUEUE_STATES", "TZ=UTC0", "SLURM_TIME_FORMAT=standard",
                            environment.program("squeue"), "-h", "-j", job, "-o", "%A %e"},
                   .timeout = environment.patience});
  if (!answer || !answer->is_ok()) {
    std::string why = answer ? answer->errors : "squeue gave no answer";
    why.erase(why.find_last_not_of('\n') + 1);
    warn("the end of Slurm job {} is not known: {}; train.max_time can say it", job, why);
    return std::nullopt;
  }
  const auto end = parse_squeue_end(answer->output, job);
  return end ? std::optional(
                   TimeLimit{.end = *end, .source = fmt::format("Slurm job {} (squeue)", job)})
             : std::nullopt;
}

class InsideSlurm : public InsideJob {
 public:
  std::optional<JobName> find_name(const FindVariable& find) const override {
    const std::string job = text_of(find, "SLURM_JOB_ID");
    if (job.empty()) {
      return std::nullopt;
    }
    const auto starts = find_whole_number(find, "SLURM_RESTART_COUNT");
    return JobName{"slurm " + job, starts ? starts->value_or(0) : 0};
  }

  std::map<std::string, std::string> describe(const FindVariable& find) const override {
    std::map<std::string, std::string> facts;
    for (const char* name : kRecorded) {
      if (auto value = find(name)) {
        facts.emplace(name, std::move(*value));
      }
    }
    return facts;
  }

  std::optional<TimeLimit> find_end(const JobEnvironment& environment) const override {
    if (auto limit = limit_in_variable(environment, "SLURM_JOB_END_TIME")) {
      return limit;
    }
    const auto job = environment.find("SLURM_JOB_ID");
    return job && parse_seconds(*job) ? ask_squeue(environment, *job) : std::nullopt;
  }

  // Nothing outside of a step: in a batch script SLURM_NTASKS only says what was asked for.
  Result<std::optional<JobStep>> find_step(const FindVariable& find) const override {
    const auto job = KEDGE_TRY(find_whole_number(find, "SLURM_JOB_ID"));
    if (!job || text_of(find, "SLURM_STEP_ID").empty()) {
      return std::nullopt;
    }
    JobStep step{.source = fmt::format("Slurm job {}", *job), .job = *job};
    // "batch" and "interactive" are no steps of srun.
    const auto number = find_whole_number(find, "SLURM_STEP_ID");
    step.number = number ? number->value_or(0) : 0;
    const auto step_tasks = KEDGE_TRY(find_whole_number(find, "SLURM_STEP_NUM_TASKS"));
    const auto tasks = KEDGE_TRY(find_whole_number(find, "SLURM_NTASKS"));
    step.tasks = number ? step_tasks.value_or(tasks.value_or(1)) : 1;
    const auto step_nodes = KEDGE_TRY(find_whole_number(find, "SLURM_STEP_NUM_NODES"));
    const auto nodes = KEDGE_TRY(find_whole_number(find, "SLURM_NNODES"));
    step.nodes = step_nodes.value_or(nodes.value_or(1));
    step.rank = KEDGE_TRY(find_whole_number(find, "SLURM_PROCID"));
    step.local_rank = KEDGE_TRY(find_whole_number(find, "SLURM_LOCALID")).value_or(0);
    step.local_tasks = tasks_per_node(find).value_or((step.tasks + step.nodes - 1) /
                                                     std::max<std::int64_t>(step.nodes, 1));
    step.node = KEDGE_TRY(find_whole_number(find, "SLURM_NODEID")).value_or(0);
    step.node_name = text_of(find, "SLURMD_NODENAME");
    step.first_host = KEDGE_TRY(first_host(find));
    return step;
  }
};

const InsideJobs::Add kAddInsideSlurm({"slurm", "Slurm's variables and squeue",
                                       []() -> Result<std::unique_ptr<InsideJob>> {
                                         return std::make_unique<InsideSlurm>();
                                       }});

}  // namespace

std::optional<SystemTime> parse_squeue_end(std::string_view output, std::string_view job_id) {
  std::optional<SystemTime> end;
  for_each_line(output, [&](std::string_view line) {
    if (line.starts_with(job_id) && line.substr(job_id.size()).starts_with(' ')) {
      end = parse_utc(line.substr(job_id.size() + 1));
    }
  });
  return end;
}

}  // namespace kedge::jobs::slurm
