#!/usr/bin/env bash
# A training killed 200 times (KEDGE_KILLS: another number) ends as one that never was, bit for bit.
# See tests/resume/kill.py.
set -euo pipefail
kills=${KEDGE_KILLS:-200}
exec python3 "$(dirname "${BASH_SOURCE[0]}")/../resume/kill.py" \
  --kills "$kills" --epochs "$((kills * 12 / 10))" --seed "$RANDOM"
