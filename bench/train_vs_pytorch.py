#!/usr/bin/env python3
"""How fast does kedge train on the CPU, beside PyTorch with its DataLoader, on the same machine?

    python3 bench/train_vs_pytorch.py [--kedge PROGRAM] [--data data/cifar10] [--rounds 3]

Needs a Python with torch (and torchvision, for the usual transforms; without it the PyTorch side
uses tensor operations). Both sides train the same model from the same CIFAR-10 binary files with
the same batch size, optimizer and number of threads, in turns; the medians of the rounds are
printed as a table and as JSON.

Two questions per model:
  end to end    crop + flip + normalise, loader workers as a user would set them
  pure compute  no augmentation; PyTorch's batches are tensors already made, so it has no loader
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

CASES = {  # name: (batch size, images per epoch)
    "simplecnn": (128, 2560),
    "resnet18": (128, 640),
}
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def make_data(folder, count):
    """A CIFAR-10 folder of `count` training images: the real ones where there are some."""
    real = pathlib.Path(folder) if folder else None
    target = pathlib.Path(tempfile.mkdtemp(prefix="kedge-bench-")) / "cifar10"
    target.mkdir()
    for name, images in [(f"data_batch_{i}.bin", count // 5) for i in range(1, 6)] + [
        ("test_batch.bin", 10)
    ]:
        if real and (real / name).exists():
            content = (real / name).read_bytes()[: images * 3073]
        else:
            content = b"".join(bytes([i % 10]) + os.urandom(3072) for i in range(images))
        (target / name).write_bytes(content)
    (target / "batches.meta.txt").write_text(
        "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"
    )
    return target


def run_kedge(kedge, data, case, threads, with_loader, epochs):
    batch, count = CASES[case]
    config = {
        "data": {"name": "cifar10", "path": str(data), "sample_ratio": 1.0},
        "model": {"name": case},
        "loader": {"batch_size": batch},
        "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9},
        "train": {"epochs": epochs, "device": "cpu", "threads": threads, "eval_every": 0},
        "checkpoint": {"enabled": False},
        "transform": {"train": ["random_crop 32 4", "flip"] if with_loader else []},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.yaml"
        path.write_text(json.dumps(config))  # JSON is YAML
        subprocess.run([kedge, "train", str(path)], cwd=folder, check=True, capture_output=True)
        run = next((pathlib.Path(folder) / "runs" / "default").iterdir())
        rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
        column = rows[0].index("epoch_seconds")
        seconds = [float(row[column]) for row in rows[1:]][1:]  # the first epoch warms up
        peak = json.loads((run / "run.json").read_text())["summary"]["peak_memory_bytes"]
    return count / statistics.median(seconds), peak


def run_pytorch(data, case, threads, with_loader, epochs):
    """In a process of its own, so that memory is its own."""
    command = [
        sys.executable,
        __file__,
        "--as-pytorch",
        case,
        "--data",
        str(data),
        "--threads",
        str(threads),
        "--epochs",
        str(epochs),
    ] + (["--with-loader"] if with_loader else [])
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result["samples_per_s"], result["peak_bytes"]


def pytorch_model(case):
    import torch.nn as nn

    if case == "simplecnn":

        def block(i, o):
            return [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]

        return nn.Sequential(
            *block(3, 64),
            *block(64, 128),
            *block(128, 256),
            nn.Flatten(),
            nn.Linear(4096, 512),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(512, 10),
        )

    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.a = nn.Sequential(
                nn.Conv2d(i, o, 3, stride, 1, bias=False),
                nn.BatchNorm2d(o),
                nn.ReLU(True),
                nn.Conv2d(o, o, 3, 1, 1, bias=False),
                nn.BatchNorm2d(o),
            )
            self.b = (
                nn.Identity()
                if i == o
                else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
            )
            self.relu = nn.ReLU(True)

        def forward(self, x):
            return self.relu(self.a(x) + self.b(x))

    layers = [nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True)]
    width = 64
    for out, stride in [
        (64, 1),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
    ]:
        layers.append(Block(width, out, stride))
        width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def pytorch_dataset(data):
    import torch

    raw = b"".join((pathlib.Path(data) / f"data_batch_{i}.bin").read_bytes() for i in range(1, 6))
    rows = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 3073)
    labels, pixels = rows[:, 0].long(), rows[:, 1:].view(-1, 3, 32, 32)
    try:
        from PIL import Image
        from torchvision import transforms

        prepare = transforms.Compose(
            [
                transforms.RandomCrop(32, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize(MEAN, STD),
            ]
        )
        images = pixels.permute(0, 2, 3, 1).contiguous().numpy()

        def get(i):
            return prepare(Image.fromarray(images[i]))

    except ImportError:
        mean, std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)

        def get(i):
            x = torch.nn.functional.pad(pixels[i], (4, 4, 4, 4))
            top, left = torch.randint(0, 9, (2,)).tolist()
            x = x[:, top : top + 32, left : left + 32]
            x = x.flip(2) if torch.rand(()) < 0.5 else x
            return (x.float() / 255 - mean) / std

    class Cifar(torch.utils.data.Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, i):
            return get(i), labels[i]

    return Cifar(), pixels, labels


def as_pytorch(case, data, threads, with_loader, epochs):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(42)
    batch, count = CASES[case]
    dataset, pixels, labels = pytorch_dataset(data)
    model = pytorch_model(case).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if with_loader:
        batches = torch.utils.data.DataLoader(
            dataset, batch_size=batch, shuffle=True, num_workers=2, persistent_workers=True
        )
    else:
        ready = (pixels.float() / 255 - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(
            STD
        ).view(1, 3, 1, 1)
        batches = list(zip(ready.split(batch), labels.split(batch)))
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        for x, y in batches:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss.item()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps({"samples_per_s": count / statistics.median(seconds[1:]), "peak_bytes": peak})
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kedge", default="build/bin/kedge-train")
    parser.add_argument("--data", default="data/cifar10")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--as-pytorch", help=argparse.SUPPRESS)
    parser.add_argument("--with-loader", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.as_pytorch:
        as_pytorch(args.as_pytorch, args.data, args.threads, args.with_loader, args.epochs)
        return
    kedge = str(pathlib.Path(args.kedge).resolve())
    titles = ("kedge/s", "torch/s", "ratio", "kedge MiB", "torch MiB")
    print(f"{'case':<12}{'question':<15}" + "".join(f"{title:>11}" for title in titles))
    for case in args.cases.split(","):
        data = make_data(args.data, CASES[case][1])
        for with_loader in (True, False):
            ours, theirs = [], []
            for _ in range(args.rounds):
                ours.append(run_kedge(kedge, data, case, args.threads, with_loader, args.epochs))
                theirs.append(run_pytorch(data, case, args.threads, with_loader, args.epochs))
            ratios = [a[0] / b[0] for a, b in zip(ours, theirs)]
            row = {
                "case": case,
                "question": "end to end" if with_loader else "pure compute",
                "threads": args.threads,
                "kedge_per_s": statistics.median(a[0] for a in ours),
                "torch_per_s": statistics.median(b[0] for b in theirs),
                "ratio": statistics.median(ratios),
                "ratios": [round(r, 3) for r in ratios],
                "kedge_peak_bytes": max(a[1] for a in ours),
                "torch_peak_bytes": max(b[1] for b in theirs),
            }
            mib = [row[key] / 2**20 for key in ("kedge_peak_bytes", "torch_peak_bytes")]
            print(
                f"{case:<12}{row['question']:<15}{row['kedge_per_s']:>11.0f}"
                f"{row['torch_per_s']:>11.0f}{row['ratio']:>11.2f}{mib[0]:>11.0f}{mib[1]:>11.0f}",
                flush=True,
            )
            print(json.dumps(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
