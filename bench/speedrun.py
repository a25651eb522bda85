"""CIFAR-10 to 94% on a GPU: accuracy, GPU time and wall time over many trainings.

    python3 bench/speedrun.py [--runs 20] [--kedge build/bin/kedge] [KEY=VALUE...]

Needs a GPU, `./dev build --torch cuda` and `kedge data get cifar10`. Each training is a process of
its own: `kedge train examples/speedrun/config.yaml seed=N`. GPU time is that of the epochs and of
the validation, as `epoch_seconds` and `val_seconds` of the run give it, and holds the recording of
the step; wall time goes from the start of the process to its end. The peer's figure
(airbench94_muon) counts the same work of the GPU.
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
    """(accuracy, GPU seconds, wall seconds) of one training."""
    command = [arguments.kedge, "train", str(ROOT / "examples/speedrun/config.yaml")]
    command += [f"seed={seed}", f"run.id=s{seed}", f"track.dir={folder}", *arguments.overrides]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    rows = list(csv.DictReader((folder / "speedrun" / f"s{seed}" / "metrics.csv").open()))
    clocks = ("epoch_seconds", "val_seconds")
    gpu = sum(float(row[name]) for row in rows for name in clocks if row.get(name))
    accuracy = [float(row["val/accuracy"]) for row in rows if row.get("val/accuracy")][-1]
    return accuracy, gpu, wall


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
            shown = "seed {:3}  {:.4f}  {:.3f} s GPU  {:.2f} s wall".format(seed, *results[-1])
            print(shown, flush=True)
    for name, values in zip(("accuracy", "GPU seconds", "wall seconds"), zip(*results)):
        spread = statistics.stdev(values) if len(values) > 1 else 0
        print(f"{name:12}  mean {statistics.mean(values):.4f}  sd {spread:.4f}  ", end="")
        print(f"min {min(values):.4f}  max {max(values):.4f}")


if __name__ == "__main__":
    main()
