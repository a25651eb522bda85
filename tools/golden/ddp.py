"""Writes tests/fixtures/train/ddp.json: the loss of each step of the training in
tests/dist/ddp_case.py, by PyTorch's DistributedDataParallel on two ranks over Gloo, with gradients
as they are and compressed to bfloat16.

Usage: python tools/golden/ddp.py   (needs torch==2.11.*; runs on the CPU)
"""

import json
import pathlib
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/dist"))
import ddp_case as case  # noqa: E402


def network() -> torch.nn.Module:
    layers = [torch.nn.Flatten()]
    for shape, values in case.weights().values():
        tensor = torch.tensor(values, dtype=torch.float64).float().reshape(shape)
        if len(shape) == 2:
            layers += [torch.nn.Linear(shape[1], shape[0]), torch.nn.ReLU()]
            layers[-2].weight.data.copy_(tensor)
        else:
            layers[-2].bias.data.copy_(tensor)
    return torch.nn.Sequential(*layers[:-1])


def be_rank(rank: int, meet: str, is_bf16: bool, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + meet, rank=rank, world_size=case.RANKS)
    images = b"".join(case.pixels(sample) for sample in range(case.SAMPLES))
    x = torch.frombuffer(bytearray(images), dtype=torch.uint8).float()
    x = (x / 255 - case.MEAN) / case.STD
    x = x.reshape(case.SAMPLES, 1, case.SIDE, case.SIDE)
    y = torch.tensor([case.label_of(sample) for sample in range(case.SAMPLES)])
    model = DistributedDataParallel(network())
    if is_bf16:
        model.register_comm_hook(None, bf16_compress_hook)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=case.LR,
        momentum=case.MOMENTUM,
        weight_decay=case.WEIGHT_DECAY,
    )
    own = case.BATCH // case.RANKS
    losses = []
    for step in range(case.STEPS):
        start = step * case.BATCH % case.SAMPLES + rank * own
        optimizer.zero_grad()
        own_batch = slice(start, start + own)
        loss = torch.nn.functional.cross_entropy(model(x[own_batch]), y[own_batch])
        loss.backward()
        optimizer.step()
        mean = loss.detach().double() / case.RANKS
        dist.all_reduce(mean)
        losses.append(float(f"{mean.item():.9g}"))
    if rank == 0:
        pathlib.Path(out).write_text(json.dumps(losses))
    dist.destroy_process_group()


def run(is_bf16: bool) -> list:
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/losses.json"
        processes.spawn(be_rank, (folder + "/store", is_bf16, out), case.RANKS)
        return json.loads(pathlib.Path(out).read_text())


def main() -> None:
    text = json.dumps({"plain": run(False), "bf16": run(True)}, indent=1)
    case.GOLDEN.write_text(text + "\n")


if __name__ == "__main__":
    main()
