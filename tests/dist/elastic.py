#!/usr/bin/env python3
"""Ranks that are killed, stopped, started by others, or resumed in another number.

Usage: elastic.py [--bin FOLDER] [--kills N] [--seed S] [CLAIM...]
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from trainings import (
    ROOT,
    checkpoint_of,
    clean_environment,
    largest_difference,
    read_part,
    state_of,
    train,
    train_command,
)

# Dropout draws random numbers on every rank; 90 samples leave a last batch of 6.
CONFIG = """
data: {name: synthetic, samples: 100, image_size: 16, channels: 1, val_ratio: 0.1}
model: {name: mlp, hidden: [64, 32], dropout: 0.2}
loader: {batch_size: 12, workers: 0}
optimizer: {name: adamw, lr: 0.001}
train: {threads: 1, log_every: 1, eval_every: 3}
checkpoint: {every: 5 steps, keep_last: 3}
track: {predictions: 0, system_every: 0}
dist: {restarts: 1000}
"""
CLOCKS = {"train_seconds", "epoch_seconds", "attempt", "run", "config"}
PATIENCE_S = 600  # of a busy machine


def wait_for(what: str, found, process=None, pause_s: float = 0.01):
    """The first true answer of `found`."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if answer := found():
            return answer
        if process is not None and process.poll() is not None:
            sys.exit(f"it ended with {process.returncode} before {what}")
        time.sleep(pause_s)
    return sys.exit(f"no {what} after {PATIENCE_S} s")


def ranks_of(supervisor: int) -> dict:
    """Rank -> pid of the processes that the supervisor has started."""
    ranks = {}
    try:
        children = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
    except OSError:
        return ranks
    for pid in children.split():
        try:
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(b"RANK="):
                ranks[int(variable[5:])] = int(pid)
    return ranks


def step_of(folder: pathlib.Path, run: str) -> int:
    """Of the newest checkpoint that is whole."""
    try:
        return state_of(checkpoint_of(folder, run))["step"]
    except (OSError, ValueError):
        return -1


def expect_equal(one: pathlib.Path, other: pathlib.Path) -> None:
    for part in ("model", "optimizer", "rng", "meters"):
        if read_part(one, part) != read_part(other, part):
            sys.exit(f"{part} of {one} and {other} differ")
    first, second = state_of(one), state_of(other)
    for key in first.keys() - CLOCKS:
        if first[key] != second[key]:
            sys.exit(f"{key} is {first[key]} in {one} and {second[key]} in {other}")


def start(args, folder: pathlib.Path, run: str, *values: str) -> subprocess.Popen:
    return subprocess.Popen(
        train_command(args.kedge, folder, run, *values),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=clean_environment(),
        text=True,
    )


def memory_of(run: str) -> list:
    """The replicas that /dev/shm holds of a run, the newest last."""
    return sorted(pathlib.Path(f"/dev/shm/kedge-{os.geteuid()}").glob(f"{run}-*/*/step-????????"))


def is_saving(folder: pathlib.Path, run: str) -> bool:
    try:
        return any(".tmp-" in entry.name for entry in os.scandir(checkpoint_of(folder, run, "")))
    except OSError:
        return False


