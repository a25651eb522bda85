#!/usr/bin/env python3
"""A slice of all trainings comes to what it came to before: golden.json says what that was.

Usage: golden.py [KEDGE] [--write] [--elsewhere]

Where there is an older program to compare with, compare.py shows far more. --write adds this
machine's entry to golden.json, or replaces it: only with a program that is known to be right, and a
commit that changes what a training comes to says why.
"""

import pathlib
import sys
from collections.abc import Iterator

from ends import RUN, train
from golden_file import Came, hold_to_file, read_machine, summarise
from rows import AUGMENTED, CONFIG, Row, variant, write_data

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden.json"
STEPS = "train.max_steps=20"
STOP = ("train.max_steps=9",)
SGD = ("optimizer.name=sgd", "optimizer.lr=0.02", "optimizer.weight_decay=0.001")
COSINE = ("schedule.name=cosine", "schedule.warmup=4", "schedule.length=20")

# Together: one and two ranks, images and tokens, SGD and Adam kinds, accumulation, bf16, average,
# clipping, mixup, a schedule, augmentation in loader threads, BatchNorm, a resumed run. Adam is not
# with BatchNorm or bf16: a bias before BatchNorm has no gradient but rounding, and Adam makes steps
# of full size of it, which are different on every machine.
ROWS = [
    variant("adamw", "mlp", STEPS, "train.mixup=0.2"),
    variant("sgd ema", "convnet", STEPS, *SGD, "ema.decay=0.9", ranks=2, accumulate=3),
    variant("augmented", "mnistnet", STEPS, *SGD, *AUGMENTED, "loader.workers=2"),
    variant("adam", "gpt-nano", STEPS, "optimizer.name=adam", *COSINE, "train.clip_norm=1"),
    variant("sgd", "gpt-nano", STEPS, *SGD, ranks=2, precision="bf16", accumulate=3),
    variant("resumed", "vit", STEPS, *SGD, ranks=2, precision="bf16", begin=STOP),
]


def train_row(kedge: pathlib.Path, row: Row, folder: pathlib.Path) -> pathlib.Path:
    """The run folder."""
    folder.mkdir()
    (folder / "config.yaml").write_text(CONFIG)
    attempts = ([[*row.keys(), *row.begin]] if row.begin else []) + [row.keys()]
    for values in attempts:
        if error := train(kedge, folder, values):
            sys.exit(f"{row.label()}: {error}")
    return folder / "runs/default" / RUN


def train_rows(kedge: pathlib.Path, scratch: pathlib.Path) -> Iterator[Came]:
    write_data(scratch / "data")
    for number, row in enumerate(ROWS):
        run = train_row(kedge, row, scratch / str(number))
        yield row.label(), row.precision, read_machine(run), summarise(run)


if __name__ == "__main__":
    sys.exit(hold_to_file(GOLDEN, __doc__.splitlines()[0], train_rows))
