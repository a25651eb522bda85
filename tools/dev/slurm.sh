# Usage: tools/dev/slurm.sh
#
# Slurm 24.11 beside Debian 12's 22.05, for tests/slurm: unpacks Debian 13's (10 s, 108 MB) and
# prints the folder for SLURM_PREFIX. Its JSON differs from 22.05's. Ends with 1 and the reason
# where that cannot be done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/dev/terminal.sh
source tools/dev/machine.sh
source tools/dev/unpack.sh

finish_slurm() {
  local prefix=$1 name
  local libraries=$prefix/usr/lib/x86_64-linux-gnu
  use_own_libraries "$prefix" "$libraries:$libraries/slurm-wlm:$libraries/slurm" \
    "$prefix"/usr/bin/s* "$prefix"/usr/sbin/slurm*
  mkdir -p "$prefix/path"
  # The daemons look at the name they are started by.
  for name in slurmctld slurmd slurmstepd; do
    ln -sfn "$prefix/usr/sbin/$name-wlm" "$prefix/path/$name"
  done
  ln -sfn "$prefix/usr/sbin/slurmdbd" "$prefix/path/slurmdbd"
  for name in sacct sacctmgr sbatch scancel scontrol sinfo squeue srun; do
    ln -sfn "$prefix/usr/bin/$name" "$prefix/path/$name"
  done
  "$prefix/path/slurmctld" -V
}

case ${1:-} in
  -h | --help) print_usage tools/dev/slurm.sh; exit 0 ;;
esac
unpack_once slurm-24 \
  slurmctld,slurmd,slurm-client,slurmdbd,slurm-wlm-mysql-plugin,slurm-wlm-basic-plugins,libc6 \
  finish_slurm
