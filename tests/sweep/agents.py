"""Many agents on one sweep, killed at random: no trial is lost, none is run twice.

Agents are killed with SIGKILL and replaced until the sweep has ended. Each trial's program notes
its start and its end; a second start while the first still runs is a failure, as is a trial
without exactly one result, and values that were handed out twice.

--nodes N: the folder is on late_fs.py, mounted N times (root, FUSE). --server: the state is on a
`kedge server` that is killed and restarted --restarts times instead.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PROGRAM = """#!/bin/sh
# Notes each start; says so when an earlier start of the same trial is still alive.
note=$LEDGER/$KEDGE_SWEEP_TRIAL
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


class Nodes:
    """The folder as several machines see it: late_fs.py mounts, each in a namespace of its own."""

    def __init__(self, folder: pathlib.Path, count: int):
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.servers = []
        self.mounts = []
        if count == 0:
            return
        (folder / "backing").mkdir()
        program = pathlib.Path(__file__).with_name("late_fs.py")
        for i in range(count):
            mount = folder / f"node{i}"
            mount.mkdir()
            words = [sys.executable, str(program), str(folder / "backing"), str(mount)]
            self.servers.append(subprocess.Popen(words))
            self.mounts.append(mount)
        for mount, server in zip(self.mounts, self.servers):
            while not os.path.ismount(mount):
                if server.poll() is not None:
                    sys.exit("late_fs.py could not mount: FUSE, fusepy and root are needed")
                time.sleep(0.1)

    def words(self, node: int, command: list[str]) -> list[str]:
        if not self.mounts:
            return command
        mount = self.mounts[node % len(self.mounts)]
        script = f'mount --bind {mount} {self.shared} && cd {self.shared} && exec "$@"'
        return ["unshare", "-m", "sh", "-c", script, "sh", *command]

    def close(self) -> None:
        for mount, server in zip(self.mounts, self.servers):
            subprocess.run(["umount", "-l", str(mount)], check=False)
            server.terminate()
            server.wait()


class Server:
    """A tracking server that can be killed and started again on the same port and data."""

    def __init__(self, kedge: str, folder: pathlib.Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.words = [kedge, "server", "--port", str(self.port), "--data", str(folder / "data")]
        self.log = open(folder / "server.log", "w")
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.words, stdout=self.log, stderr=self.log)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url + "/api/v1/sweeps", timeout=5).read()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not answer")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def run(kedge: str, folder: pathlib.Path, options, nodes: Nodes, server: Server | None) -> int:
    (folder / "ledger").mkdir()
    environment = os.environ | {"LEDGER": str(folder / "ledger")}
    home = folder / "backing" if options.nodes else nodes.shared
    program = home / "work.sh"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    (home / "sweep.yaml").write_text(SWEEP.format(method=options.method, trials=options.trials))
    if options.nodes:
        time.sleep(2)  # until all nodes see the files
    place = ["--server", server.url] if server else []

    def call(*words: str) -> dict:
        done = subprocess.run(
            nodes.words(0, [kedge, *words, *place, "--json"]),
            cwd=nodes.shared,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            sys.exit(done.stderr)
        return json.loads(done.stdout)

    sweep_id = call("sweep", "sweep.yaml", "--agents", "0")["id"]
    dice = random.Random(options.seed)
    log = open(folder / "agents.log", "w")

    def start(node: int) -> subprocess.Popen:
        agent = subprocess.Popen(
            nodes.words(node, [kedge, "agent", sweep_id, "--wait", *place]),
            cwd=nodes.shared,
            env=environment,
            stdout=log,
            stderr=log,
        )
        agent.node = node
        return agent

    agents = [start(i) for i in range(options.agents)]
    kills = 0
    restarts = 0
    deadline = time.monotonic() + options.timeout
    while agents and time.monotonic() < deadline:
        if kills < options.kills:
            victim = dice.randrange(len(agents))
            if agents[victim].poll() is None:
                agents[victim].send_signal(signal.SIGKILL)
                agents[victim].wait()
                agents[victim] = start(agents[victim].node)
                kills += 1
        if server and restarts < options.restarts and dice.random() < 0.1:
            server.kill()
            time.sleep(dice.uniform(0, 2))
            server.start()
            restarts += 1
        time.sleep(dice.uniform(0.02, 0.2))
        agents = [agent for agent in agents if agent.poll() is None]
    for agent in agents:
        agent.terminate()
    shown = call("sweep", "show", sweep_id)
    if server:
        print(f"the server was killed and restarted {restarts} times")
    problems = judge(shown, folder, options, kills, len(agents))
    if problems:
        print((folder / "agents.log").read_text()[-4000:])
    return problems


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
    # An agent may be killed between its program's end and the result.
    again = sum(ends.read_text().count("done") - 1 for ends in (folder / "ledger").glob("*.ends"))
    starts = sum(len(pids.read_text().split()) for pids in (folder / "ledger").glob("*.pids"))
    print(
        f"{options.agents} agents, {kills} of them killed: {len(trials)} trials, {starts} starts,"
        f" {again} ran to the end again, {len(problems)} problems"
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
    parser.add_argument("--nodes", type=int, default=0, help="mounts of late_fs.py")
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--restarts", type=int, default=3)
    options = parser.parse_args()
    kedge = str(pathlib.Path(options.kedge).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-sweep-") as name:
        folder = pathlib.Path(name)
        nodes = Nodes(folder, options.nodes)
        server = Server(kedge, folder) if options.server else None
        try:
            return run(kedge, folder, options, nodes, server)
        finally:
            nodes.close()
            if server:
                server.kill()


if __name__ == "__main__":
    sys.exit(main())
