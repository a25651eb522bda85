# Usage: ./dev build [--debug | --asan | --tsan] [--torch KIND] [TARGET...]
#
# Sets up what is missing (see ./dev setup --help), builds the web page into web/dist, and kedge,
# which holds it, and kedge-train into build/bin.
#
#   --debug        without optimisation, with debug information, into build-debug/
#   --asan         the rooms without libtorch with address and undefined-behaviour sanitizers,
#                  into build-asan/
#   --tsan         the same with the thread sanitizer, into build-tsan/
#   --torch KIND   as in ./dev setup
#   TARGET         build this instead: core_test, all (with every test), ...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

kind=auto
folder=build
options=(-DKEDGE_TRAIN=ON)
targets=()
while (($#)); do
  case $1 in
    -h | --help) print_usage tools/dev/build.sh; exit 0 ;;
    --debug) folder=build-debug options+=(-DCMAKE_BUILD_TYPE=Debug) ;;
    --asan) folder=build-asan options=(-DKEDGE_TRAIN=OFF -DKEDGE_SANITIZE=address,undefined) ;;
    --tsan) folder=build-tsan options=(-DKEDGE_TRAIN=OFF -DKEDGE_SANITIZE=thread) ;;
    --torch) kind=${2:?--torch needs auto, cpu, cuda, python or a folder}; shift ;;
    --torch=*) kind=${1#--torch=} ;;
    -*) usage_error "build: unknown option '$1'" ;;
    *) targets+=("$1") ;;
  esac
  shift
done
if ((${#targets[@]} == 0)); then
  targets=(kedge)
  [[ ${options[0]} == -DKEDGE_TRAIN=OFF ]] || targets+=(kedge-train)
fi

# A libtorch file takes up to 2 GiB to compile.
job_count() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemAvailable/ {print int($2 / 2097152)}' /proc/meminfo)
  ((memory_gib >= 1)) || memory_gib=1
  echo $((cores < memory_gib ? cores : memory_gib))
}

# Prints the part of a log that says what went wrong, and where the rest is.
show_failure() {
  { grep -a -A 40 -m 1 -E '^FAILED|CMake Error|^ninja: error' "$1" || tail -n 40 "$1"; } >&2
  die "$2; the whole log is $1"
}

configure() {
  # Configuring takes seconds, so it is done only when its arguments change; ninja itself sees
  # changes of CMakeLists.txt.
  local arguments before
  arguments="$(compiler) $*"
  before=$(cat "$folder/configured" 2>/dev/null) || true
  [[ ! -f $folder/build.ninja || $before != "$arguments" ]] || return 0
  mkdir -p "$folder"
  if [[ ${before%% *} != "$(compiler)" ]]; then
    rm -f "$folder/CMakeCache.txt"
  fi
  CXX=$(compiler) cmake -S . -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 ||
    show_failure "$folder/configure.log" "cmake failed"
  echo "$arguments" >"$folder/configured"
}

# How far ninja is, by the last line of its log.
build_state() {
  tail -n 1 "$folder/build.log" | sed -nE \
    's/^\[([0-9]+)\/([0-9]+)\] .* ([^ ]+)$/\1 \2 \3/p' |
    while read -r done all last; do
      echo "building: $done of $all steps done, $((all - done)) left; the last: ${last##*/}"
    done
}

fetch_state() {
  local bytes
  bytes=$(du -sb "$(torch_folder)".download "$(torch_folder)".partial 2>/dev/null |
    awk '{ sum += $1 } END { print sum }')
  echo "fetching libtorch: $((${bytes:-0} / 1000000)) MB in its folder so far"
}

# On a terminal ninja shows its own progress line; a log gets a line each half minute.
run_ninja() {
  if [[ -t 1 ]]; then
    ninja -C "$folder" -j "$(job_count)" "$@" || die "the build failed"
  else
    ninja -C "$folder" -j "$(job_count)" "$@" >"$folder/build.log" 2>&1 &
    report_while $! build_state || show_failure "$folder/build.log" "the build failed"
  fi
}

start=$(now)
remember_torch_kind "$kind"
install_packages
if [[ $(compiler) == g++-12 ]]; then
  say "using g++-12, as $(system_name)'s own g++ is too old for C++23"
fi

if [[ ${options[0]} == -DKEDGE_TRAIN=ON ]] && ! torch_is_here; then
  # The program without libtorch compiles while that is on its way. When the compiler fails, the
  # download goes on and the next call finds it.
  fetch_torch &
  fetch=$!
  build_page
  configure -DKEDGE_TRAIN=OFF "${options[@]:1}"
  run_ninja kedge
  report_while "$fetch" fetch_state || exit 1
fi
build_page
if [[ ${options[0]} == -DKEDGE_TRAIN=ON ]]; then
  options+=("-DKEDGE_TORCH=$(torch_folder)" "-DKEDGE_CUDA=$(cuda_folder)")
fi
configure "${options[@]}"
run_ninja "${targets[@]}"
say "built $folder in $(elapsed_since "$start")"
