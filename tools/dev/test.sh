# Usage: ./dev test [--asan | --tsan]
#
# Builds and runs everything .ci/run runs: unit tests, command-line transcripts, a training that is
# killed again and again and one whose disk is full, trainings that must come to what they came to
# before and runs of an older program, agents of a sweep that are killed, jobs on real
# Slurm and HTCondor daemons (fetched as root, skipped where that cannot be), every way into a
# server that is killed, frozen and behind a bad network, attacks on it, the web page's own checks
# and, where there is a Chromium, the journeys of its users, the commands in the documentation,
# library dependencies, the tools' own tests, five seconds each of six fuzzers where there is a
# clang with libFuzzer, lint without clang-tidy.
# A part prints one line when it passes and its output when it does not. A part that fails is tried
# once more, because machines that are shared stop for seconds at a time: one that passes then is
# reported as flaky, and the log of its first try is kept in build/flaky. What this machine cannot
# run is named again at the end. The last line: N passed, N failed, N skipped.
#
#   --asan, --tsan   only the unit tests of the rooms without libtorch, with sanitizers
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh

sanitizer=
while (($#)); do
  case $1 in
    -h | --help) print_usage tools/dev/test.sh; exit 0 ;;
    --asan | --tsan) sanitizer=$1 ;;
    *) usage_error "test: unknown option '$1'" ;;
  esac
  shift
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=() flaky=() skipped=()

# skip NAME WHY: what this machine cannot run; named again at the end.
skip() {
  printf '%-10s SKIPPED %s\n' "$1" "$2"
  skipped+=("$1: $2")
}

# part NAME COMMAND...
part() {
  local name=$1 start why
  shift
  start=$(now)
  if run_part "$name" "" "$@"; then
    return
  fi
  mkdir -p build/flaky
  cp "$log" "build/flaky/$name.log"
  if run_part "$name" ", FLAKY: the first try failed, see build/flaky/$name.log" "$@"; then
    flaky+=("$name")
    return
  fi
  printf '%-10s FAILED  %s\n' "$name" "$(elapsed_since "$start")"
  failed+=("$name")
}

# run_part NAME REMARK COMMAND...; uses `start` and `why` of part().
run_part() {
  local name=$1 remark=$2
  shift 2
  if ! "$@" >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  # A test that lacks what it needs says so and ends well.
  why=$(sed -n 's/^skipped: //p; /^skipped: /q' "$log")
  if [[ -n $why ]]; then
    skip "$name" "$why"
  else
    printf '%-10s ok      %s%s\n' "$name" "$(elapsed_since "$start")" "$remark"
    passed=$((passed + 1))
  fi
}

# Fuzzers need a clang, which ./dev setup does not install: 95 MB that only these use.
fuzz_part() {
  local why
  if why=$(bash tests/fuzz/run.sh --check); then
    part fuzz bash tests/fuzz/run.sh --seconds 5 --seed 1 \
      klog safetensors manifest http log_body wandb
  else
    skip fuzz "$why"
  fi
}

# clients_part NAME: the real client of another tool, where that Python has it.
clients_part() {
  if "$KEDGE_PEER_PYTHON" -c "import $1" 2>/dev/null; then
    part "$1-py" "$KEDGE_PEER_PYTHON" "tests/$1/clients.py"
  else
    skip "$1-py" "KEDGE_PEER_PYTHON has no $1"
  fi
}

# Peers cost a gigabyte that users do not need: a developer names a Python that has them.
peers_part() {
  if [[ -n ${KEDGE_PEER_PYTHON:-} ]]; then
    part interop "$KEDGE_PEER_PYTHON" tests/python/interop_test.py
    part onnx "$KEDGE_PEER_PYTHON" tests/python/onnx_test.py
    part exchange "$KEDGE_PEER_PYTHON" tests/python/exchange_test.py
    clients_part mlflow
    clients_part wandb
  else
    skip peers "KEDGE_PEER_PYTHON names no Python with torch"
  fi
}

