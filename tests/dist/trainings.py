"""Trainings with many ranks, and what they leave: shared by the tests of this folder."""

import array
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "U8": "B"}


def clean_environment() -> dict:
    """Nobody else's ranks, and one thread each: two cores are shared by all."""
    unwanted = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    variables = {k: v for k, v in os.environ.items() if k not in unwanted}
    variables["OMP_NUM_THREADS"] = "1"
    return variables


def train_command(kedge: pathlib.Path, folder: pathlib.Path, run: str, *values: str) -> list:
    return [str(kedge), "train", str(folder / "config.yaml"), f"run.id={run}", *values]


def train(kedge: pathlib.Path, folder: pathlib.Path, run: str, *values: str) -> str:
    """Trains to the end and returns what was printed."""
    done = subprocess.run(
        train_command(kedge, folder, run, *values),
        cwd=folder,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{run} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def read_metric(kedge: pathlib.Path, folder: pathlib.Path, run: str, key: str) -> list:
    """Its values, by step."""
    command = [str(kedge), "runs", "metrics", run, "--key", key]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    return [float(row[2]) for row in rows]


def checkpoint_of(folder: pathlib.Path, run: str, name: str = "last") -> pathlib.Path:
    return folder / "runs/default" / run / "checkpoints" / name


def state_of(checkpoint: pathlib.Path) -> dict:
    return json.loads((checkpoint / "manifest.json").read_text())["state"]


def read_shard(path: pathlib.Path) -> dict:
    """Name -> (dtype, bytes), from a safetensors file."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    data = content[8 + size :]
    return {
        name: (entry["dtype"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def read_part(checkpoint: pathlib.Path, part: str) -> dict:
    """The tensors of one part, of however many shards."""
    tensors = {}
    for shard in sorted(checkpoint.glob(f"{part}*.safetensors")):
        tensors.update(read_shard(shard))
    if not tensors:
        sys.exit(f"{checkpoint} has no part {part}")
    return tensors


def numbers(tensor: tuple) -> array.array:
    dtype, content = tensor
    return array.array(FORMATS[dtype], content)


def relative_difference(one: tuple, other: tuple) -> float:
    a, b = numbers(one), numbers(other)
    difference = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))
    size = math.sqrt(sum(y * y for y in b))
    return difference / size if size > 0 else difference


def largest_difference(one: pathlib.Path, other: pathlib.Path) -> tuple:
    """Of the models of two checkpoints: (difference, tensor)."""
    first, second = read_part(one, "model"), read_part(other, "model")
    if first.keys() != second.keys():
        sys.exit(f"{one} and {other} have other tensors")
    return max((relative_difference(first[name], second[name]), name) for name in first)
