#include "jobs/condor/submission.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "jobs/condor/directives.h"
#include "jobs/condor/job_length.h"
#include "jobs/condor/sandbox.h"
#include "jobs/condor/slot_script.h"
#include "jobs/job_script.h"
#include "jobs/secrets.h"
#include "jobs/site.h"

namespace kedge::jobs::condor {
namespace {

// HTCondor's MB are of 1024 * 1024 bytes, and a request of 0 would mean its own guess.
std::int64_t to_mb(Bytes bytes) {
  constexpr std::uint64_t kMb = 1 << 20;
  return static_cast<std::int64_t>((bytes.value + kMb - 1) / kMb);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    const std::size_t begin = word.find_first_not_of(' ');
    if (begin != std::string::npos) {
      words.push_back(word.substr(begin, word.find_last_not_of(' ') - begin + 1));
    }
  }
  return words;
}

Result<SiteFlags> site_flags(const JobSpec& spec) {
  SiteFlags flags;
  const config::JobConfig& wants = spec.wants;
  for (const std::string& pool : split(wants.queue)) {
    if (pool == "gpulab") {
      flags.wants_gpu_lab = true;
    } else if (pool == "campus") {
      flags.wants_campus_pools = true;
      flags.wants_flocking = true;
    } else if (pool == "ospool") {
      flags.wants_ospool = true;
      flags.wants_glidein = true;
    } else {
      return fail(ErrorKind::Usage, fmt::format("job.queue: HTCondor knows no pool '{}'", pool),
                  "one or more of gpulab, campus, ospool; empty for the pool's default");
    }
  }
  if (!wants.data_may_leave) {
    if (flags.wants_campus_pools || flags.wants_ospool) {
      return fail(ErrorKind::Usage,
                  fmt::format("job.queue is {}, and job.data_may_leave is false", wants.queue),
                  "run in this pool alone (job.queue=''), or let the data leave");
    }
    flags.wants_flocking = false;
    flags.wants_glidein = false;
  }
  flags.is_resumable = wants.backfill;
  if (wants.backfill && !spec.is_resumable()) {
    return fail(ErrorKind::Usage,
                "job.backfill takes slots whose owners end the job at any moment, and this "
                "program would begin anew each time",
                "job.resumable=true where it goes on by itself");
  }
  using config::JobLength;
  const bool is_classed = wants.length != JobLength::None && wants.gpus > 0 &&
                          (flags.wants_gpu_lab || wants.length != JobLength::Auto);
  if (!is_classed) {
    return flags;
  }
  if (wants.length != JobLength::Auto) {
    flags.gpu_job_length = config::name_of(wants.length);
    return flags;
  }
  // Unlike an estimate, job.time is a limit: it needs no room to spare.
  const auto length =
      choose_job_length(spec.estimate_s > 0 ? spec.estimate_s : wants.time.value / 1.2);
  if (!length && spec.estimate_s > 0 && spec.is_resumable()) {
    flags.gpu_job_length = job_length_classes().back().name;
    return flags;
  }
  if (!length && spec.estimate_s > 0) {
    return fail(ErrorKind::Usage,
                fmt::format("a task takes about {}, longer than the longest class of GPU jobs (7 "
                            "days)",
                            render_seconds({spec.estimate_s})),
                "cut it into parts, or job.resumable=true where it goes on by itself");
  }
  if (!length) {
    return fail(ErrorKind::Usage,
                fmt::format("job.time {} is longer than the longest class of GPU jobs (7 days)",
                            render_seconds(wants.time)));
  }
  flags.gpu_job_length = length->name;
  return flags;
}

Result<GpuRequirements> gpu_requirements(const JobSpec& spec) {
  GpuRequirements gpu;
  if (spec.wants.gpus == 0) {
    return gpu;
  }
  const GpuNeed need = KEDGE_TRY(gpu_need(spec));
  gpu.least_capability = need.least_capability;
  gpu.most_capability = need.most_capability;
  gpu.memory_mb = least_reported_mib(spec.wants.gpu_memory);
  return gpu;
}

Result<void> set_program(SubmitFile& file, const JobSpec& spec, const SubmissionPlace& place) {
  file.executable = (place.folder / kSlotScript).string();
  file.arguments = {spec.is_array() ? "$(task)" : "0"};
  if (spec.wants.container.empty()) {
    return {};
  }
  if (!spec.wants.mounts.empty()) {
    return fail(ErrorKind::Usage, "job.mounts: an HTCondor slot mounts nothing of ours",
                "send it along by job.inputs");
  }
  const bool is_docker = spec.wants.container_tool == config::ContainerTool::Docker;
  file.universe = is_docker ? Universe::Docker : Universe::Container;
  file.image = spec.wants.container;
  return {};
}

// HTCondor starts such a job when all its machines are free, on those that the pool's owner has
// given to a dedicated scheduler. It knows neither checkpoint_exit_code nor max_retries there.
Result<void> set_machines(SubmitFile& file, const JobSpec& spec) {
  if (spec.wants.nodes == 1) {
    return {};
  }
  const auto refuse = [&](std::string_view what, std::string_view hint) {
    return fail(ErrorKind::Usage,
                fmt::format("job.nodes is {}: HTCondor runs {} on one machine each",
                            spec.wants.nodes, what),
                std::string(hint));
  };
  if (spec.is_array()) {
    return refuse("the tasks of an array", "a submit for each");
  }
  if (!spec.wants.container.empty()) {
    return refuse("images", "job.modules, job.conda or job.venv instead of job.container");
  }
  file.universe = Universe::Parallel;
  file.machines = spec.wants.nodes;
  file.transfers_executable = false;
  file.on_exit_remove = fmt::format(
      "ExitBySignal =!= true && (ExitCode =?= 0 || (ExitCode =!= {} && NumJobCompletions > {}))",
      kExitRunMeAgain, spec.wants.retries);
  file.requirements.emplace_back("TARGET.DedicatedScheduler =!= undefined");
  return {};
}

Result<void> set_transfer(SubmitFile& file, const JobSpec& spec, const SubmissionPlace& place) {
  if (is_shared(spec)) {
    file.transfer.is_needed = false;
    file.output = "/dev/null";  // the slot's script appends to the log itself
    file.streams_output = false;
    file.requirements.emplace_back("TARGET.FileSystemDomain == MY.FileSystemDomain");
    return {};
  }
  const Inputs inputs = KEDGE_TRY(sort_inputs(spec));
  file.transfer.inputs.push_back((place.folder / kInputArchive).string());
  if (spec.wants.container.empty()) {
    file.transfer.inputs.push_back((place.folder / kSoftwareArchive).string());
  }
  for (const SentInput& input : inputs.sent) {
    file.transfer.inputs.push_back(input.source);
  }
  if (!spec.wants.secrets.empty()) {
    const std::string name = secrets_file_name(place.submission);
    file.transfer.inputs.push_back((place.folder / name).string());
    file.transfer.encrypted.push_back("*" + name);
  }
  file.transfer.outputs = KEDGE_TRY(outputs_of(spec));
  if (spec.is_resumable()) {
    if (file.transfer.outputs.empty()) {
      return fail(ErrorKind::Usage, "job.outputs must name what a resumable program saves",
                  "job.outputs='[checkpoints]'");
    }
    file.checkpoint_exit_code = kExitRunMeAgain;
    file.transfer.checkpoint_files = file.transfer.outputs;
  }
  file.transfer.also_when_evicted = spec.is_resumable();
  return {};
}

// A resumable job stops by itself before its time is up, and the next start has the whole time
// again. What runs over its limit is held by HTCondor, and would stay in the queue for ever.
void set_limits(SubmitFile& file, const JobSpec& spec) {
  const auto limit_s = static_cast<std::int64_t>(spec.wants.time.value);
  (spec.is_resumable() ? file.allowed_execute_s : file.allowed_job_s) = limit_s;
  file.periodic_remove = "JobStatus == 5 && (HoldReasonCode == 46 || HoldReasonCode == 47)";
  constexpr double kVacate_s = 120;
  const double grace_s = spec.wants.grace.value > 0 ? spec.wants.grace.value : kVacate_s;
  file.max_vacate_s = static_cast<std::int64_t>(grace_s);
  file.max_retries = spec.wants.nodes > 1 ? 0 : spec.wants.retries;
  file.max_materialize = spec.is_array() ? spec.wants.at_once : 0;
}

void set_queue(SubmitFile& file, const JobSpec& spec, const SubmissionPlace& place) {
  if (!spec.is_array()) {
    return;
  }
  file.queue = {.kind = QueueKind::FromRows, .variables = {"task"}};
  std::vector<std::int64_t> tasks = place.tasks;
  for (std::int64_t task = 0; place.tasks.empty() && task < spec.tasks; ++task) {
    tasks.push_back(task);
  }
  for (const std::int64_t task : tasks) {
    file.queue.rows.push_back({std::to_string(task)});
  }
}

// $(task) and $(ClusterId) where the pattern has {task} and {job}; the slot is not known yet.
Result<std::string> output_file(const JobSpec& spec, const SubmissionPlace& place) {
  std::string pattern = log_pattern(spec, place);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = pattern.find(from, at)) != std::string::npos;) {
      pattern.replace(at, from.size(), to);
      at += to.size();
    }
  };
  if (pattern.find("{node}") != std::string::npos && !is_shared(spec)) {
    return fail(ErrorKind::Usage, "job.output: HTCondor cannot put the node (%N) in a file's name");
  }
  replace("{task}", spec.is_array() ? "$(task)" : "0");
  replace("{job}", "$(ClusterId)");
  return pattern;
}

}  // namespace

