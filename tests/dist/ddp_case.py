"""One training that kedge and PyTorch's DistributedDataParallel both do: its images, its labels and
its first weights follow formulas, so that nothing but losses need be stored."""

import array
import json
import math
import pathlib
import struct

SIDE, CLASSES, SAMPLES, HIDDEN = 28, 10, 192, 24
BATCH, RANKS, STEPS = 16, 2, 50  # the batch of both ranks together
MEAN, STD = 0.5, 0.25
LR, MOMENTUM, WEIGHT_DECAY = 0.004, 0.9, 0.0005
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "fixtures/train/ddp.json"


def pixels(sample: int) -> bytes:
    """A pattern of its class, and noise."""
    label = label_of(sample)
    values = bytearray()
    for i in range(SIDE * SIDE):
        row, column = divmod(i, SIDE)
        wave = math.sin(0.23 * (label + 1) * row + 0.31 * (label + 2) * column)
        noise = math.sin(12.9898 * sample + 78.233 * i) * 43758.5453
        values.append(int(96 + 64 * wave + 64 * (noise - math.floor(noise))))
    return bytes(values)


def label_of(sample: int) -> int:
    return (7 * sample + sample // 13) % CLASSES


def weights() -> dict:
    """Name -> (shape, values), of a network with one hidden layer."""
    sizes = [SIDE * SIDE, HIDDEN, CLASSES]
    tensors = {}
    for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        bound = 1 / math.sqrt(inputs)
        count = inputs * outputs
        values = [bound * math.sin(1.7 * i + 0.3 * layer) for i in range(count)]
        tensors[f"layers.{layer}.weight"] = ([outputs, inputs], values)
        tensors[f"layers.{layer}.bias"] = ([outputs], [0.0] * outputs)
    return tensors


def write_idx(path: pathlib.Path, shape: list, content: bytes) -> None:
    path.write_bytes(struct.pack(f">I{len(shape)}I", 0x0800 + len(shape), *shape) + content)


def write_data(folder: pathlib.Path) -> None:
    """As MNIST's files."""
    folder.mkdir(parents=True)
    images = b"".join(pixels(sample) for sample in range(SAMPLES))
    labels = bytes(label_of(sample) for sample in range(SAMPLES))
    for part in ("train", "t10k"):
        write_idx(folder / f"{part}-images-idx3-ubyte", [SAMPLES, SIDE, SIDE], images)
        write_idx(folder / f"{part}-labels-idx1-ubyte", [SAMPLES], labels)


def write_weights(path: pathlib.Path) -> None:
    header, content = {}, b""
    for name, (shape, values) in weights().items():
        data = array.array("f", values).tobytes()
        span = [len(content), len(content) + len(data)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": span}
        content += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)


def golden(case: str) -> list:
    return json.loads(GOLDEN.read_text())[case]
