"""kedge beside PyTorch on this machine's GPU: images or tokens per second and memory, one table.

    python3 bench/gpu.py [--kedge build/bin/kedge-train] [--cases simplecnn,resnet18,resnet50,gpt2]
                         [--runs 3] [--no-peers] [--parts]

The Python that runs this must have torch and torchvision for the peers. kedge trains for real, with
metrics, event log and final checkpoint; the speed is that of whole epochs after the first, in which
cuDNN chooses its algorithms (the peers warm up too), the median over epochs and runs.
"""

import argparse
import array
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
IMAGES = 50_000
IMAGE_KEYS = [
    "data.name=synthetic",
    f"data.samples={IMAGES}",
    "train.precision=bf16",
    "optimizer.name=sgd",
    "optimizer.lr=0.1",
    "optimizer.weight_decay=0.0005",
    "train.eval_every=0",
    "track.confusion=false",
    "loader.drop_last=true",
    "checkpoint.every=never",
    "train.epochs=4",
    "track.predictions=0",
]
AUGMENT = "transform.train=[random_crop 32 4, flip]"
WINDOWS = 32 * 60
TOKEN_KEYS = [
    "data.name=tokens",
    "data.path=tokens",
    "data.context=1024",
    "model.name=gpt2",
    "train.precision=bf16",
    "optimizer.name=adamw",
    "optimizer.lr=0.0006",
    "optimizer.beta2=0.95",
    "optimizer.weight_decay=0.1",
    "loader.batch_size=32",
    "loader.drop_last=true",
    "train.eval_every=0",
    "checkpoint.every=never",
    "train.epochs=3",
]
CASES = {
    "simplecnn": (128, ["model.name=simplecnn"]),
    "resnet18": (512, ["model.name=resnet18", "model.stem=cifar"]),
    "resnet50": (256, ["model.name=resnet50", "model.stem=imagenet"]),
}


def write_tokens(folder: pathlib.Path) -> None:
    (folder / "tokens").mkdir()
    numbers = random.Random(1)
    for name, windows in (("train", WINDOWS), ("val", 32)):
        count = windows * 1024 + 1
        ids = array.array("H", numbers.choices(range(50257), k=count))
        (folder / "tokens" / f"{name}.bin").write_bytes(ids.tobytes())
    (folder / "tokens" / "meta.json").write_text('{"vocab": 50304}')


def train(
    kedge: str, folder: pathlib.Path, name: str, keys: list[str]
) -> tuple[list[float], float]:
    """Seconds of each epoch after the first, and the peak memory in GiB."""
    (folder / "config.yaml").write_text("{}\n")
    command = [kedge, "train", "config.yaml", f"run.id={name}", "resume=never", *keys]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"gpu.py: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    run = folder / "runs" / "default" / name
    with (run / "metrics.csv").open() as file:
        seconds = [float(row["epoch_seconds"]) for row in csv.DictReader(file)]
    summary = json.loads((run / "run.json").read_text()).get("summary", {})
    return seconds[1:], summary.get("peak_memory_bytes", 0) / 2**30


def measure_kedge(kedge: str, case: str, runs: int, extra: list[str]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if case == "gpt2":
            write_tokens(folder)
            items, keys = WINDOWS * 1024, TOKEN_KEYS
        else:
            size, model = CASES[case]
            items = IMAGES // size * size
            keys = [*IMAGE_KEYS, *model, f"loader.batch_size={size}"]
        seconds, memory = [], 0.0
        for run in range(runs):
            found, memory = train(kedge, folder, f"r{run}", [*keys, *extra])
            seconds += found
        return items / statistics.median(seconds), memory


def show(case: str, way: str, speed: float, memory: float) -> None:
    print(f"| {case} | {way} | {speed:,.0f} | {memory:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kedge", default=str(HERE.parent / "build/bin/kedge-train"))
    parser.add_argument("--cases", default="simplecnn,resnet18,resnet50,gpt2")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--parts", action="store_true", help="also without kernels, graphs")
    arguments = parser.parse_args()
    kedge = str(pathlib.Path(arguments.kedge).resolve())
    print("| case | way | items/s | memory, GiB |\n| --- | --- | --- | --- |", flush=True)
    for case in arguments.cases.split(","):
        if not arguments.no_peers:
            peers = subprocess.run(
                [sys.executable, str(HERE / "gpu_peers.py"), case], capture_output=True, text=True
            )
            for line in peers.stdout.splitlines():
                found = json.loads(line)
                show(case, "PyTorch " + found["way"], found["items_per_s"], found["memory_gib"])
            if peers.returncode != 0:
                print(f"| {case} | PyTorch failed: {peers.stderr[-200:]!r} | | |", flush=True)
        show(case, "kedge", *measure_kedge(kedge, case, arguments.runs, []))
        if case != "gpt2":
            show(case, "kedge, random crop and flip", *measure_kedge(kedge, case, 1, [AUGMENT]))
        if arguments.parts:
            for keys in (["train.fused=false"], ["train.fused=false", "train.graph=false"]):
                show(case, "kedge, " + " ".join(keys), *measure_kedge(kedge, case, 1, keys))


if __name__ == "__main__":
    main()
