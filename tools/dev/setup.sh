# Usage: ./dev setup [--torch KIND] [--lint]
#
# Installs the Debian or Ubuntu packages that are missing (as root; otherwise prints the one
# command to ask for) and fetches libtorch, and Node where there is none of version 18 or newer,
# into ${XDG_CACHE_HOME:-~/.cache}/kedge.
#
#   --torch auto     what this build folder used before, else cuda where there is an NVIDIA
#                    GPU and cpu where there is none (the default)
#   --torch cpu      the PyPI wheel's CPU part: 745 MB to download, 0.5 GB on disk
#   --torch cuda     the same with everything CUDA needs: 2.4 GB to download, 3.7 GB on disk
#   --torch python   the torch >= 2.8 of the current python3
#   --torch DIR      a folder that holds torch/include and torch/lib
#   --lint           also fetch clang-format and clang-tidy
#
# The choice is remembered in build/torch-kind. A second call does nothing and takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

kind=auto
want_lint=0
while (($#)); do
  case $1 in
    -h | --help) print_usage tools/dev/setup.sh; exit 0 ;;
    --torch) kind=${2:?--torch needs auto, cpu, cuda, python or a folder}; shift ;;
    --torch=*) kind=${1#--torch=} ;;
    --lint) want_lint=1 ;;
    *) usage_error "setup: unknown option '$1'" ;;
  esac
  shift
done

remember_torch_kind "$kind"
install_packages
fetch_torch
cuda_folder >/dev/null
find_node >/dev/null
if ((want_lint)); then
  find_clang_tool clang-format >/dev/null
  find_clang_tool clang-tidy >/dev/null
fi
say "ready: libtorch at $(torch_folder)"
