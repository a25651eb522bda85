#!/usr/bin/env python3
"""Runs of an older program (tests/fixtures/old_runs) are evaluated, exported and gone on with.

Usage: old_runs.py [KEDGE] [--write] [--elsewhere]

The export has the checkpoint's weights byte for byte. What evaluation says and what the continued
training comes to is held to expected.json, which --write makes with the older program: bit by bit
on a machine like its own, to a tolerance elsewhere (golden_file.py).
"""

import json
import pathlib
import shutil
import sys
from collections.abc import Iterator

from ends import ROOT, RUN, read_tensors, run_kedge
from golden_file import Came, hold_to_file, read_machine, summarise
from trainings import read_part, read_shard

FIXTURES = ROOT / "tests/fixtures/old_runs"
NAMES = ("mlp", "gpt")


def call(kedge: pathlib.Path, folder: pathlib.Path, *words: str) -> str:
    done = run_kedge(kedge, folder, *words)
    if done.returncode != 0:
        sys.exit(f"kedge {' '.join(words)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def evaluate(kedge: pathlib.Path, folder: pathlib.Path, run: str) -> dict[str, list[float]]:
    answer = call(kedge, folder, "eval", run, "--json")
    metrics = json.loads(answer[answer.index("{") :])["metrics"]
    return {f"evaluated {name}": [value] for name, value in metrics.items()}


def check_export(kedge: pathlib.Path, folder: pathlib.Path, run: str) -> None:
    """The averaged weights where there are any, else the weights."""
    call(kedge, folder, "export", run, "exported.safetensors")
    last = folder / run / "checkpoints/last"
    has_average = any(name.startswith("ema") for name in read_tensors(last))
    wanted = read_part(last, "ema" if has_average else "model")
    found = read_shard(folder / "exported.safetensors")
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            sys.exit(f"{folder.name}: the exported {name} is not the checkpoint's")


def use(kedge: pathlib.Path, folder: pathlib.Path) -> tuple[dict, dict]:
    """The machine, and what the run came to."""
    run = f"runs/default/{RUN}"
    call(kedge, folder, "ckpt", "verify", run)
    evaluated = evaluate(kedge, folder, run)
    check_export(kedge, folder, run)
    said = call(kedge, folder, "train", "config.yaml", f"run.id={RUN}")
    if "resume   attempt 2" not in said:
        sys.exit(f"{folder.name} was not resumed:\n{said}")
    summary = summarise(folder / run)
    summary["metrics"] |= evaluated
    return read_machine(folder / run), summary


def use_runs(kedge: pathlib.Path, scratch: pathlib.Path) -> Iterator[Came]:
    for name in NAMES:
        folder = scratch / name
        shutil.copytree(FIXTURES / name, folder, symlinks=True)
        machine, summary = use(kedge, folder)
        yield name, "fp32", machine, summary


if __name__ == "__main__":
    sys.exit(hold_to_file(FIXTURES / "expected.json", __doc__.splitlines()[0], use_runs))
