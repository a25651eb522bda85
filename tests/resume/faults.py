#!/usr/bin/env python3
"""What a training does when its storage fails: full disks, read-only folders, damaged files.

Usage: faults.py [--bin FOLDER]

A small real file system (tmpfs) is filled under a training; needs root to mount it, and says so
when it cannot. The training itself must never end because of a save, and must resume afterwards.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONFIG = """
data: {name: synthetic, samples: 400, image_size: 28, channels: 1}
model: {name: mlp, hidden: [256]}
loader: {batch_size: 20}
train: {threads: 1, epochs: 4, log_every: 1}
checkpoint: {every: 5 steps, async: false}
track: {predictions: 0, system_every: 0, dir: disk}
"""


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: str):
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "kedge-test", str(disk)], check=True
    )
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


class Trainer:
    """`kedge train` in a folder."""

    def __init__(self, args: argparse.Namespace, folder: pathlib.Path):
        self.program = str(args.bin / "kedge")
        self.folder = folder

    def __call__(self, *words: str) -> subprocess.CompletedProcess:
        command = [self.program, "train", "config.yaml", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def verify(self, run: pathlib.Path) -> None:
        command = [self.program, "ckpt", "verify", str(run)]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(done.returncode == 0, "what is left verifies", done)


def expect(claim: bool, what: str, done: subprocess.CompletedProcess) -> None:
    if not claim:
        sys.exit(f"not true: {what}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"ok: {what}")


def too_small_from_the_start(train: Trainer) -> None:
    with small_disk(train.folder, "1m"):
        done = train("run.id=a")
        expect(done.returncode == 1, "a disk that holds no checkpoint is refused at once", done)
        expect("free" in done.stderr and "epoch 1" not in done.stderr, "with numbers", done)


def full_while_training(train: Trainer) -> None:
    with small_disk(train.folder, "12m") as disk:
        first = train("run.id=a", "train.epochs=1")
        expect(first.returncode == 0, "a disk with room is fine", first)
        (disk / "ballast").write_bytes(b"x" * (shutil.disk_usage(disk).free - (1 << 20)))
        full = train("run.id=a", "train.epochs=3")
        expect(full.returncode == 1, "a disk that became full refuses to start", full)
        train.verify(disk / "default/a")
        (disk / "ballast").unlink()
        again = train("run.id=a", "train.epochs=3")
        expect(again.returncode == 0, "with room again the run goes on", again)
        expect("resume   attempt" in again.stderr, "where it was", again)


def filled_by_somebody_else(train: Trainer) -> None:
    """The disk fills between two saves; it has room again before the last one."""
    with small_disk(train.folder, "12m") as disk:
        hog = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import os, sys, time\n"
                f"run, ballast = '{disk}/default/b/checkpoints', '{disk}/ballast'\n"
                "while not (os.path.isdir(run) and os.listdir(run)): time.sleep(0.005)\n"
                "try:\n"
                "    open(ballast, 'wb', 0).write(b'x' * (64 << 20))\n"
                "except OSError: pass\n"
                "time.sleep(1)\n"
                "os.unlink(ballast)\n",
            ]
        )
        done = train(
            "run.id=b", "train.epochs=100000", "train.max_time=6s", "checkpoint.async=true"
        )
        hog.wait()
        expect(done.returncode == 85, "a disk that is full for a while ends no training", done)
        expect("was not saved" in done.stderr, "and the saves that failed are reported", done)
        train.verify(disk / "default/b")


def read_only(train: Trainer) -> None:
    with small_disk(train.folder, "12m") as disk:
        train("run.id=c", "train.epochs=1")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = train("run.id=c", "train.epochs=2")
        expect(done.returncode == 1, "a read-only folder is an error", done)
        expect("Read-only" in done.stderr, "that says so", done)
        train.verify(disk / "default/c")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    if os.geteuid() != 0:
        print("skipped: mounting a small disk needs root")
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-faults-"))
    (folder / "config.yaml").write_text(CONFIG)
    train = Trainer(args, folder)
    for fault in (
        too_small_from_the_start,
        full_while_training,
        filled_by_somebody_else,
        read_only,
    ):
        fault(train)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
