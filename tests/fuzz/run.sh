#!/usr/bin/env bash
# Usage: tests/fuzz/run.sh [--seconds N] [--seed N] [--check] [NAME...]
#
# Builds the fuzzers into build-fuzz/ with clang and libFuzzer, with address and
# undefined-behaviour sanitizers, and runs each for N seconds (default 600), one after the other.
# It begins with tests/fuzz/corpus/NAME (seeds, and the inputs that once failed) and what earlier
# runs kept in build-fuzz/corpus/NAME; an input that fails is written to build-fuzz/found/.
#
#   --seed N  begin with this random number, so that a short run does the same each time
#   --check   say whether this machine can build fuzzers; exit 1 and the reason when not
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/versions.sh

all=(klog safetensors manifest torch_file config chunk query event_file mlflow_filter graphql
  http log_body wandb mlflow_body image dataset sweep_file job_book run_folder tokenizer)
seconds=600
seed=0 # by the clock
check=0
names=()
while (($#)); do
  case $1 in
    -h | --help) print_usage tests/fuzz/run.sh; exit 0 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift ;;
    --seed) seed=${2:?--seed needs a number}; shift ;;
    --check) check=1 ;;
    -*) usage_error "fuzz: unknown option '$1'" ;;
    *) names+=("$1") ;;
  esac
  shift
done
((${#names[@]})) || names=("${all[@]}")

# clang with libFuzzer, which Debian keeps in a package of its own, and with std::expected, which
# Debian 12's own does not have.
find_clang() {
  local clang
  for clang in "clang++-$clang_major" clang++; do
    if command -v "$clang" >/dev/null &&
      [[ -f $("$clang" -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a ]] &&
      echo '#include <expected>
        std::expected<int, int> x;' | "$clang" -std=c++23 -fsyntax-only -x c++ - 2>/dev/null; then
      echo "$clang"
      return
    fi
  done
  return 1
}

if ! clang=$(find_clang); then
  echo "no clang with libFuzzer here; install clang-$clang_major and libclang-rt-$clang_major-dev"
  exit 1
fi
((!check)) || exit 0

build() {
  if [[ ! -f build-fuzz/build.ninja ]]; then
    CXX=$clang cmake -S . -B build-fuzz -G Ninja -DKEDGE_TRAIN=OFF -DKEDGE_FUZZ=ON \
      -DCMAKE_BUILD_TYPE=Fuzz -DKEDGE_SANITIZE=fuzzer-no-link,address,undefined
  fi
  ninja -C build-fuzz "${names[@]/%/_fuzz}"
}

# fuzz NAME: one line with how many inputs were run, or the report of the one that failed.
fuzz() {
  local name=$1 log=build-fuzz/$1.log
  mkdir -p "build-fuzz/corpus/$name" build-fuzz/found
  if ! "build-fuzz/bin/${name}_fuzz" -max_total_time="$seconds" -seed="$seed" \
    -timeout=60 -rss_limit_mb=2048 -max_len=8192 -use_value_profile=1 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/found/$name-" \
    "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    tail -n 60 "$log"
    die "$name: a reader failed on an input that was written to build-fuzz/found/"
  fi
  awk -v name="$name" '
    /number_of_executed_units/ { runs = $2 }
    /^#.* cov: / { for (i = 1; i < NF; ++i) if ($i == "cov:") cov = $(i + 1) }
    END { printf "%-12s %12d inputs, %d edges\n", name, runs, cov }' "$log"
}

mkdir -p build-fuzz
if ! build >build-fuzz/build.log 2>&1; then
  tail -n 40 build-fuzz/build.log
  die "the fuzzers do not build"
fi
for name in "${names[@]}"; do
  fuzz "$name"
done
