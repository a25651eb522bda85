#include "jobs/slurm/script.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "jobs/in_container.h"
#include "jobs/job_script.h"
#include "jobs/secrets.h"
#include "jobs/shell_text.h"
#include "jobs/slurm/directives.h"
#include "jobs/slurm/refusal.h"

namespace kedge::jobs::slurm {
namespace {

using config::ContainerTool;

// Before the program. `owners`: a submit that was interrupted and repeated may have left two jobs
// of the same submission; the first to start is the one.
constexpr std::string_view kBeginning = R"sh(
job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
export KEDGE_TASK=$((${SLURM_ARRAY_TASK_ID:-0} + offset))
task=$KEDGE_TASK
self=$job${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}

note() { echo "$1 $submission $(date +%s) ${*:2}" >>"$dir/ends/$task"; }
is_cancelled() { [ -e "$dir/cancelled" ] || [ -e "$dir/cancelled-$task" ]; }

owner=$dir/owners/$submission-$task
(set -o noclobber; echo "$job" >"$owner") 2>/dev/null
if [ -s "$owner" ] && [ "$(<"$owner")" != "$job" ]; then
  echo "kedge: this submission is job $(<"$owner") already; nothing to do" >&2
  exit 0
fi
is_cancelled && exit 143
note start "${SLURMD_NODENAME:-?}" "$self"
# The last task to be over takes the keys along. One that Slurm preempts runs again.
finish() {
  note end "$1"
  [ -e "$secrets" ] || return
  local state
  state=$(timeout 30 scontrol show job -o "$self" 2>/dev/null)
  [[ $state == *JobState=RUNNING* && $state != *PreemptTime=[0-9]* ]] || return
  echo "$task" >>"$dir/over-$submission"
  [ "$(sort -u "$dir/over-$submission" | wc -l)" -lt "$tasks" ] || rm -f "$secrets"
}
trap 'finish $?' EXIT
trap : TERM USR1 # Slurm tells the steps by itself

)sh";

// Slurm's own pattern would name the file by the index, not by the task.
constexpr std::string_view kOwnOutput = R"sh(output=${output//'{task}'/$task}
output=${output//'{job}'/$job}
output=${output//'{node}'/$SLURMD_NODENAME}
exec >>"$output" 2>&1

)sh";

// Behind it. A requeue is asked for from here, because a container has no scontrol.
constexpr std::string_view kAgain = R"sh(
again() {
  is_cancelled && exit 143
  local try state answer
  for try in {1..30}; do
    # A job that was cancelled (or preempted, which Slurm requeues itself) is COMPLETING by now.
    state=$(scontrol show job -o "$self" 2>&1)
    if [[ $state =~ JobState=([A-Z_]+) && ${BASH_REMATCH[1]} != RUNNING &&
      $state != *Reason=TimeLimit* ]]; then
      exit 143
    fi
    if [ "$continuation" = chain ]; then break; fi
    if answer=$(scontrol requeue "$self" 2>&1); then
      trap - EXIT
      echo "kedge: $1; job $self is requeued" >&2
      exit "$code"
    fi
    [[ $answer =~ $away ]] || break
    sleep 10
  done
  [ -z "$answer" ] || echo "kedge: the requeue was refused: $answer" >&2
  follow "$1"
}

submit_next() {
  # Slurm keeps the environment of what is submitted.
  for name in $(sed -n 's/^export \([A-Za-z0-9_]*\)=.*/\1/p' "$secrets" 2>/dev/null); do
    unset "$name"
  done
  unset KEDGE_TASK
  sbatch --parsable --dependency="afterany:$self" \
    ${SLURM_ARRAY_TASK_ID:+--array=$SLURM_ARRAY_TASK_ID} "$dir/job-$submission.sh"
}

# A try that Slurm took without an answer makes a job that finds another owner, and ends.
follow() {
  local next try
  for try in {1..30}; do
    next=$(submit_next 2>"$owner.said") && break
    cat "$owner.said" >&2
    [[ $(<"$owner.said") =~ $away ]] || return
    sleep 10
  done
  [ -n "$next" ] || return
  next=${next%%;*}
  # Whoever looks meanwhile must not find it empty: this job would be taken for the last one.
  echo "$next" >"$owner.next" && mv "$owner.next" "$owner"
  trap - EXIT
  echo "kedge: $1; job $next goes on after this one" >&2
  exit "$code"
}

if [ "$code" -eq 85 ]; then
  # Runs that stop at once and ask for another would go on for ever.
  quick=$(cat "$dir/quick-$submission-$task" 2>/dev/null)
  [ "$SECONDS" -lt 60 ] && quick=$((quick + 1)) || quick=0
  echo "$quick" >"$dir/quick-$submission-$task"
  if [ "$quick" -lt 20 ]; then
    again "saved and stopped"
  else
    echo "kedge: 20 runs of less than a minute asked to be run again; not again" >&2
  fi
elif [ "$code" -ne 0 ] && [ "$retries" -gt 0 ]; then
  failures=$(($(cat "$dir/failures-$submission-$task" 2>/dev/null) + 1))
  echo "$failures" >"$dir/failures-$submission-$task"
  [ "$failures" -gt "$retries" ] || again "failed with $code, retry $failures of $retries"
fi
exit "$code"
)sh";

// A rank that died must not leave the others waiting for ever, and one that has saved must not take
// those with it that still do.
constexpr int kWaitForRanks_s = 120;

std::string quote_for_directive(std::string_view text) {
  return text.find_first_of(" \t'\"#\\") == std::string_view::npos ? std::string(text)
                                                                   : quote_for_shell(text);
}

void add_if(std::vector<std::string>& options, std::string_view name, const std::string& value) {
  if (!value.empty()) {
    options.push_back(fmt::format("--{}={}", name, value));
  }
}

std::string render_dependencies(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text;
  for (const Dependency& dependency : spec.after) {
    const auto id = place.ids.find(dependency.key);
    if (id == place.ids.end()) {
      continue;
    }
    const std::string_view kind = dependency.after == After::Ok    ? "afterok"
                                  : dependency.after == After::Any ? "afterany"
                                                                   : "afternotok";
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", kind, id->second);
  }
  if (!place.part_before.empty()) {
    text += fmt::format("{}afterany:{}", text.empty() ? "" : ",", place.part_before);
  }
  return text;
}

std::string render_array(const JobSpec& spec, const SubmissionPlace& place) {
  std::vector<std::int64_t> tasks = place.tasks;
  for (std::int64_t task = 0; place.tasks.empty() && task < spec.tasks; ++task) {
    tasks.push_back(task);
  }
  for (std::int64_t& task : tasks) {
    task -= place.offset;
  }
  const std::string cap = spec.wants.at_once > 0 ? fmt::format("%{}", spec.wants.at_once) : "";
  return render_task_list(std::move(tasks)) + cap;
}

Result<std::vector<std::string>> directives_of(const JobSpec& spec, const SubmissionPlace& place) {
  std::vector<std::string> options = {"--job-name=" + spec.name, "--comment=" + place.mark(),
                                      "--chdir=" + spec.folder.string()};
  const std::vector<std::string> resources = resource_options(spec);
  options.insert(options.end(), resources.begin(), resources.end());
  options.push_back("--output=" + slurm_output(spec, place));
  options.emplace_back("--open-mode=append");
  options.emplace_back("--requeue");
  if (spec.wants.grace.value > 0) {
    options.push_back(fmt::format("--signal=USR1@{:.0f}", std::ceil(spec.wants.grace.value)));
  }
  if (spec.is_array()) {
    options.push_back("--array=" + render_array(spec, place));
  }
  if (const std::string after = render_dependencies(spec, place); !after.empty()) {
    options.push_back("--dependency=" + after);
    options.emplace_back("--kill-on-invalid-dep=yes");
  }
  return merge_directives(std::move(options), spec.wants.directives);
}

std::vector<std::string> srun_words(const JobSpec& spec, const SubmissionPlace& place) {
  // Since 22.05 srun does not take --cpus-per-task over from the job.
  std::vector<std::string> words = {"srun", "--kill-on-bad-exit=0",
                                    fmt::format("--wait={}", kWaitForRanks_s), "--unbuffered",
                                    fmt::format("--cpus-per-task={}", spec.wants.cpus)};
  std::vector<std::string> task = task_words(spec, place);
  if (!spec.wants.container.empty()) {
    if (container_tool(spec, true) == ContainerTool::Pyxis) {
      const std::vector<std::string> options = pyxis_options(spec, place);
      words.insert(words.end(), options.begin(), options.end());
      task = words_in_image(place, std::move(task));
    } else {
      task = in_container(spec, place, std::move(task));
    }
  }
  words.insert(words.end(), task.begin(), task.end());
  return words;
}

// An image has no squeue: the time limit is asked for outside, so that a training in it saves in
// time. A job without a limit has no such time.
std::string render_end(const JobSpec& spec) {
  if (spec.wants.container.empty()) {
    return {};
  }
  return R"sh(
end=$(squeue -h -j "$self" -o %e 2>/dev/null)
[[ $end != ????-??-??T* ]] || export KEDGE_JOB_END=$(date -d "$end" +%s)
)sh";
}

