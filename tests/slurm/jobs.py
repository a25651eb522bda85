#!/usr/bin/env python3
"""kedge's jobs on real Slurm daemons: nothing runs twice, nothing is forgotten.

Usage: jobs.py KEDGE [NAME ...]      the tests of these names only

One cluster of three nodes on this machine serves all tests, several at a time.
"""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import courses  # noqa: E402
import faults  # noqa: E402
from bench import Bench  # noqa: E402
from cluster import Cluster, missing  # noqa: E402

ALONE = [faults.controller_away, faults.killed_controller_reuses_ids]
TOGETHER = [
    faults.killed_node_gives_the_job_to_another,
    courses.training_goes_on_to_the_same_weights,
    courses.slurm_time_limit_stops_in_time,
    courses.exit_85_runs_again_until_done,
    courses.chained_jobs_follow_each_other,
    courses.test_job_goes_first,
    faults.cancelled_stays_cancelled,
    courses.array_keeps_to_its_cap,
    courses.large_array_is_submitted_in_parts,
    courses.parts_keep_to_the_cap_together,
    courses.advice_knows_the_site,
    courses.dependencies_are_kept,
    courses.steps_wait_for_each_other,
    courses.sweep_of_12_is_an_array,
    courses.retried_trials_run_again,
    courses.tutorial_array_works_on_a_sweep,
    courses.ranks_meet,
    faults.refusals_are_clear,
    faults.directives_override_nothing,
    faults.secrets_stay_out,
    faults.cancelled_jobs_keep_no_secrets,
    faults.held_jobs_say_how_they_go_on,
    faults.interrupted_submit_leaves_one_job,
    faults.slow_sbatch_runs_a_job_once,
    faults.late_sbatch_runs_nothing,
    faults.full_disk_is_said,
    faults.full_disk_on_the_node_is_said,
]
# Only by name: ./dev soak ranks.
LONG = [faults.two_nodes_survive_a_killed_one]


def run(test, cluster: Cluster, kedge: str, folder: pathlib.Path) -> bool:
    begun = time.monotonic()
    try:
        test(Bench(cluster, kedge, folder / test.__name__))
    except Exception:  # all tests are run, and all that failed are told
        print(f"FAILED {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False
    print(f"ok     {test.__name__} {time.monotonic() - begun:.1f} s", flush=True)
    return True


def main() -> int:
    kedge = str(pathlib.Path(sys.argv[1]).resolve())
    names = set(sys.argv[2:])
    lacking = missing()
    if lacking:
        print(f"skipped: {', '.join(lacking)} not installed")
        return 0
    together = [test for test in TOGETHER if not names or test.__name__ in names]
    alone = [test for test in ALONE if not names or test.__name__ in names]
    alone += [test for test in LONG if test.__name__ in names]
    with tempfile.TemporaryDirectory(prefix="kedge-slurm-", dir="/tmp") as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        cluster = Cluster(folder / "c")
        try:
            cluster.start()
            with concurrent.futures.ThreadPoolExecutor(len(TOGETHER)) as pool:
                done = list(pool.map(lambda t: run(t, cluster, kedge, folder), together))
            done += [run(test, cluster, kedge, folder) for test in alone]
        finally:
            cluster.stop()
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
