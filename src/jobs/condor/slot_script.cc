#include "jobs/condor/slot_script.h"

#include <vector>

#include <fmt/format.h>

#include "jobs/condor/submission.h"
#include "jobs/job_script.h"
#include "jobs/shell_text.h"

namespace kedge::jobs::condor {
namespace {

constexpr const char* kUnpack = R"sh(
# What came along. A job that exited with 85 starts again in the same folder, where this is done.
unpack() {
  [ ! -e "$1" ] || { mkdir -p "$2" && tar -xf "$1" -C "$2" && rm "$1"; } || {
    echo "kedge: $1 cannot be unpacked; free here (job.disk asks for more): $(df -h . | tail -n 1)"
    return 1
  }
}
place() { [ ! -e "$1" ] || [ "$1" = "$2" ] || { mkdir -p "$(dirname "$2")" && mv "$1" "$2"; }; }
)sh";

// HTCondor tells only this process to stop; the command saves and ends, and its exit code is ours.
constexpr const char* kRun = R"sh(
trap 'kill -TERM "$child" 2>/dev/null' TERM INT HUP
"${command[@]}" &
child=$!
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  code=$?
done
)sh";

// However the script ends, also before the command: an output that is missing would put the job on
// hold and hide how it ended. HTCondor carries no links to folders; those of a run ("last", "best")
// are for people alone.
constexpr const char* kLeave = R"sh(
leave() {
  code=$?
  [ "$code" = 85 ] || rm -f secrets-*.sh
  for output in "${outputs[@]}"; do
    if [ ! -e "$output" ]; then
      echo "kedge: the job made no '$output'" >&2
      mkdir -p "$output"
      [ "$code" != 0 ] || code=1
    fi
    find "$output" -type l -exec test -d {} \; -delete 2>/dev/null
  done
  exit "$code"
}
trap leave EXIT
)sh";

