# Usage: tools/dev/condor.sh
#
# Real HTCondor for tests/condor: prints a folder to put on PATH. Debian 12 has no package of it, so
# Debian 13's is unpacked (15 s, 231 MB). Ends with 1 and the reason where that cannot be done.
# Where condor_master is on PATH already, that one is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh
source tools/dev/unpack.sh

finish_condor() {
  local prefix=$1
  local libraries=$prefix/usr/lib/x86_64-linux-gnu
  use_own_libraries "$prefix" "$libraries:$prefix/usr/lib:$prefix/usr/lib/condor" \
    "$prefix"/usr/bin/*condor* "$prefix"/usr/bin/classad_* "$prefix"/usr/sbin/*condor* \
    "$prefix"/usr/libexec/condor/*
  # usr/bin holds Debian 13's own tools too, which must not come before this machine's.
  mkdir -p "$prefix/path"
  ln -sf "$prefix"/usr/bin/*condor* "$prefix"/usr/bin/classad_* "$prefix"/usr/sbin/*condor* \
    "$prefix/path/"
  "$prefix/path/condor_version"
}

case ${1:-} in
  -h | --help) print_usage tools/dev/condor.sh; exit 0 ;;
esac
if command -v condor_master >/dev/null; then
  dirname "$(command -v condor_master)"
  exit 0
fi
found=$(unpack_once condor-23 condor,libc6,libstdc++6,libgcc-s1 finish_condor) ||
  { echo "$found"; exit 1; }
echo "$found/path"
