#!/usr/bin/env bash
# Every way into a server, which is killed 50 times (KEDGE_KILLS: another number) during pushes and
# as often during syncs. See tests/server/ingest.py.
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/../server/ingest.py" \
  --kills "${KEDGE_KILLS:-50}" --seed "$RANDOM"
