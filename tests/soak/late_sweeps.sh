#!/usr/bin/env bash
# 32 agents on one sweep whose folder is on four machines: mounts that cache names and attributes
# for a second and show what the others made half a second late. 100 of the agents are killed
# (KEDGE_KILLS: another number), and then all of one machine; none of the trials is lost or run
# twice. See tests/sweep/agents.py and late_fs.py. Needs root, /dev/fuse, and fusepy for python3 or
# for Debian's own (apt install python3-fusepy libfuse2).
set -euo pipefail
kills=${KEDGE_KILLS:-100}
here=$(dirname "${BASH_SOURCE[0]}")/../sweep
python=python3
"$python" "$here/late_fs.py" --help >/dev/null 2>&1 || python=/usr/bin/python3
exec "$python" "$here/agents.py" build/bin/kedge --agents 32 --nodes 4 \
  --trials "$((kills * 2))" --kills "$kills" --seed "$RANDOM" --timeout 1800
