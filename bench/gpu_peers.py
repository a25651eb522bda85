"""What a PyTorch user reaches on this GPU: one JSON line per case and way, for bench/gpu.py.

Synthetic data of the right shapes: these are speeds, not accuracies. Items are images or tokens.

    python3 bench/gpu_peers.py simplecnn|resnet18|resnet50|gpt2 [--seconds 3]
"""

import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
WAYS = {"eager": None, "compile": "default", "compile+graphs": "reduce-overhead"}


def simplecnn() -> nn.Module:
    def block(inputs: int, outputs: int) -> nn.Sequential:
        conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2))

    head = [nn.Flatten(), nn.Linear(4096, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10)]
    model = nn.Sequential(block(3, 64), block(64, 128), block(128, 256), *head)
    assert sum(p.numel() for p in model.parameters()) == 2_474_506
    return model


def resnet(name: str) -> nn.Module:
    import torchvision

    model = getattr(torchvision.models, name)(num_classes=10)
    if name == "resnet18":  # the CIFAR stem
        model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        model.maxpool = nn.Identity()
    return model


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, x.shape[2] // self.heads)
        parts = self.qkv(self.norm1(x)).split(x.shape[2], 2)
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """124M parameters; the vocabulary padded to 50,304."""

    def __init__(self, vocab=50304, context=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def measure(way: str, step, items: int, seconds: float) -> None:
    for _ in range(8):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    start, count = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds:
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        count += 10
    memory = torch.cuda.max_memory_allocated() / 2**30
    found = {"way": way, "items_per_s": round(items * count / elapsed), "memory_gib": memory}
    print(json.dumps(found), flush=True)


def train_step(model, optimizer, batch, loss_of):
    def step():
        x, y = batch()
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def loader_batches(pixels, labels, size: int, workers: int):
    """The usual way: DataLoader workers with torchvision's transforms."""
    import torchvision.transforms as T
    from PIL import Image

    mean, std = (0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)
    crop = [T.RandomCrop(32, 4), T.RandomHorizontalFlip()]
    transform = T.Compose([*crop, T.ToTensor(), T.Normalize(mean, std)])

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return len(labels)

        def __getitem__(self, i):
            image = Image.fromarray(pixels[i].permute(1, 2, 0).numpy())
            return transform(image), int(labels[i])

    loader = torch.utils.data.DataLoader(
        Images(), size, shuffle=True, num_workers=workers, pin_memory=True, drop_last=True
    )
    while True:
        for x, y in loader:
            yield x.cuda(non_blocking=True), y.cuda(non_blocking=True)


def images(make, size: int, seconds: float) -> None:
    pixels = torch.randint(0, 256, (50000, 3, 32, 32), dtype=torch.uint8)
    labels = torch.randint(0, 10, (50000,))
    on_gpu, labels_on_gpu = pixels.cuda(), labels.cuda()

    def resident():
        i = torch.randint(0, 50000, (size,), device="cuda")
        x = on_gpu[i].float().div_(255).contiguous(memory_format=torch.channels_last)
        return x, labels_on_gpu[i]

    def sgd(model):
        return torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=5e-4, fused=True)

    for way, mode in WAYS.items():
        torch._dynamo.reset()
        model = make().to("cuda", memory_format=torch.channels_last)
        run = torch.compile(model, mode=mode) if mode else model
        step = train_step(run, sgd(model), resident, F.cross_entropy)
        measure(way, step, size, seconds)
    batches = loader_batches(pixels, labels, size, 4)
    model = make().cuda()
    step = train_step(model, sgd(model), lambda: next(batches), F.cross_entropy)
    measure("DataLoader, 4 workers", step, size, seconds)


def gpt2(size: int, seconds: float) -> None:
    ids = torch.randint(0, 50257, (size, 1025), device="cuda")

    def loss_of(scores, targets):
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))

    for way, mode in list(WAYS.items())[:2]:
        torch._dynamo.reset()
        model = Gpt2().cuda()
        optimizer = torch.optim.AdamW(
            model.parameters(), 6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
        )
        run = torch.compile(model, mode=mode) if mode else model
        step = train_step(run, optimizer, lambda: (ids[:, :-1], ids[:, 1:]), loss_of)
        measure(way, step, size * 1024, seconds)
        del model, optimizer, run, step
        torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["simplecnn", "resnet18", "resnet50", "gpt2"])
    parser.add_argument("--seconds", type=float, default=3)
    arguments = parser.parse_args()
    if arguments.case == "gpt2":
        gpt2(32, arguments.seconds)
    elif arguments.case == "simplecnn":
        images(simplecnn, 128, arguments.seconds)
    else:
        size = {"resnet18": 512, "resnet50": 256}[arguments.case]
        images(lambda: resnet(arguments.case), size, arguments.seconds)


if __name__ == "__main__":
    main()
