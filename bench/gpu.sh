# Usage: bench/gpu.sh [options of bench/gpu.py]
#
# kedge beside PyTorch on this machine's GPU. Needs `./dev build --torch cuda` (or --torch python)
# and a Python with torch and torchvision: KEDGE_PEER_PYTHON, else python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec "${KEDGE_PEER_PYTHON:-python3}" bench/gpu.py "$@"
