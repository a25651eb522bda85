#!/usr/bin/env bash
# 50 ranks killed at random (KEDGE_KILLS: another number) cost nothing: the weights are bit for bit
# those of a training that never was, whether they are killed in steps, saves or resumes, and
# whether they go on from the disk or from memory. Then machines that are cut off, killed, and lost
# for good, and a node of a Slurm job.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")/../dist
python3 "$here/elastic.py" --kills "${KEDGE_KILLS:-50}" --seed "$RANDOM" \
  a_killed_rank_costs_nothing kills_while_saving_and_resuming_cost_nothing \
  a_killed_rank_goes_on_from_memory
python3 "$here/machines.py"
exec python3 "$here/../slurm/jobs.py" "$here/../../build/bin/kedge" two_nodes_survive_a_killed_one
