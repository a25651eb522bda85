"""Many agents on one sweep folder, killed at random: no trial is lost, none is run twice.

Agents are killed with SIGKILL and replaced until the sweep has ended. Each trial's program notes
its start and its end; a second start while the first still runs is a failure, as is a trial without
exactly one result, and values that were handed out twice.
"""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """#!/bin/sh
# Notes each start; says so when an earlier start of the same trial is still alive.
note=ledger/$KEDGE_SWEEP_TRIAL
for pid in $(cat $note.pids 2>/dev/null); do
  kill -0 $pid 2>/dev/null && echo "$pid beside $$" >> $note.twice
done
echo $$ >> $note.pids
sleep 0.$(($$ % 4 + 1))
echo "loss = 0.$KEDGE_SWEEP_TRIAL"
echo done >> $note.ends
"""

SWEEP = """
program: work.sh
method: {method}
metric: {{name: loss}}
run_cap: {trials}
parameters:
  x: {{min: 0.0, max: 1.0}}
  y: {{values: [a, b, c]}}
"""


def run(kedge: str, folder: pathlib.Path, options) -> int:
    (folder / "ledger").mkdir()
    program = folder / "work.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    sweep = folder / "sweep.yaml"
    sweep.write_text(SWEEP.format(method=options.method, trials=options.trials))
    made = subprocess.run(
        [kedge, "sweep", "sweep.yaml", "--agents", "0", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    sweep_id = json.loads(made.stdout)["id"]
    dice = random.Random(options.seed)

    def start() -> subprocess.Popen:
        return subprocess.Popen(
            [kedge, "agent", sweep_id, "--wait"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    agents = [start() for _ in range(options.agents)]
    kills = 0
    deadline = time.monotonic() + options.timeout
    while agents and time.monotonic() < deadline:
        if kills < options.kills:
            victim = dice.randrange(len(agents))
            if agents[victim].poll() is None:
                agents[victim].send_signal(signal.SIGKILL)
                agents[victim].wait()
                agents[victim] = start()
                kills += 1
        time.sleep(dice.uniform(0.02, 0.2))
        agents = [agent for agent in agents if agent.poll() is None]
    for agent in agents:
        agent.terminate()
    shown = subprocess.run(
        [kedge, "sweep", "show", sweep_id, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return judge(json.loads(shown.stdout), folder, options, kills, len(agents))


def judge(shown: dict, folder: pathlib.Path, options, kills: int, left: int) -> int:
    trials = shown["trials"]
    problems = []
    if left:
        problems.append(f"{left} agents were still at it after {options.timeout} s")
    if len(trials) != options.trials:
        problems.append(f"{len(trials)} trials were handed out, not {options.trials}")
    for trial in trials:
        if trial["state"] != "finished":
            problems.append(f"trial {trial['trial']} is {trial['state']}: {trial.get('message')}")
    values = [json.dumps(trial["values"], sort_keys=True) for trial in trials]
    if len(set(values)) != len(values):
        problems.append(f"{len(values) - len(set(values))} values came twice")
    for twice in (folder / "ledger").glob("*.twice"):
        problems.append(f"trial {twice.stem} ran twice at once: {twice.read_text().strip()}")
    starts = sum(len(pids.read_text().split()) for pids in (folder / "ledger").glob("*.pids"))
    print(
        f"{options.agents} agents, {kills} of them killed: {len(trials)} trials, {starts} starts,"
        f" {len(problems)} problems"
    )
    for problem in problems:
        print("  " + problem)
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kedge")
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--method", default="random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    kedge = str(pathlib.Path(options.kedge).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-sweep-") as folder:
        return run(kedge, pathlib.Path(folder), options)


if __name__ == "__main__":
    sys.exit(main())