def wait_for_moment(moment: str, folder: pathlib.Path, run: str, process, chance) -> None:
    """Until the training is where somebody is to be killed, or over."""

    def is_over():
        return process.poll() is not None

    before, replicas = step_of(folder, run), memory_of(run)
    if moment == "save":
        wait_for("a save", lambda: is_saving(folder, run) or is_over(), pause_s=0.0005)
    elif moment == "resume":
        wait_for("progress", lambda: step_of(folder, run) > before or is_over())
        first = set(ranks_of(process.pid).values())
        if ranks := ranks_of(process.pid):
            kill(ranks[chance.choice(sorted(ranks))])
        wait_for(
            "a restart",
            lambda: is_over() or (now := set(ranks_of(process.pid).values())) and not now & first,
        )
        time.sleep(chance.uniform(0, 0.8))
    elif moment == "replica":
        wait_for("a replica", lambda: memory_of(run)[-1:] != replicas[-1:] or is_over())
    else:
        wait_for("progress", lambda: step_of(folder, run) > before or is_over())
        time.sleep(chance.uniform(0, 0.3))


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_and_compare(args, folder: pathlib.Path, moments: list, *values: str) -> str:
    """A training whose ranks are killed ends as the one in run `whole`. What it has printed."""
    chance = random.Random(args.seed)
    process = start(args, folder, "killed", "dist.ranks=2", *values)
    output = Output(process)
    for kill_number in range(max(args.kills, len(moments))):
        wait_for_moment(moments[kill_number % len(moments)], folder, "killed", process, chance)
        ranks = ranks_of(process.pid)
        if process.poll() is not None:
            print(f"it was over after {kill_number} kills")
            break
        if ranks:
            kill(ranks[chance.choice(sorted(ranks))])
    text = output.end()
    if process.returncode != 0:
        sys.exit(f"the killed training ended with {process.returncode}:\n{text}")
    if "was killed by signal 9" not in text:
        sys.exit(f"nobody was told of the kills:\n{text}")
    expect_equal(checkpoint_of(folder, "whole"), checkpoint_of(folder, "killed"))
    print(f"{text.count('was killed by signal 9')} kills, and the weights are bit-equal")
    return text


class Output:
    """What a process prints, read all the time: a full pipe would stop it."""

    def __init__(self, process: subprocess.Popen):
        self.process = process
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def end(self) -> str:
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        return "".join(self.lines)


def a_killed_rank_costs_nothing(args, folder: pathlib.Path) -> None:
    epochs = f"train.epochs={max(6, args.kills * 2)}"
    train(args.kedge, folder, "whole", "dist.ranks=2", epochs)
    kill_and_compare(args, folder, ["step"], epochs)


def kills_while_saving_and_resuming_cost_nothing(args, folder: pathlib.Path) -> None:
    # Large enough that a save takes a while.
    values = ("model.hidden=[1500, 500]", f"train.epochs={max(3, args.kills)}")
    train(args.kedge, folder, "whole", "dist.ranks=2", *values)
    kill_and_compare(args, folder, ["save", "resume"], *values)


def a_killed_rank_goes_on_from_memory(args, folder: pathlib.Path) -> None:
    # Nothing is on the disk before the end; the training that nobody kills keeps no replicas.
    values = (f"train.epochs={max(30, args.kills * 4)}", "train.eval_every=0")
    values += ("checkpoint.every=never",)
    train(args.kedge, folder, "whole", "dist.ranks=2", *values)
    text = kill_and_compare(args, folder, ["replica"], "dist.replicas=1 steps", *values)
    if "from the memory of" not in text or "from the beginning" in text:
        sys.exit(f"it did not go on from memory:\n{text}")
    if memory_of("killed"):
        sys.exit(f"the end left {memory_of('killed')}")


def full_memory_is_a_warning(args, folder: pathlib.Path) -> None:
    shell = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"'
    command = train_command(args.kedge, folder, "full", "dist.ranks=2", "train.epochs=3")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", shell, "sh", *command, "dist.replicas=1 steps"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        print("not tried: this user cannot mount a small /dev/shm")
        return
    if done.returncode != 0 or "no replicas in memory from now on" not in done.stderr:
        sys.exit(f"a full /dev/shm: {done.returncode}\n{done.stderr}")
    print("a full /dev/shm is a warning, and the training ends well")


def a_stopped_rank_is_named(args, folder: pathlib.Path) -> None:
    values = ("dist.ranks=3", "train.epochs=100000", "dist.stall=3s")
    process = start(args, folder, "stopped", *values)
    wait_for("a first checkpoint", lambda: step_of(folder, "stopped") > 0, process)
    ranks = ranks_of(process.pid)
    os.kill(ranks[1], signal.SIGSTOP)
    stopped = time.monotonic()
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "stopped by a signal" in line:
            break
    seconds = time.monotonic() - stopped
    report = "".join(lines)
    if "rank 1 does not move" not in report or "stopped by a signal" not in report:
        sys.exit("nobody named rank 1:\n" + report)
    events = folder / "runs/default/stopped"
    wait_for(
        "the report in the run's log",
        lambda: any(
            b"rank 1 does not move" in log.read_bytes() for log in events.glob("events-*.klog")
        ),
        process,
    )
    os.kill(ranks[1], signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=PATIENCE_S)
    if process.returncode != 85:
        sys.exit(f"it ended with {process.returncode}:\n{output}")
    print(f"named after {seconds:.1f} s, and after SIGCONT and SIGTERM all was saved")