std::string submit_file_name(std::int64_t submission) {
  return fmt::format("job-{}.sub", submission);
}

std::string user_log_name(std::int64_t submission) {
  return fmt::format("condor-{}.log", submission);
}

std::string log_pattern(const JobSpec& spec, const SubmissionPlace& place) {
  std::string pattern = output_pattern(spec, place);
  const bool is_missing = pattern.find("{node}") == std::string::npos;
  return spec.wants.nodes > 1 && is_missing ? pattern + ".{node}" : pattern;
}

Result<SubmitFile> make_submit_file(const JobSpec& spec, const SubmissionPlace& place) {
  SubmitFile file{.comment = fmt::format("{} ({})", spec.name, place.mark())};
  KEDGE_TRY(set_program(file, spec, place));
  file.initial_folder = spec.folder.string();
  file.output = KEDGE_TRY(output_file(spec, place));
  file.log = (place.folder / user_log_name(place.submission)).string();
  // What the job prints can be followed while it runs; thousands of jobs would press the submit
  // machine too hard.
  constexpr std::int64_t kMostStreaming = 20;
  file.streams_output = spec.task_count() <= kMostStreaming;
  // The slot's script joins both; what starts the image complains before it.
  if (!spec.wants.container.empty()) {
    file.error = file.output;
    file.streams_error = file.streams_output;
  }
  file.batch_name = spec.name;
  file.accounting_group = spec.wants.account;
  file.requests = requests_of(spec);
  file.gpu = KEDGE_TRY(gpu_requirements(spec));
  if (!spec.wants.constraint.empty()) {
    file.requirements = {spec.wants.constraint};
  }
  KEDGE_TRY(set_machines(file, spec));
  KEDGE_TRY(set_transfer(file, spec, place));
  set_limits(file, spec);
  file.site = KEDGE_TRY(site_flags(spec));
  file.attributes = {{"KedgeMark", class_ad_string(place.mark())}};
  set_queue(file, spec, place);
  KEDGE_TRY(add_directives(file, spec.wants.directives));
  return file;
}

