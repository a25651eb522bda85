"""CIFAR-10 to 94% on a GPU: accuracy, GPU time and wall time over many trainings.

    python3 bench/speedrun.py [--runs 20] [--kedge build/bin/kedge] [KEY=VALUE...]

Needs a GPU, `./dev build --torch cuda` and `kedge data get cifar10`. Each training is a process of
its own: `kedge train examples/speedrun/config.yaml seed=N`. Three clocks, of which the peer
(airbench94_muon, timed after a training that warms up) has the first: GPU time is that of all
steps at the speed of a captured one, and of the validation; training time is as the process had
it, with the first steps, in which cuDNN chooses algorithms and the step is captured; wall time goes
from the start of the process to its end.
"""

import argparse
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def train(arguments, seed, folder):
    """(accuracy, GPU seconds, training seconds, wall seconds) of one training."""
    command = [arguments.kedge, "train", str(ROOT / "examples/speedrun/config.yaml")]
    command += [f"seed={seed}", f"run.id=s{seed}", f"track.dir={folder}", *arguments.overrides]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    rows = list(csv.DictReader((folder / "speedrun" / f"s{seed}" / "metrics.csv").open()))
    epochs = [float(row["epoch_seconds"]) for row in rows]
    ends = [int(row["step"]) for row in rows]
    steps = [end - begin for begin, end in zip([0, *ends], ends)]
    validation = sum(float(row["val_seconds"]) for row in rows if row.get("val_seconds"))
    accuracy = [float(row["val/accuracy"]) for row in rows if row.get("val/accuracy")][-1]
    step_seconds = [seconds / count for seconds, count in zip(epochs, steps)]
    captured = ends[-1] * statistics.median(step_seconds[1:] or step_seconds)
    return accuracy, captured + validation, sum(epochs) + validation, wall


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kedge", default=str(ROOT / "build/bin/kedge"))
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, arguments.runs + 1):
            results.append(train(arguments, seed, pathlib.Path(folder)))
            shown = "{:.4f}  {:.3f} s GPU  {:.3f} s training  {:.2f} s wall".format(*results[-1])
            print(f"seed {seed:3}  {shown}", flush=True)
    names = ("accuracy", "GPU s", "training s", "wall s")
    for name, values in zip(names, zip(*results)):
        spread = statistics.stdev(values) if len(values) > 1 else 0
        print(f"{name:12}  mean {statistics.mean(values):.4f}  sd {spread:.4f}  ", end="")
        print(f"min {min(values):.4f}  max {max(values):.4f}")


if __name__ == "__main__":
    main()
