#!/usr/bin/env python3
"""Many ranks train the same model as one process with the same batch.

Usage: parity.py [--bin FOLDER] [--steps N] [--ranks N...]

After 50 steps, per tensor, |difference| / |weight| is at most 1e-9 in double and 1e-5 in single
precision, and every sample was seen once at the same place of the epoch. The losses of two ranks
are those of PyTorch's DistributedDataParallel, step by step (tests/fixtures/train/ddp.json).
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

import ddp_case
from trainings import ROOT, checkpoint_of, largest_difference, read_metric, state_of, train

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


# Case -> what kedge is told besides, and how far a loss may be off: bfloat16 has 8 bits.
DDP_CASES = {
    "plain": ([], 1e-5),
    "bf16": (["dist.compression=bf16"], 5e-3),
    "per_rank": (
        [
            "dist.batch=per_rank",
            f"loader.batch_size={ddp_case.BATCH // ddp_case.RANKS}",
            "dist.lr_scale=linear",
            f"optimizer.lr={ddp_case.LR / ddp_case.RANKS}",
        ],
        1e-5,
    ),
}


def write_ddp_case(folder: pathlib.Path) -> None:
    ddp_case.write_data(folder / "images")
    ddp_case.write_weights(folder / "start.safetensors")
    config = {
        "data": {"name": "mnist", "path": "images", "val_ratio": 0},
        "transform": {"mean": [ddp_case.MEAN], "std": [ddp_case.STD]},
        "model": {"name": "mlp", "hidden": [ddp_case.HIDDEN], "weights": "start.safetensors"},
        "loader": {"batch_size": ddp_case.BATCH, "shuffle": False, "workers": 0},
        "optimizer": {
            "name": "sgd",
            "lr": ddp_case.LR,
            "momentum": ddp_case.MOMENTUM,
            "weight_decay": ddp_case.WEIGHT_DECAY,
        },
        "train": {
            "device": "cpu",  # as PyTorch's numbers are: a GPU multiplies in TF32
            "threads": 1,
            "epochs": 100,
            "max_steps": ddp_case.STEPS,
            "log_every": 1,
        },
        "checkpoint": {"enabled": False},
        "track": {"system_every": 0, "predictions": 0},
        "dist": {"ranks": ddp_case.RANKS},
    }
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML


def compare_with_ddp(args: argparse.Namespace, folder: pathlib.Path, case: str) -> None:
    values, limit = DDP_CASES[case]
    train(args.kedge, folder, case, *values)
    losses = read_metric(args.kedge, folder, case, "train/step_loss")
    wanted = ddp_case.golden("bf16" if case == "bf16" else "plain")
    if len(losses) != len(wanted):
        sys.exit(f"{case}: {len(losses)} losses, PyTorch has {len(wanted)}")
    difference = max(abs(one - other) / max(other, 0.1) for one, other in zip(losses, wanted))
    print(f"losses of DDP ({case}): differ by {difference:.1e}, at most {limit:.0e}")
    if difference > limit:
        sys.exit(f"{case}: {losses}\nPyTorch's DDP: {wanted}")


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
    write_ddp_case(folder / "ddp")
    for case in DDP_CASES:
        compare_with_ddp(args, folder / "ddp", case)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
