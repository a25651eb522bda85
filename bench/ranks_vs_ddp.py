#!/usr/bin/env python3
"""Is a step of many ranks as fast as with PyTorch's DistributedDataParallel on the same Gloo?

    python3 bench/ranks_vs_ddp.py [--kedge PROGRAM] [--ranks 2] [--rounds 5] [--epochs 12]

Needs a Python with torch. Both sides train the same network on images of the same size with the
same batch, optimizer, ranks and threads, in turns on this machine; PyTorch's batches are tensors
already made. Printed are the
medians of the seconds a step.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SIDE, CHANNELS, CLASSES, SAMPLES = 28, 1, 10, 2048
CASES = {  # hidden layers, batch of all ranks
    "mlp 1M": ([1024, 256], 64),
    "mlp 5M": ([2048, 1536], 64),
}


def run_kedge(kedge, hidden, batch, ranks, epochs):
    config = {
        "data": {
            "name": "synthetic",
            "samples": SAMPLES,
            "image_size": SIDE,
            "channels": CHANNELS,
            "val_ratio": 0,
        },
        "model": {"name": "mlp", "hidden": hidden},
        "loader": {"batch_size": batch},
        "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9},
        "train": {"epochs": epochs, "device": "cpu", "threads": 1, "eval_every": 0},
        "checkpoint": {"enabled": False},
        "track": {"system_every": 0, "predictions": 0},
        "dist": {"ranks": ranks},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        subprocess.run([kedge, "train", str(path)], cwd=folder, check=True, capture_output=True)
        run = next((pathlib.Path(folder) / "runs" / "default").iterdir())
        rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
    column = rows[0].index("epoch_seconds")
    seconds = [float(row[column]) for row in rows[1:]][1:]  # the first epoch warms up
    return statistics.median(seconds) / (SAMPLES / batch)


def run_ddp(hidden, batch, ranks, epochs):
    """Its ranks are processes of this script."""
    folder = tempfile.mkdtemp(prefix="kedge-ddp-")
    started = []
    for rank in range(ranks):
        command = [sys.executable, __file__, "--as-rank", str(rank), "--ranks", str(ranks)]
        command += ["--hidden", json.dumps(hidden), "--batch", str(batch), "--epochs", str(epochs)]
        command += ["--meet", folder + "/store"]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        sys.exit("a rank of PyTorch failed")
    return json.loads(outputs[0])["seconds_per_step"]


def be_ddp_rank(args):
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group(
        "gloo", init_method="file://" + args.meet, rank=args.as_rank, world_size=args.ranks
    )
    sizes = [SIDE * SIDE * CHANNELS, *json.loads(args.hidden), CLASSES]
    layers = [torch.nn.Flatten()]
    for i, o in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers[:-1]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    own = args.batch // args.ranks
    x = torch.rand(own, CHANNELS, SIDE, SIDE)
    y = torch.randint(0, CLASSES, (own,))
    steps = SAMPLES // args.batch
    epochs = []
    for _ in range(args.epochs):
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        epochs.append(time.perf_counter() - start)
    dist.barrier()
    if args.as_rank == 0:
        print(json.dumps({"seconds_per_step": statistics.median(epochs[1:]) / steps}))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kedge", default="build/bin/kedge")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--as-rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meet", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_rank is not None:
        be_ddp_rank(args)
        return
    kedge = os.path.abspath(args.kedge)
    print(f"{'network':10} {'kedge':>10} {'DDP':>10}  {'kedge/DDP':>9}")
    for name, (hidden, batch) in CASES.items():
        ours, theirs = [], []
        for _ in range(args.rounds):
            ours.append(run_kedge(kedge, hidden, batch, args.ranks, args.epochs))
            theirs.append(run_ddp(hidden, batch, args.ranks, args.epochs))
        mine, other = statistics.median(ours), statistics.median(theirs)
        print(
            f"{name:10} {mine * 1e3:8.2f}ms {other * 1e3:8.2f}ms  {mine / other:9.2f}", flush=True
        )


if __name__ == "__main__":
    main()