def any_number_of_ranks_goes_on(args, folder: pathlib.Path) -> None:
    """Saved with 4 ranks in the middle of an epoch; loaded with 1, 2, 3, 8."""
    no_chance = ("model.dropout=0", "train.precision=fp64", "optimizer.name=sgd")
    train(args.kedge, folder, "one", *no_chance, "train.epochs=3")
    crash = ("train.simulate_crash=step 11", "checkpoint.async=false", "dist.restarts=0")
    process = start(args, folder, "four", *no_chance, "dist.ranks=4", "train.epochs=3", *crash)
    output, _ = process.communicate(timeout=PATIENCE_S)
    if process.returncode != 128 + signal.SIGKILL:
        sys.exit(f"it ended with {process.returncode}:\n{output}")
    saved = checkpoint_of(folder, "four")
    if len(list(saved.glob("model-*-of-00004.safetensors"))) < 2:
        sys.exit(f"{saved} was not written by the ranks together")
    runs = folder / "runs/default"
    for ranks in (1, 2, 3, 8):
        run = f"four-{ranks}"
        shutil.copytree(runs / "four", runs / run, symlinks=True)
        output = train(
            args.kedge, folder, run, *no_chance, "train.epochs=3", f"dist.ranks={ranks}"
        )
        if "step 10, epoch 2" not in output:
            sys.exit(f"{ranks} ranks did not go on from step 10:\n{output}")
        end, whole = checkpoint_of(folder, run), checkpoint_of(folder, "one")
        difference, tensor = largest_difference(end, whole)
        if difference > 1e-9:
            sys.exit(f"{tensor} of {end} differs by {difference:.1e}")
        for key in ("samples", "samples_hash", "step", "epoch"):
            if state_of(end)[key] != state_of(whole)[key]:
                sys.exit(f"{key} is {state_of(end)[key]}, not {state_of(whole)[key]}")
    subprocess.run(
        [str(args.kedge), "ckpt", "reshard", str(saved), str(folder / "joined")],
        check=True,
        capture_output=True,
    )
    if read_part(saved, "model") != read_part(folder / "joined", "model"):
        sys.exit("the checkpoint that was written again has other weights")
    print("saved with 4 ranks, went on with 1, 2, 3 and 8: each sample once, the same weights")


def torchruns_variables_make_a_rank(args, folder: pathlib.Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = []
    for rank in range(2):
        variables = {
            **clean_environment(),
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        command = train_command(args.kedge, folder, "by-hand", "train.epochs=1")
        processes.append(
            subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE, text=True)
        )
    outputs = [process.communicate(timeout=PATIENCE_S)[1] for process in processes]
    if any(process.returncode for process in processes):
        sys.exit("a rank failed:\n" + "\n".join(outputs))
    if "ranks    2" not in outputs[0] or "epoch 1/1" in outputs[1]:
        sys.exit("not rank 0 alone reports:\n" + "\n".join(outputs))
    print("two processes with torchrun's variables train as one")


CLAIMS = [
    a_killed_rank_costs_nothing,
    kills_while_saving_and_resuming_cost_nothing,
    a_killed_rank_goes_on_from_memory,
    full_memory_is_a_warning,
    a_stopped_rank_is_named,
    any_number_of_ranks_goes_on,
    torchruns_variables_make_a_rank,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("claims", nargs="*", default=[claim.__name__ for claim in CLAIMS])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.kedge = args.bin.resolve() / "kedge"
    for claim in CLAIMS:
        if claim.__name__ in args.claims:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-ranks-"))
            (folder / "config.yaml").write_text(CONFIG)
            claim(args, folder)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
