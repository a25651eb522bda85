#!/usr/bin/env python3
"""Two machines, as namespaces with networks, names and memory of their own: they meet, train as
one, and survive a cut network, dead supervisors, and memory that only the other one still has.

Usage: machines.py [--bin FOLDER] [CLAIM...]      (as root; skipped where namespaces cannot be made)
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from elastic import CONFIG, PATIENCE_S, kill, ranks_of, step_of, wait_for
from trainings import ROOT, checkpoint_of, clean_environment, largest_difference, state_of, train

NET = "10.77.41"
PORT = 29577


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


class Machines:
    """Two namespaces a and b with a cable between them."""

    def __init__(self):
        self.names = [f"kedge{os.getpid()}{end}" for end in "ab"]
        self.links = [f"k{os.getpid() % 100000}{end}" for end in "ab"]

    def __enter__(self):
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", self.links[0], "type", "veth", "peer", "name", self.links[1])
        for i, (name, link) in enumerate(zip(self.names, self.links)):
            run("ip", "link", "set", link, "netns", name)
            inside = ("ip", "netns", "exec", name, "ip")
            run(*inside, "addr", "add", f"{NET}.{i + 1}/24", "dev", link)
            run(*inside, "link", "set", link, "up")
            run(*inside, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def plug(self, state: str) -> None:
        inside = ("ip", "netns", "exec", self.names[1], "ip")
        run(*inside, "link", "set", self.links[1], state)


class Supervisor:
    """`kedge train` on one of the machines, and what it has printed."""

    def __init__(
        self, machines: Machines, index: int, args, folder: pathlib.Path, values, trainer=None
    ):
        """`trainer` stands in for kedge-train on this machine."""
        shell = f'hostname machine{"ab"[index]} && mount -t tmpfs tmpfs /dev/shm && '
        if trainer:
            shell += f"mount --bind {trainer} {args.kedge}-train && "
        shell += 'exec "$@"'
        command = ["ip", "netns", "exec", machines.names[index]]
        command += ["unshare", "--uts", "--mount", "sh", "-c", shell, "sh"]
        command += [str(args.kedge), "train"]
        command += [str(folder / "config.yaml"), *values]
        self.lines = []
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def has_said(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    def memory(self) -> pathlib.Path:
        """Its /dev/shm, seen from here."""
        return pathlib.Path("/proc", str(self.process.pid), "root", "dev/shm")

    def has_replica(self) -> bool:
        return any(self.memory().glob("kedge-*/*/*/step-????????"))

    def end(self) -> int:
        try:
            return self.process.wait(timeout=PATIENCE_S)
        finally:
            self.process.kill()
            self.reader.join()

    def text(self) -> str:
        return "".join(self.lines)


def start_both(machines: Machines, args, folder: pathlib.Path, run_id: str, *values: str) -> list:
    shared = [f"run.id={run_id}", "dist.nodes=2", f"dist.endpoint={NET}.1:{PORT}", *values]
    return [Supervisor(machines, i, args, folder, shared) for i in range(2)]


def expect_end(both: list, codes: tuple) -> None:
    for supervisor, code in zip(both, codes):
        if supervisor.end() != code:
            text = "\n---\n".join(one.text() for one in both)
            sys.exit(f"it ended with {supervisor.process.returncode}, not {code}:\n{text}")


def a_cut_network_ends_in_a_report_and_a_restart(machines, args, folder) -> None:
    values = ("dist.ranks=2", "train.epochs=40", "model.dropout=0", "train.precision=fp64")
    train(args.kedge, folder, "whole", *values[1:])
    both = start_both(machines, args, folder, "cut", *values)
    wait_for("a first checkpoint", lambda: step_of(folder, "cut") > 0, both[0].process)
    machines.plug("down")
    cut = time.monotonic()
    wait_for("a report", lambda: both[0].has_said("has not been heard for"), both[0].process)
    reported = time.monotonic() - cut
    wait_for("the other's", lambda: both[1].has_said("has lost the first machine"))
    machines.plug("up")
    expect_end(both, (0, 0))
    difference, tensor = largest_difference(
        checkpoint_of(folder, "cut"), checkpoint_of(folder, "whole")
    )
    if difference > 1e-9:
        sys.exit(f"{tensor} differs by {difference:.1e} from one process")
    cut_state, whole_state = (state_of(checkpoint_of(folder, run)) for run in ("cut", "whole"))
    for key in ("samples", "samples_hash"):
        if cut_state[key] != whole_state[key]:
            sys.exit(f"{key} is {cut_state[key]}, not {whole_state[key]}")
    print(f"reported {reported:.0f} s after the cut; joined again and finished; the same weights")


def the_rest_goes_on_without_a_dead_machine(machines, args, folder) -> None:
    values = ("dist.ranks=1", "dist.min_nodes=1", "train.epochs=60", "model.dropout=0")
    both = start_both(machines, args, folder, "dead", *values, "dist.init_timeout=30s")
    wait_for("a first checkpoint", lambda: step_of(folder, "dead") > 0, both[0].process)
    both[1].process.send_signal(signal.SIGKILL)
    both[1].end()
    expect_end(both[:1], (0,))
    if not both[0].has_said("its supervisor is gone"):
        sys.exit(f"nobody said that a machine is gone:\n{both[0].text()}")
    print("a killed supervisor takes its machine out; the other one finished alone")


def a_replica_comes_from_the_other_machine(machines, args, folder) -> None:
    values = ("train.epochs=60", "train.eval_every=0", "checkpoint.every=never")
    values += ("model.dropout=0", "train.precision=fp64")
    train(args.kedge, folder, "whole", *values)
    both = start_both(machines, args, folder, "memory", "dist.replicas=1 steps", *values)
    wait_for("replicas", lambda: all(one.has_replica() for one in both), both[0].process)
    kill(ranks_of(both[0].process.pid)[0])
    for folder_of_user in both[0].memory().glob("kedge-*"):
        shutil.rmtree(folder_of_user, ignore_errors=True)
    expect_end(both, (0, 0))
    if not both[0].has_said("from the memory of machineb"):
        sys.exit(f"it did not go on from the other's memory:\n{both[0].text()}")
    difference, tensor = largest_difference(
        checkpoint_of(folder, "memory"), checkpoint_of(folder, "whole")
    )
    if difference > 1e-9:
        sys.exit(f"{tensor} differs by {difference:.1e} from one process")
    print("one machine's memory was lost: the state came from the other's; the same weights")


def the_first_machine_may_be_lost(machines, args, folder) -> None:
    values = ("dist.min_nodes=1", "train.epochs=60", "model.dropout=0", "train.precision=fp64")
    train(args.kedge, folder, "whole", *values[1:])
    both = start_both(machines, args, folder, "first", *values)
    wait_for("a first checkpoint", lambda: step_of(folder, "first") > 0, both[0].process)
    both[0].process.send_signal(signal.SIGKILL)
    both[0].end()
    expect_end(both[1:], (0,))
    if not both[1].has_said("is lost; machineb decides now"):
        sys.exit(f"nobody took over:\n{both[1].text()}")
    difference, tensor = largest_difference(
        checkpoint_of(folder, "first"), checkpoint_of(folder, "whole")
    )
    if difference > 1e-9:
        sys.exit(f"{tensor} differs by {difference:.1e} from one process")
    print("the first machine was lost for good: the other one decided, and finished alone")


def a_machine_where_ranks_crash_is_left_out(machines, args, folder) -> None:
    trainer = folder / "crashes"
    trainer.write_text("#!/bin/sh\nkill -9 $$\n")
    trainer.chmod(0o755)
    values = ["run.id=bad", "dist.nodes=2", f"dist.endpoint={NET}.1:{PORT}"]
    values += ["dist.min_nodes=1", "train.epochs=5"]
    both = [Supervisor(machines, 0, args, folder, values)]
    both.append(Supervisor(machines, 1, args, folder, values, trainer))
    expect_end(both, (0, 1))
    if not both[1].has_said("machineb is left out after 3 failures"):
        sys.exit(f"it was not left out:\n{both[1].text()}")
    print("ranks crashed three times on one machine: it was left out, the other one finished")


CLAIMS = [
    a_cut_network_ends_in_a_report_and_a_restart,
    the_rest_goes_on_without_a_dead_machine,
    a_replica_comes_from_the_other_machine,
    the_first_machine_may_be_lost,
    a_machine_where_ranks_crash_is_left_out,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claims", nargs="*", default=[claim.__name__ for claim in CLAIMS])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    args = parser.parse_args()
    args.kedge = args.bin.resolve() / "kedge"
    try:
        machines = Machines()
        machines.__enter__()
    except (OSError, subprocess.CalledProcessError):
        machines.__exit__()
        print("skipped: network namespaces cannot be made here")
        return
    try:
        for claim in (claim for claim in CLAIMS if claim.__name__ in args.claims):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-machines-"))
            (folder / "config.yaml").write_text(CONFIG)
            claim(machines, args, folder)
            shutil.rmtree(folder)
    finally:
        machines.__exit__()


if __name__ == "__main__":
    main()
