"""Training from a folder of JPEG files on this machine's GPU: kedge with nvJPEG and without it,
beside PyTorch with its DataLoader and PIL. Images per second over whole epochs after the first.

    python3 bench/jpeg_folder.py [--kedge build/bin/kedge-train] [--workers 4 8 16] [--files 4096]

ResNet-18 at 224 x 224 in bf16, batches of 256, random resized crop and flip, files of 500 x 375.
The Python that runs this must have torch and torchvision.
"""

import argparse
import concurrent.futures
import pathlib
import statistics
import tempfile
import time

import gpu

BATCH = 256
CLASSES = 8
EPOCHS = 4
KEYS = [
    "data.name=imagefolder",
    "data.path=files",
    "data.val_ratio=0.02",
    "transform.train=[resized_crop 224, flip]",
    "transform.eval=[resize 224 224]",
    "model.name=resnet18",
    "model.stem=imagenet",
    "train.precision=bf16",
    "optimizer.name=sgd",
    f"loader.batch_size={BATCH}",
    "loader.drop_last=true",
    "train.eval_every=0",
    "checkpoint.every=never",
    "track.predictions=0",
    "track.confusion=false",
    f"train.epochs={EPOCHS}",
]


def write_file(path: pathlib.Path, number: int) -> None:
    """As large as a photograph of ImageNet: smooth areas, edges and a little noise."""
    import numpy
    from PIL import Image

    chance = numpy.random.default_rng(number)
    coarse = chance.integers(0, 256, (24, 32, 3), dtype=numpy.uint8)
    pixels = numpy.asarray(Image.fromarray(coarse).resize((500, 375), Image.BICUBIC))
    noisy = pixels + chance.normal(0, 4, pixels.shape)
    Image.fromarray(noisy.clip(0, 255).astype(numpy.uint8)).save(path, quality=90)


def write_files(folder: pathlib.Path, count: int) -> None:
    for label in range(CLASSES):
        (folder / str(label)).mkdir(parents=True)
    paths = [folder / str(i % CLASSES) / f"{i:06}.jpg" for i in range(count)]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        list(pool.map(write_file, paths, range(count), chunksize=32))


def measure_torch(folder: pathlib.Path, workers: int) -> float:
    import torch
    import torchvision
    from torchvision import transforms

    steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
    steps += [transforms.ToTensor(), transforms.Normalize((0.485, 0.456, 0.406), (0.229,) * 3)]
    files = torchvision.datasets.ImageFolder(str(folder), transforms.Compose(steps))
    loader = torch.utils.data.DataLoader(
        files,
        BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=workers,
        pin_memory=True,
        persistent_workers=True,
    )
    model = torchvision.models.resnet18(num_classes=CLASSES).cuda()
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, fused=True)
    speeds = []
    for _ in range(EPOCHS):
        begin, count = time.perf_counter(), 0
        for x, y in loader:
            x = x.cuda(non_blocking=True).to(memory_format=torch.channels_last)
            with torch.autocast("cuda", torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(x), y.cuda(non_blocking=True))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            count += len(y)
        torch.cuda.synchronize()
        speeds.append(count / (time.perf_counter() - begin))
    return statistics.median(speeds[1:])


def measure_kedge(kedge: str, folder: pathlib.Path, files: int, workers: int, way: str) -> float:
    keys = [*KEYS, f"loader.workers={workers}", f"loader.nvjpeg={way}"]
    seconds, _ = gpu.train(kedge, folder, f"{way}-{workers}", keys)
    trained = (files - round(0.02 * files)) // BATCH * BATCH
    return trained / statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kedge", default=str(gpu.HERE.parent / "build/bin/kedge-train"))
    parser.add_argument("--workers", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--files", type=int, default=4096)
    arguments = parser.parse_args()
    kedge = str(pathlib.Path(arguments.kedge).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder / "files", arguments.files)
        print(
            "| workers | PyTorch, PIL | kedge, libjpeg | kedge, nvJPEG |\n| --- | --- | --- | --- |"
        )
        for workers in arguments.workers:
            peer = measure_torch(folder / "files", workers)
            ours = [
                measure_kedge(kedge, folder, arguments.files, workers, way)
                for way in ("false", "true")
            ]
            print(f"| {workers} | {peer:,.0f} | {ours[0]:,.0f} | {ours[1]:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
