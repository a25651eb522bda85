# Usage: tools/dev/needs.sh WHAT
#
# Brings what parts of ./dev test need beside the build: peers, node, chromium, clang, slurm,
# condor, gpu. Prints lines NAME=VALUE for the environment of those parts. Where it cannot be had:
# the reason, and the command that would bring it; ends with 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

# need_packages WHY PACKAGE...: installed as root; else the reason.
need_packages() {
  local why=$1 said
  shift
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "$why; as root: apt-get install $*"
    exit 1
  fi
  # In a subshell: apt_install ends the shell where it cannot install.
  said=$( (apt_install "$@") 2>&1) || { echo "$why: ${said##*$'\n'}"; exit 1; }
}

need_chromium() {
  if [[ -z ${KEDGE_CHROMIUM:-} ]] &&
    ! command -v chromium chromium-browser google-chrome >/dev/null; then
    need_packages "there is no Chromium (KEDGE_CHROMIUM names one)" chromium fonts-liberation
  fi
  need_node
}

need_node() {
  echo "PATH=$(find_node):$PATH"
}

need_clang() {
  local why
  if ! why=$(bash tests/fuzz/run.sh --check); then
    need_packages "$why" "clang-$clang_major" "libclang-rt-$clang_major-dev"
  fi
}

need_slurm() {
  if ! PATH=$PATH:/usr/sbin command -v slurmctld >/dev/null; then
    need_packages "there is no slurmctld" "${slurm_packages[@]}"
  fi
}

need_condor() {
  local found
  found=$(bash tools/dev/condor.sh) || { echo "$found"; exit 1; }
  echo "PATH=$found:$PATH"
}

need_peers() {
  local python
  if ! python3 -m pip --version >/dev/null 2>&1 && [[ -z ${KEDGE_PEER_PYTHON:-} ]]; then
    need_packages "there is no pip to fetch torch, wandb and mlflow with" python3-pip
  fi
  python=$(bash tools/dev/peers.sh) || { echo "$python"; exit 1; }
  echo "KEDGE_PEER_PYTHON=$python"
}

need_gpu() {
  has_nvidia_gpu || { echo "this machine has no NVIDIA GPU"; exit 1; }
}

case ${1:-} in
  -h | --help) print_usage tools/dev/needs.sh; exit 0 ;;
  peers | node | chromium | clang | slurm | condor | gpu) "need_$1" ;;
  *) usage_error "needs: unknown '${1:-}'" ;;
esac
