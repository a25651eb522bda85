# Usage: ./dev test [--quick | --asan | --tsan] [--list] [PART...]
#
# Builds and runs everything .ci/run runs, or only the named parts: unit tests, command-line
# transcripts and bad inputs, trainings that are killed again and again or whose disk is full,
# trainings that must come to what they came to before and runs of an older program, agents of a
# sweep that are killed, jobs on real Slurm and HTCondor daemons, every way into a server that is
# killed, frozen and behind a bad network, attacks on it, the real wandb and mlflow clients and
# PyTorch, the web page's own checks and the journeys of its users in Chromium, the commands in the
# documentation, library dependencies, the tools' own tests, five seconds each of six fuzzers, lint
# without clang-tidy.
#
#   --quick          the everyday loop: the unit tests that were built before (./dev build core_test
#                    adds one), the transcripts, the golden trainings, lint without clang-tidy. It
#                    leaves out all else: kills and faults, ranks, sweeps, jobs, servers, clients,
#                    the page, the documentation
#   --asan, --tsan   only the unit tests of the rooms without libtorch, with sanitizers
#   --list           the names of the parts
#
# While the compiler runs, what the parts need is fetched: packages as root (Chromium, clang,
# Slurm), HTCondor into /var/cache/kedge, wandb, mlflow, torch and others into an environment in the
# cache (KEDGE_PEER_PYTHON names another Python for that). What cannot be had is skipped, and named
# again at the end.
# Parts that disturb nobody run side by side; a part's line comes when it has ended, with its output
# when it failed. Those are tried once more at the end with nothing beside them, because machines
# that are shared stop for seconds at a time: what passes then is reported as flaky. Every log is
# kept in build/test. The last line: N passed, N failed, N skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

for argument; do
  case $argument in
    -h | --help) print_usage tools/dev/test.sh; exit 0 ;;
    --quick | --asan | --tsan | --list) ;;
    -*) usage_error "test: unknown option '$argument'" ;;
  esac
done
# Python 3 is one of the packages.
remember_torch_kind auto
install_packages
exec python3 tools/dev/suite.py "$@"
