# Usage: ./dev clean [--all]
#
# Removes the build folders (build/, build-*/).
#
#   --all   also libtorch, the lint tools and what tests compare with, in
#           ${XDG_CACHE_HOME:-~/.cache}/kedge
#
# Runs, data and checkpoints are never touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh

all=0
while (($#)); do
  case $1 in
    -h | --help) print_usage tools/dev/clean.sh; exit 0 ;;
    --all) all=1 ;;
    *) usage_error "clean: unknown option '$1'" ;;
  esac
  shift
done

rm -rf build build-*/
if ((all)); then
  rm -rf "$(cache_folder)"/{libtorch,clang-format,clang-tidy,peers}-*
fi