// A port of the job's own, and another at each start: ranks of an earlier start that linger must
// not meet those of this one. Below the range that the kernel hands out.
std::string render_rendezvous(const JobSpec& spec) {
  if (spec.wants.nodes * spec.wants.ranks == 1) {
    return {};
  }
  return R"sh(
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(scontrol show node -o "$first" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p')
export MASTER_ADDR=${address:-$first}
export MASTER_PORT=$((10240 + (SLURM_JOB_ID * 7 + ${SLURM_RESTART_COUNT:-0}) % 20000))
)sh";
}

}  // namespace

std::string render_time(double seconds) {
  const auto minutes = static_cast<std::int64_t>(std::ceil(seconds / 60));
  return fmt::format("{}-{:02}:{:02}:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

std::string render_task_list(std::vector<std::int64_t> tasks) {
  std::ranges::sort(tasks);
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    std::size_t end = i;
    while (end + 1 < tasks.size() && tasks[end + 1] == tasks[end] + 1) {
      ++end;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", tasks[i]);
    if (end > i) {
      text += fmt::format("-{}", tasks[end]);
    }
    i = end + 1;
  }
  return text;
}

std::vector<std::string> resource_options(const JobSpec& spec) {
  const config::JobConfig& wants = spec.wants;
  std::vector<std::string> options;
  add_if(options, "partition", wants.queue);
  add_if(options, "account", wants.account);
  add_if(options, "qos", wants.qos);
  add_if(options, "constraint", wants.constraint);
  add_if(options, "reservation", wants.reservation);
  options.push_back(fmt::format("--nodes={}", wants.nodes));
  options.push_back(fmt::format("--ntasks-per-node={}", wants.ranks));
  options.push_back(fmt::format("--cpus-per-task={}", wants.cpus));
  if (wants.memory.value > 0) {
    constexpr std::uint64_t kMib = 1U << 20U;
    options.push_back(fmt::format("--mem={}M", (wants.memory.value + kMib - 1) / kMib));
  }
  if (wants.gpus > 0) {
    options.push_back(fmt::format("--gpus-per-node={}", wants.gpus));
  }
  if (wants.time.value > 0) {
    options.push_back("--time=" + render_time(wants.time.value));
  }
  return options;
}

std::string slurm_output(const JobSpec& spec, const SubmissionPlace& place) {
  if (place.offset > 0) {
    return (place.logs() / fmt::format("part-{}-%a.log", place.submission)).string();
  }
  std::string text = output_pattern(spec, place);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), to);
    }
  };
  replace("{task}", "%a");
  replace("{node}", "%N");
  replace("{job}", spec.is_array() ? "%A" : "%j");
  return text;
}

