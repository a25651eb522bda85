#!/usr/bin/env python3
"""Kill a training again and again, also while it saves, and prove that nothing was lost.

Usage: kill.py [--kills N] [--seed S] [--bin FOLDER]

One training runs without a break. A second one of the same config is killed with SIGKILL at random
times and started again, N times, and then left to finish. Weights, optimizer, random state,
history and the whole metric curve must be the same, bit for bit.
"""

import argparse
import csv
import hashlib
import io
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Dropout draws random numbers, plateau and EMA carry state, and the checkpoints are large enough
# that many kills come while one is being written.
CONFIG = """
data: {name: synthetic, samples: 1500, image_size: 28, channels: 1}
model: {name: mlp, hidden: [512, 256], dropout: 0.2}
loader: {batch_size: 25, workers: 1}
optimizer: {name: adamw, lr: 0.001}
schedule: {name: plateau, patience: 1, metric: train/loss}
ema: {decay: 0.9}
transform: {train: [random_crop 28 2]}
train: {threads: 1, log_every: 1}
checkpoint: {every: 7 steps, keep_last: 3}
track: {predictions: 0, system_every: 0}
"""

# Values that are times differ between any two runs.
CLOCKS = {"epoch_seconds", "val_seconds"}
CLOCK_STATE = {"train_seconds", "epoch_seconds", "attempt", "run", "config"}


def train_command(args: argparse.Namespace, run: str) -> list[str]:
    return [
        str(args.bin / "kedge"),
        "train",
        "config.yaml",
        f"train.epochs={args.epochs}",
        f"run.id={run}",
    ]


def read_curve(args: argparse.Namespace, folder: pathlib.Path, run: str) -> dict:
    """(key, step) -> value as text."""
    command = [str(args.bin / "kedge"), "runs", "metrics", f"runs/default/{run}"]
    text = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    rows = csv.DictReader(io.StringIO(text))
    return {(r["key"], r["step"]): r["value"] for r in rows if r["key"] not in CLOCKS}


def read_end(folder: pathlib.Path, run: str) -> dict:
    """Digests of the last checkpoint's tensors, and its state without the clocks."""
    last = folder / "runs/default" / run / "checkpoints/last"
    state = json.loads((last / "manifest.json").read_text())["state"]
    end = {name: value for name, value in state.items() if name not in CLOCK_STATE}
    shards = sorted(last.glob("*.safetensors"))
    if not shards:
        sys.exit(f"{last} has no tensors")
    for shard in shards:
        end[shard.name] = hashlib.sha256(shard.read_bytes()).hexdigest()
    return end


def count_attempts(folder: pathlib.Path) -> int:
    attempts = folder / "runs/default/killed/attempts"
    return len(list(attempts.glob("*.json"))) if attempts.is_dir() else 0


def kill_and_restart(args: argparse.Namespace, folder: pathlib.Path) -> dict:
    """Counts of what the kills met: one in five may come while the process still starts."""
    chance = random.Random(args.seed)
    checkpoints = folder / "runs/default/killed/checkpoints"
    met = {"kills": 0, "saving": 0}
    while met["kills"] < args.kills:
        before = count_attempts(folder)
        process = subprocess.Popen(
            train_command(args, "killed"),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if chance.random() < 0.8:
            while process.poll() is None and count_attempts(folder) == before:
                time.sleep(0.002)
        try:
            _, errors = process.communicate(timeout=chance.uniform(0, args.work))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            met["kills"] += 1
            met["saving"] += checkpoints.is_dir() and any(
                ".tmp-" in path.name for path in checkpoints.iterdir()
            )
            continue
        if process.returncode == 0:
            sys.exit(f"the training was over after {met['kills']} kills: raise --epochs")
        sys.exit(f"exit code {process.returncode} after {met['kills']} kills:\n{errors.decode()}")
    return met


def compare(args: argparse.Namespace, folder: pathlib.Path) -> None:
    straight, killed = (read_end(folder, run) for run in ("straight", "killed"))
    for name in sorted(straight.keys() | killed.keys()):
        if straight.get(name) != killed.get(name):
            sys.exit(f"{name} differs from the uninterrupted run: {folder}")
    straight, killed = (read_curve(args, folder, run) for run in ("straight", "killed"))
    if not straight:
        sys.exit(f"the uninterrupted run has no metrics: {folder}")
    for point in sorted(straight.keys() | killed.keys()):
        if straight.get(point) != killed.get(point):
            sys.exit(
                f"{point[0]} at step {point[1]} is {killed.get(point)}, but {straight.get(point)} "
                f"without the kills: {folder}"
            )
    print(f"{len(straight)} metric values, weights and state are bit-identical")


def run(args: argparse.Namespace, folder: pathlib.Path) -> None:
    (folder / "config.yaml").write_text(CONFIG)
    started = time.monotonic()
    process = subprocess.Popen(train_command(args, "straight"), cwd=folder, stderr=subprocess.PIPE)
    _, errors = process.communicate()
    if process.returncode != 0:
        sys.exit(f"the uninterrupted training failed:\n{errors.decode()}")
    whole = time.monotonic() - started
    print(f"uninterrupted: {whole:.1f} s")
    # On average half of this between two kills: a fast machine must not be done before the last.
    args.work = min(args.work, 1.2 * whole / args.kills)
    met = kill_and_restart(args, folder)
    subprocess.run(train_command(args, "killed"), cwd=folder, check=True, capture_output=True)
    print(f"{met['kills']} kills, {met['saving']} while saving; {count_attempts(folder)} attempts")
    compare(args, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument(
        "--work", type=float, default=0.7, help="most seconds of work between kills"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-kill-"))
    run(args, folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
