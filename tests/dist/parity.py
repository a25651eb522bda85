#!/usr/bin/env python3
"""Many ranks train the same model as one process with the same batch.

Usage: parity.py [--bin FOLDER] [--steps N] [--ranks N...]

After 50 steps, per tensor, |difference| / |weight| is at most 1e-9 in double and 1e-5 in single
precision, and every sample was seen once at the same place of the epoch.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

from trainings import ROOT, checkpoint_of, largest_difference, state_of, train

# 37 does not divide by the ranks, and 500 samples leave a last batch of 19.
CONFIG = """
data: {name: synthetic, samples: 500, image_size: 12, channels: 1, val_ratio: 0.1}
loader: {batch_size: 37, workers: 0}
optimizer: {name: sgd, lr: 0.02, momentum: 0.9, weight_decay: 0.0005}
train: {threads: 1, epochs: 100, log_every: 5, eval_every: 2}
checkpoint: {every: never}
track: {predictions: 0, system_every: 0}
"""

CASES = {
    "double": (1e-9, ["train.precision=fp64", "model.name=mlp", "model.hidden=[32, 16]"]),
    "single": (1e-5, ["model.name=mlp", "model.hidden=[32, 16]"]),
    "accumulated": (
        1e-9,
        ["train.precision=fp64", "model.name=mlp", "model.hidden=[32]", "train.accumulate=3"],
    ),
    "normalised": (
        1e-9,
        ["train.precision=fp64", "model.name=convnet", "dist.sync_batchnorm=true"],
    ),
}


def compare(args: argparse.Namespace, folder: pathlib.Path, case: str) -> None:
    limit, values = CASES[case]
    values = [*values, f"train.max_steps={args.steps}"]
    train(args.kedge, folder, f"{case}-1", *values)
    one = checkpoint_of(folder, f"{case}-1")
    for ranks in args.ranks:
        run = f"{case}-{ranks}"
        train(args.kedge, folder, run, *values, f"dist.ranks={ranks}")
        many = checkpoint_of(folder, run)
        difference, tensor = largest_difference(many, one)
        print(f"{case}: {ranks} ranks differ by {difference:.1e} ({tensor}), at most {limit:.0e}")
        if difference > limit:
            sys.exit(f"{tensor} of {many} differs too much from {one}")
        for key in ("samples", "samples_hash", "epoch", "batch", "position", "step"):
            if state_of(one)[key] != state_of(many)[key]:
                sys.exit(f"{key} of {many} is {state_of(many)[key]}, not {state_of(one)[key]}")
        for first, second in zip(state_of(one)["history"], state_of(many)["history"]):
            for name, value in first["metrics"].items():
                if abs(second["metrics"][name] - value) > 1e-4 * max(1, abs(value)):
                    sys.exit(f"{name} of {many} is {second['metrics'][name]}, not {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    args = parser.parse_args()
    args.kedge = args.bin.resolve() / "kedge"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-parity-"))
    (folder / "config.yaml").write_text(CONFIG)
    for case in args.cases:
        compare(args, folder, case)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