Requests requests_of(const JobSpec& spec) {
  return {.cpus = spec.wants.cpus * spec.wants.ranks,
          .memory_mb = to_mb(spec.wants.memory),
          .disk_mb = to_mb(spec.wants.disk),
          .gpus = spec.wants.gpus};
}

Result<std::vector<std::string>> session_words(const JobSpec& spec) {
  constexpr auto kKept =
      std::to_array<std::string_view>({"universe", "container_image", "docker_image", "request_",
                                       "gpus_", "requirements", "accounting_group", "+"});
  JobSpec session = spec;
  session.wants.resumable = false;  // it is a person who goes on
  SubmissionPlace place;            // of no job
  place.folder = spec.folder;
  std::istringstream lines(KEDGE_TRY(render(KEDGE_TRY(make_submit_file(session, place)))));
  std::vector<std::string> words = {"condor_submit", "-interactive"};
  for (std::string line; std::getline(lines, line);) {
    const bool is_kept = std::ranges::any_of(
        kKept, [&](std::string_view beginning) { return line.starts_with(beginning); });
    if (is_kept && !line.starts_with("+Kedge")) {
      words.insert(words.end(), {"-append", line});
    }
  }
  return words;
}

std::vector<std::string> notes_on(const JobSpec& spec) {
  std::vector<std::string> notes;
  const auto without_effect = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) {
      notes.push_back(fmt::format("job.{} has no effect on HTCondor", key));
    }
  };
  without_effect("reservation", spec.wants.reservation);
  without_effect("qos", spec.wants.qos);
  if (spec.wants.gpus > 0) {
    const auto need = gpu_need(spec);
    if (need && gpus_that_fit(*need).empty()) {
      notes.push_back("no GPU that kedge knows has this capability and memory");
    }
  }
  if (spec.is_resumable() && checkpoint_every_s(spec) > spec.wants.time.value) {
    notes.push_back(fmt::format(
        "job.checkpoint_every ({}) is longer than job.time ({}): the job saves at its limit alone",
        render_seconds({checkpoint_every_s(spec)}), render_seconds(spec.wants.time)));
  }
  return notes;
}

}  // namespace kedge::jobs::condor