// HTCondor begins its own output file anew at each start.
constexpr const char* kAppend = R"sh(
output=${output//'{task}'/$task}
output=${output//'{node}'/${_CONDOR_PROCNO:-0}}
output=${output//'{job}'/$(sed -n 's/^ClusterId = //p' "$_CONDOR_JOB_AD")}
mkdir -p "$(dirname "$output")" && exec >>"$output" 2>&1
)sh";

// The first machine of a start says in the job's folder where to meet, under the number of the
// start: what an earlier one said must not be believed. The port is the job's own, below the range
// that the kernel hands out.
constexpr const char* kMeet = R"sh(
start=$(sed -n 's/^NumShadowStarts = //p' "$_CONDOR_JOB_AD")
cluster=$(sed -n 's/^ClusterId = //p' "$_CONDOR_JOB_AD")
place=$KEDGE_JOB_DIR/meet-$cluster-$start
if [ "$_CONDOR_PROCNO" = 0 ]; then
  sed -n 's/^MyAddress = "<\([0-9.]*\):.*/\1/p' "$_CONDOR_MACHINE_AD" | grep . >"$place.tmp" ||
    hostname >"$place.tmp"
  mv "$place.tmp" "$place" || exit
fi
for ((i = 0; i < 600; i++)); do
  [ ! -s "$place" ] || break
  sleep 0.5
done
[ -s "$place" ] || {
  echo "kedge: the first machine has not said where to meet within 5 minutes"
  exit 1
}
export NODE_RANK=$_CONDOR_PROCNO NNODES=$_CONDOR_NPROCS KEDGE__DIST__NODES=$_CONDOR_NPROCS
export MASTER_ADDR=$(cat "$place") MASTER_PORT=$((10240 + (cluster * 7 + start) % 20000))
)sh";

std::string render_unpacking(const Inputs& inputs) {
  std::string text = kUnpack;
  text += fmt::format("unpack {} . || exit\n", kInputArchive);
  text += fmt::format("unpack {} .kedge || exit\n", kSoftwareArchive);
  for (const SentInput& input : inputs.sent) {
    const std::string name = input.source.substr(input.source.rfind('/') + 1);
    if (name != input.place) {
      text +=
          fmt::format("place {} {} || exit\n", quote_for_shell(name), quote_for_shell(input.place));
    }
  }
  text += "PATH=$PWD/.kedge/bin:$PATH\n";
  return text;
}

std::string render_variables(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text = "\nexport PATH KEDGE_TASK=$task\n";
  if (!spec.wants.secrets.empty()) {
    text += "for secrets in secrets-*.sh; do [ ! -e \"$secrets\" ] || . \"./$secrets\"; done\n";
  }
  text += export_line("KEDGE_JOB", place.key);
  text += export_line("KEDGE_JOB_DIR", kJobFiles);
  text += export_line("KEDGE_TASKS", std::to_string(spec.task_count()));
  for (const auto& variables : {spec.variables, spec.wants.env}) {
    for (const auto& [name, value] : variables) {
      text += export_line(name, word_inside(value, spec, place));
    }
  }
  if (spec.is_kedge) {
    text += export_line("KEDGE__JOB__CHECKPOINT_EVERY",
                        fmt::format("{:.0f}s", checkpoint_every_s(spec)));
  }
  if (!spec.items.empty()) {
    text += fmt::format("KEDGE_ITEM=$(sed -n \"$((task + 1))p\" {}/{})\nexport KEDGE_ITEM\n",
                        kJobFiles, kItems);
  }
  return text;
}

std::string render_setup(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text;
  for (const std::string& module : spec.wants.modules) {
    text += fmt::format("module load {} || exit\n", quote_for_shell(module));
  }
  text += render_conda(spec.wants.conda);
  if (!spec.wants.venv.empty()) {
    text += fmt::format(". {}/bin/activate || exit\n",
                        quote_for_shell(word_inside(spec.wants.venv, spec, place)));
  }
  for (const std::string& line : spec.wants.setup) {
    text += line + " || exit\n";
  }
  return text;
}

// kedge train looks at its clock itself; other programs are stopped.
std::vector<std::string> command_words(const JobSpec& spec, const SubmissionPlace& place) {
  std::vector<std::string> words = task_words(spec, place, {.kedge = "kedge"});
  if (spec.wants.resumable && !spec.is_kedge) {
    words.insert(words.begin() + 2, fmt::format("--limit={:.0f}s", checkpoint_every_s(spec)));
  }
  for (std::string& word : words) {
    word = word_inside(word, spec, place);
  }
  return words;
}

std::string array_line(std::string_view name, const std::vector<std::string>& words) {
  return fmt::format("{}=({})\n", name, join_for_shell(words));
}

}  // namespace

double checkpoint_every_s(const JobSpec& spec) {
  const double asked = spec.wants.checkpoint_every.value;
  return asked > 0 ? asked : kCheckpointEvery_s;
}

Result<std::string> render_slot_script(const JobSpec& spec, const SubmissionPlace& place) {
  std::string text = fmt::format(
      "#!/bin/bash\n# Job {} of kedge in an HTCondor slot; the argument is the task.\n"
      "exec 2>&1\ntask=$1\n",
      place.key);
  if (is_shared(spec)) {
    text += fmt::format("output={}", quote_for_shell(log_pattern(spec, place))) + kAppend;
    text += "export KEDGE_TASK=$task\n" + render_surroundings(spec, place);
    text += spec.wants.nodes > 1 ? kMeet : "";
    return text + "exec " + join_for_shell(task_words(spec, place)) + "\n";
  }
  text += "cd \"${_CONDOR_SCRATCH_DIR:-.}\" || exit\n";
  const std::vector<std::string> outputs = KEDGE_TRY(outputs_of(spec));
  text += array_line("outputs", outputs);
  text += kLeave;
  text += render_unpacking(KEDGE_TRY(sort_inputs(spec)));
  text += render_variables(spec, place);
  text += render_setup(spec, place);
  if (spec.is_kedge) {
    for (const std::string& output : outputs) {
      text += fmt::format("mkdir -p {}\n", quote_for_shell(output));
    }
  }
  text += "\n" + array_line("command", command_words(spec, place));
  text += kRun;
  text += "exit \"$code\"\n";
  return text;
}

}  // namespace kedge::jobs::condor
