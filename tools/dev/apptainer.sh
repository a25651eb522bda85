# Usage: tools/dev/apptainer.sh
#
# A real Apptainer for tests/container: prints a folder to put on PATH. Of Debian only the unstable
# release has a package of it, which is unpacked (12 s, 180 MB); it changes from day to day, so that
# ./dev test does not depend on it. Ends with 1 and the reason where that cannot be done.
# Where apptainer is on PATH already, that one is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh
source tools/dev/unpack.sh

finish_apptainer() {
  local prefix=$1
  local libraries=$prefix/usr/lib/x86_64-linux-gnu
  use_own_libraries "$prefix" "$libraries" "$prefix"/usr/bin/{apptainer,mksquashfs,unsquashfs} \
    "$libraries"/apptainer/bin/*
  # Built without setuid it looks for its own files from where it lies: `apptainer` below usr, its
  # `starter` below usr/lib.
  ln -sfn ../etc "$prefix/usr/etc"
  ln -sfn ../../etc "$prefix/usr/lib/etc"
  mkdir -p "$prefix"/usr/{lib/,}var/lib/apptainer/mnt/session
  # usr/bin holds other tools of that release too, which must not come before this machine's.
  mkdir -p "$prefix/path"
  ln -sf "$prefix"/usr/bin/{apptainer,mksquashfs,unsquashfs} "$prefix/path/"
  "$prefix/path/apptainer" version
}

case ${1:-} in
  -h | --help) print_usage tools/dev/apptainer.sh; exit 0 ;;
esac
if command -v apptainer >/dev/null; then
  dirname "$(command -v apptainer)"
  exit 0
fi
found=$(unpack_once apptainer apptainer,libc6 finish_apptainer sid) || { echo "$found"; exit 1; }
echo "$found/path"