# Jobs on real Slurm daemons, which are installed where that can be done.
slurm_part() {
  if ! PATH=$PATH:/usr/sbin command -v slurmctld >/dev/null; then
    if ((EUID != 0)) || ! command -v apt-get >/dev/null ||
      ! (source tools/dev/machine.sh && apt_install "${slurm_packages[@]}") >"$log" 2>&1; then
      skip slurm "there is no slurmctld, and it cannot be installed here"
      return
    fi
  fi
  part slurm python3 tests/slurm/jobs.py build/bin/kedge
}

# Recorded steps, images on the device, fused kernels: where there is a GPU.
gpu_part() {
  if (source tools/dev/machine.sh && has_nvidia_gpu); then
    part gpu "${KEDGE_PEER_PYTHON:-python3}" tests/gpu/exact.py
  else
    skip gpu "this machine has no NVIDIA GPU"
  fi
}

# Jobs on real HTCondor daemons, which are unpacked where that can be done.
condor_part() {
  local found
  if found=$(bash tools/dev/condor.sh); then
    part condor env PATH="$found:$PATH" python3 tests/condor/jobs.py
    part machines env PATH="$found:$PATH" python3 tests/condor/several.py
  else
    skip condor "$found"
  fi
}

# Types, lint and unit tests of the page.
check_page() {
  (source tools/dev/machine.sh && cd web && PATH=$(cd .. && find_node):$PATH npm run check)
}

# A browser is 416 MB that only this uses.
journeys_part() {
  if command -v chromium >/dev/null || [[ -n ${KEDGE_CHROMIUM:-} ]]; then
    part journeys walk_page
  else
    skip journeys "there is no chromium, and KEDGE_CHROMIUM names none"
  fi
}

walk_page() {
  (source tools/dev/machine.sh &&
    PATH=$(find_node):$PATH node tests/web/journeys.mjs build/bin/kedge)
}

unit_tests() {
  ctest --test-dir "$1" --output-on-failure --no-tests=error -j "$(nproc)"
}

start=$(now)
bash tools/dev/build.sh $sanitizer all
if [[ -n $sanitizer ]]; then
  part unit unit_tests "build-${sanitizer#--}"
else
  part unit unit_tests build
  part cli python3 tests/cli/run.py
  part kills python3 tests/resume/kill.py --kills 20
  part faults python3 tests/resume/faults.py
  part identity python3 tests/identity/golden.py
  part old-runs python3 tests/identity/old_runs.py
  part one-batch python3 tests/identity/one_batch.py
  part parity python3 tests/dist/parity.py
  part ranks python3 tests/dist/elastic.py
  part sweeps python3 tests/sweep/agents.py build/bin/kedge
  part hosted-sweeps python3 tests/sweep/agents.py build/bin/kedge --server --restarts 2
  part rungs python3 tests/sweep/native.py build/bin/kedge
  part full-disk python3 tests/sweep/full_disk.py build/bin/kedge
  slurm_part
  part false-amx python3 tests/cpu/false_amx.py build/bin/kedge
  gpu_part
  condor_part
  part ingest python3 tests/server/ingest.py
  part server python3 tests/server/contract.py
  part security python3 -m unittest discover -s tests/security -p '*_test.py'
  part mlflow python3 tests/mlflow/contract.py
  part wandb python3 tests/wandb/contract.py
  part web check_page
  journeys_part
  part docs python3 tools/check_docs.py
  part ldd python3 tests/ldd_test.py
  part tools python3 -m unittest discover -s tests/tools -p '*_test.py'
  fuzz_part
  peers_part
  part lint bash tools/dev/lint.sh --no-tidy
fi
for why in "${skipped[@]}"; do
  say "skipped $why"
done
((!${#flaky[@]})) || say "flaky: ${flaky[*]} (logs of their first tries are in build/flaky)"
((!${#failed[@]})) || say "failed: ${failed[*]}"
say "$passed passed, ${#failed[@]} failed, ${#skipped[@]} skipped" \
  "(${#flaky[@]} flaky, $(elapsed_since "$start"))"
((!${#failed[@]}))
