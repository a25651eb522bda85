"""Many agents on one sweep, killed at random: no trial is lost, none is run twice.

Agents are killed with SIGKILL and replaced until the sweep has ended. Each trial's program notes
its start and its end; a second start while the first still runs is a failure, as is a trial
without exactly one result, and values that were handed out twice.

--nodes N: the folder is on late_fs.py, mounted N times (root, FUSE), and each mount has a host name
of its own; after half of the kills the last of these machines is lost with all its agents, which
others learn only from the agents' silence. --server: the state is on a `kedge server` that is
killed and restarted --restarts times instead.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))

from server_process import free_port  # noqa: E402

LATE_FS = pathlib.Path(__file__).with_name("late_fs.py")

PROGRAM = """#!/bin/sh
# Notes each start; says so when an earlier start of the same trial is still alive.
note=$LEDGER/$KEDGE_SWEEP_TRIAL
for pid in $(cat $note.pids 2>/dev/null); do
  kill -0 $pid 2>/dev/null && echo "$pid beside $$" >> $note.twice
done
echo $$ >> $note.pids
cat /proc/sys/kernel/hostname >> $note.hosts
sleep $(($$ % ${LONGEST_S:-1})).$(($$ % 4 + 1))
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
        for i in range(count):
            mount = folder / f"node{i}"
            mount.mkdir()
            words = [sys.executable, str(LATE_FS), str(folder / "backing"), str(mount)]
            self.servers.append(subprocess.Popen(words))
            self.mounts.append(mount)
        for mount, server in zip(self.mounts, self.servers):
            while not os.path.ismount(mount):
                if server.poll() is not None:
                    sys.exit("late_fs.py could not mount")
                time.sleep(0.1)

    def words(self, node: int, command: list[str]) -> list[str]:
        if not self.mounts:
            return command
        mount = self.mounts[node % len(self.mounts)]
        script = (
            f"echo {mount.name} > /proc/sys/kernel/hostname"
            f' && mount --bind {mount} {self.shared} && cd {self.shared} && exec "$@"'
        )
        return ["unshare", "--mount", "--uts", "sh", "-c", script, "sh", *command]

    def is_last(self, node: int) -> bool:
        return bool(self.mounts) and node % len(self.mounts) == len(self.mounts) - 1

    def close(self) -> None:
        for mount, server in zip(self.mounts, self.servers):
            subprocess.run(["umount", "-l", str(mount)], check=False)
            server.terminate()
            server.wait()


def lacks_fuse() -> str:
    """What late_fs.py needs and this machine lacks."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse"
    if subprocess.run([sys.executable, str(LATE_FS), "--help"], capture_output=True).returncode:
        return f"{sys.executable} has no fusepy, or there is no libfuse.so.2"
    return ""


class Server:
    """A tracking server that can be killed and started again on the same port and data."""

    def __init__(self, kedge: str, folder: pathlib.Path):
        self.port = free_port()
        self.words = [kedge, "server", "--port", str(self.port), "--data", str(folder / "data")]
        self.log = open(folder / "server.log", "w")
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.words, stdout=self.log, stderr=self.log)
        for _ in range(600):
            try:
                urllib.request.urlopen(self.url + "/health", timeout=5).read()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server does not answer")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def run(kedge: str, folder: pathlib.Path, options, nodes: Nodes, server: Server | None) -> int:
    (folder / "ledger").mkdir()
    # Files that are seen late make agents slow: longer trials, so that most of them have one.
    slowness = 8 if options.nodes else 1
    environment = os.environ | {"LEDGER": str(folder / "ledger"), "LONGEST_S": str(slowness)}
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
    refused = 0
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
        if kills >= options.kills / 2:
            for agent in agents:  # once: nobody is started there again
                if nodes.is_last(agent.node):
                    agent.kill()
                    agent.wait()
        time.sleep(slowness * dice.uniform(0.02, 0.2))
        refused += sum(agent.poll() not in (None, 0, -signal.SIGKILL) for agent in agents)
        agents = [agent for agent in agents if agent.poll() is None]
    for agent in agents:
        agent.terminate()
    shown = call("sweep", "show", sweep_id)
    if server:
        print(f"the server was killed and restarted {restarts} times")
    # Agents may well end where the server is away as they start.
    seen = [] if server else find_repeated(home, folder / "ledger")
    if refused and not server:
        seen.append(f"{refused} agents ended with an error")
    problems = judge(shown, folder, options, kills, len(agents), seen)
    if problems:
        print((folder / "agents.log").read_text()[-4000:])
    return problems


def find_repeated(home: pathlib.Path, ledger: pathlib.Path) -> list[str]:
    """Trials that ran to the end more often than agents killed just before the result explain."""
    repeated = []
    for folder in home.glob("sweeps/*/trials/*/attempts"):
        attempts = [json.loads(one.read_text()) for one in sorted(folder.glob("*.json"))]
        ends = ledger / f"{folder.parent.name}.ends"
        killed = sum(attempt["state"] == "running" for attempt in attempts)
        if ends.exists() and len(ends.read_text().split()) - 1 > killed:
            known = ["host", "pid", "started", "ended", "state"]
            lines = ["  ".join(str(one[key]) for key in known) for one in attempts]
            repeated.append("\n    ".join([f"{ends.stem} was run again after its end:", *lines]))
    return repeated


def judge(shown: dict, folder: pathlib.Path, options, kills: int, left: int, seen: list) -> int:
    trials = shown["trials"]
    problems = list(seen)
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
    hosts = [set(file.read_text().split()) for file in (folder / "ledger").glob("*.hosts")]
    moved = sum(len(names) > 1 for names in hosts)
    print(
        f"{options.agents} agents, {kills} of them killed: {len(trials)} trials, {starts} starts,"
        f" {moved} on another machine, {again} ran to the end again, {len(problems)} problems"
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
    if options.nodes and lacks_fuse():
        print(f"skipped: {lacks_fuse()}")
        return 0
    kedge = str(pathlib.Path(options.kedge).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-sweep-") as name:
        folder = pathlib.Path(name)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")  # where the server's key is
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
