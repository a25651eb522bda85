# Usage: tools/dev/peers.sh
#
# The tools that tests compare with (torch, wandb, mlflow, onnxruntime, ...; tools/dev/peers.txt):
# makes a Python environment with them in the cache and prints its Python. 1.0 GB to download,
# 2.4 GB on disk; a second call does nothing. Ends with 1 and the reason where that cannot be done.
# KEDGE_PEER_PYTHON names another Python instead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

case ${1:-} in
  -h | --help) print_usage tools/dev/peers.sh; exit 0 ;;
esac
if [[ -n ${KEDGE_PEER_PYTHON:-} ]]; then
  echo "$KEDGE_PEER_PYTHON"
  exit 0
fi
if [[ $(uname -m) != x86_64 ]]; then
  echo "torch, wandb and mlflow are pinned for x86_64; KEDGE_PEER_PYTHON names a Python with them"
  exit 1
fi

# Without pip's resolver: the list is whole, and torch gets no CUDA libraries (2 GB).
install_peers() {
  local folder=$1
  python3 -m venv --without-pip "$folder" &&
    python3 -m pip --python "$folder/bin/python" install --quiet --no-deps --only-binary=:all: \
      --disable-pip-version-check --no-cache-dir --no-compile \
      -r tools/dev/peers.txt "${torch_cpu_wheels[@]%% *}" &&
    python3 tools/dev/torch_without_cuda.py "$(compiler)" "$folder"/lib/python3.*/site-packages &&
    "$folder/bin/python" -c 'import torch, safetensors, onnxruntime, wandb, mlflow, pandas, pyarrow'
}

pins=$(cat tools/dev/peers.txt tools/dev/torch_without_cuda.py - <<<"${torch_cpu_wheels[*]}" |
  sha256sum)
folder=$(cache_folder)/peers-${pins:0:12}
mkdir -p "$(cache_folder)"
exec 9>"$(cache_folder)/peers.lock"
flock 9
if [[ ! -e $folder/complete ]]; then
  rm -rf "$(cache_folder)"/peers-*
  log=$(cache_folder)/peers.log
  if ! install_peers "$folder" >"$log" 2>&1; then
    echo "torch, wandb and mlflow cannot be installed: $(tail -n 1 "$log") (the whole log is $log)"
    exit 1
  fi
  touch "$folder/complete"
fi
echo "$folder/bin/python"
