#!/usr/bin/env bash
# 50 ranks killed at random (KEDGE_KILLS: another number) cost nothing: the weights are bit for bit
# those of a training that never was. Then two machines with a cut network between them.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")/../dist
python3 "$here/elastic.py" --kills "${KEDGE_KILLS:-50}" --seed "$RANDOM" \
  a_killed_rank_costs_nothing
exec python3 "$here/machines.py"