Result<std::string> render_script(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text = "#!/bin/bash\n";
  for (const std::string& option : KEDGE_TRY(directives_of(spec, place))) {
    const std::size_t equals = option.find('=');
    text += equals == std::string::npos
                ? fmt::format("#SBATCH {}\n", option)
                : fmt::format("#SBATCH {}={}\n", option.substr(0, equals),
                              quote_for_directive(option.substr(equals + 1)));
  }
  text +=
      fmt::format("\ndir={}\nsubmission={}\ntasks={}\noffset={}\n",
                  quote_for_shell(place.folder.string()), place.submission,
                  place.tasks.empty() ? spec.task_count() : std::ssize(place.tasks), place.offset);
  text +=
      fmt::format("retries={}\ncontinuation={}\nsecrets=$dir/{}\n", spec.wants.retries,
                  config::name_of(spec.wants.continuation), secrets_file_name(place.submission));
  text += kBeginning;
  if (place.offset > 0) {
    text += fmt::format("output={}\n{}", quote_for_shell(output_pattern(spec, place)), kOwnOutput);
  }
  text += render_surroundings(spec, place);
  if (!spec.items.empty()) {
    text += "export KEDGE_ITEM=$(sed -n \"$((task + 1))p\" \"$dir/items\")\n";
  }
  text += render_end(spec);
  text += render_rendezvous(spec);
  text += "\n" + join_for_shell(srun_words(spec, place)) + " &\n";
  // wait comes back when a signal does.
  text +=
      "step=$!\nwhile kill -0 \"$step\" 2>/dev/null; do wait \"$step\"; done\n"
      "wait \"$step\"\ncode=$?\n";
  text += fmt::format("\naway='{}'\n", away_pattern());
  text += kAgain;
  return text;
}

Result<std::vector<std::string>> session_words(const JobSpec& spec, const Path& kedge) {
  SubmissionPlace place;  // of no job
  place.folder = spec.folder;
  place.kedge = kedge;
  // One shell with the cores of all ranks: whoever sits at it starts them.
  JobSpec session = spec;
  session.wants.cpus = spec.wants.cpus * spec.wants.ranks;
  session.wants.ranks = 1;
  std::vector<std::string> shell = {"bash", "-i"};
  std::vector<std::string> words = {"srun", "--job-name=" + spec.name};
  if (!spec.wants.container.empty()) {
    if (container_tool(spec, true) == ContainerTool::Pyxis) {
      const std::vector<std::string> options = pyxis_options(spec, place);
      words.insert(words.end(), options.begin(), options.end());
      session.wants.modules.clear();  // of the cluster: there are none in the image
    } else {
      shell = in_container(spec, place, shell);
    }
  }
  const std::vector<std::string> options =
      KEDGE_TRY(merge_directives(resource_options(session), spec.wants.directives));
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--pty", "bash", "-c",
                             render_environment(session) + "exec " + join_for_shell(shell)});
  return words;
}

}  // namespace kedge::jobs::slurm
