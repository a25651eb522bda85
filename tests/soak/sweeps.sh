#!/usr/bin/env bash
# 32 agents on one sweep of 400 trials, 200 of them killed (KEDGE_KILLS: another number): none of
# the trials is lost or run twice. See tests/sweep/agents.py.
set -euo pipefail
kills=${KEDGE_KILLS:-200}
exec python3 "$(dirname "${BASH_SOURCE[0]}")/../sweep/agents.py" build/bin/kedge --agents 32 \
  --trials "$((kills * 2))" --kills "$kills" --seed "$RANDOM" --timeout 1800
