"""Golden values for src/nn: forward passes, gradients and losses of the real PyTorch.

Needs PyTorch 2.11 and torchvision 0.26 (developers only; the numbers are committed):
    python tools/golden/nn.py tests/fixtures/nn

Weights and inputs are not stored: both sides make them with the same counter-based hash.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from values import noise, numbers, weight_value

FIRST_GRADIENTS = 4


def fill(module):
    with torch.no_grad():
        for i, (name, tensor) in enumerate(module.named_parameters()):
            tensor.copy_(weight_value(name, 1000 + i, tuple(tensor.shape)))
        for i, (name, tensor) in enumerate(module.named_buffers()):
            if tensor.is_floating_point():
                tensor.copy_(weight_value(name, 5000 + i, tuple(tensor.shape)))


class SimpleCnn(nn.Module):
    def __init__(self, batch_norm):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1)
        if batch_norm:
            self.bn1 = nn.BatchNorm2d(64)
        self.conv2 = nn.Conv2d(64, 128, 3, padding=1)
        if batch_norm:
            self.bn2 = nn.BatchNorm2d(128)
        self.conv3 = nn.Conv2d(128, 256, 3, padding=1)
        if batch_norm:
            self.bn3 = nn.BatchNorm2d(256)
        self.fc1 = nn.Linear(4096, 512)
        self.fc2 = nn.Linear(512, 10)

    def forward(self, x):
        for i in "123":
            x = getattr(self, "conv" + i)(x)
            if hasattr(self, "bn" + i):
                x = getattr(self, "bn" + i)(x)
            x = F.max_pool2d(F.relu(x), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class CatDog(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 5, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 5, stride=2, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.fc1 = nn.Linear(2304, 500)
        self.fc2 = nn.Linear(500, 50)
        self.fc3 = nn.Linear(50, 2)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.flatten(1))))))


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()

        def stage(cin, cout):
            return nn.Sequential(
                nn.Conv2d(cin, cout, 5, padding=2),
                nn.BatchNorm2d(cout),
                nn.ReLU(),
                nn.MaxPool2d(2),
            )

        self.layer1 = stage(1, 16)
        self.layer2 = stage(16, 32)
        self.fc = nn.Linear(1568, 10)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)).flatten(1))


class MnistNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(800, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x.flatten(1)))), dim=1)


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class SpeedBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs, eps=1e-6, momentum=0.4)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs, eps=1e-6, momentum=0.4)

    def forward(self, x):
        x = F.gelu(self.bn1(F.max_pool2d(self.conv1(x), 2)))
        return F.gelu(self.bn2(self.conv2(x)))


class SpeedNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.register_buffer("whiten_weight", torch.zeros(24, 3, 2, 2))
        self.whiten_bias = nn.Parameter(torch.zeros(24))
        self.block1 = SpeedBlock(24, 64)
        self.block2 = SpeedBlock(64, 256)
        self.block3 = SpeedBlock(256, 256)
        self.fc = nn.Linear(256, classes, bias=False)

    def scores(self, x):
        x = F.gelu(F.conv2d(x, self.whiten_weight, self.whiten_bias))
        x = self.block3(self.block2(self.block1(x)))
        return self.fc(F.max_pool2d(x, x.shape[-1]).flatten(1)) / 72

    def forward(self, x):
        if self.training:
            return self.scores(x)
        padded = F.pad(x, (1, 1, 1, 1), mode="reflect")
        moved = [padded[:, :, :-2, :-2], padded[:, :, 2:, 2:]]
        views = [(x, 0.25), *((view, 0.125) for view in moved)]
        return sum(w * (self.scores(v) + self.scores(v.flip(3))) for v, w in views)


def cifar_resnet18(classes):
    net = torchvision.models.resnet18(num_classes=classes)
    net.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    net.maxpool = nn.Identity()
    return net


def attention(q, k, v, heads, is_causal):
    """Softmax attention written out, so that the fused kernel has something to agree with."""
    batch, length, width = q.shape

    def split(x):
        return x.reshape(batch, length, heads, width // heads).permute(0, 2, 1, 3)

    scores = split(q) @ split(k).transpose(-1, -2) / math.sqrt(width // heads)
    if is_causal:
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return (scores.softmax(-1) @ split(v)).permute(0, 2, 1, 3).reshape(batch, length, width)


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.Module()
        self.attn.c_attn = nn.Linear(width, 3 * width)
        self.attn.c_proj = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Module()
        self.mlp.c_fc = nn.Linear(width, 4 * width)
        self.mlp.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.attn.c_attn(self.ln_1(x)).split(x.shape[-1], dim=-1)
        x = x + self.attn.c_proj(attention(q, k, v, self.heads, is_causal=True))
        h = self.mlp.c_fc(self.ln_2(x))
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
        return x + self.mlp.c_proj(h)


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, vocab, context):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = nn.Module()
        self.attn.qkv = nn.Linear(width, 3 * width)
        self.attn.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Module()
        self.mlp.fc1 = nn.Linear(width, 4 * width)
        self.mlp.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.attn.qkv(self.norm1(x)).split(x.shape[-1], dim=-1)
        x = x + self.attn.proj(attention(q, k, v, self.heads, is_causal=False))
        return x + self.mlp.fc2(F.gelu(self.mlp.fc1(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, side, patch, layers, heads, width, classes):
        super().__init__()
        self.cls_token = nn.Parameter(torch.empty(1, 1, width))
        self.pos_embed = nn.Parameter(torch.empty(1, (side // patch) ** 2 + 1, width))
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, width, patch, stride=patch)
        self.blocks = nn.ModuleList(VitBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def model_case(name, module, config, task, is_precise=False):
    """Scores in evaluation mode; scores and gradients of sum(scores * noise) in training mode.

    is_precise: the training pass is in float64. Where a maximum or a ReLU hangs on the last bit, a
    float32's rounding, which differs between processors, decides where a gradient goes.
    """
    torch.manual_seed(0)
    fill(module)
    if "context" in task:
        tokens = (noise(1, (2, task["context"])) + 1) / 2 * task["vocab"]
        data = tokens.long()
    else:
        data = noise(1, (4, task["channels"], task["height"], task["width"]))
    module.eval()
    with torch.no_grad():
        eval_scores = module(data)
    module.train()
    if is_precise:
        module.double()
        data = data.double()
    scores = module(data)
    (scores * noise(2, tuple(scores.shape))).sum().backward()
    keep = 40
    return {
        "model": name,
        "config": config,
        "task": task,
        "is_precise": is_precise,
        "parameters": sum(p.numel() for p in module.parameters()),
        "eval_scores": numbers(eval_scores)[:keep],
        "train_scores": numbers(scores)[:keep],
        "gradients": {
            n: {"norm": numbers(p.grad.norm())[0], "first": numbers(p.grad)[:FIRST_GRADIENTS]}
            for n, p in module.named_parameters()
        },
        "buffers": {n: numbers(b)[:FIRST_GRADIENTS] for n, b in module.named_buffers()},
    }


def model_cases():
    def image(channels, side, classes=10):
        return {"channels": channels, "height": side, "width": side, "classes": classes}

    yield model_case("simplecnn", SimpleCnn(True), {"dropout": 0.0}, image(3, 32), is_precise=True)
    yield model_case(
        "simplecnn",
        SimpleCnn(False),
        {"dropout": 0.0, "batch_norm": False},
        image(3, 32),
        is_precise=True,
    )
    resnet18 = torchvision.models.resnet18(num_classes=10)
    yield model_case("resnet18", resnet18, {"stem": "imagenet"}, image(3, 64), is_precise=True)
    yield model_case(
        "resnet18", cifar_resnet18(10), {"stem": "cifar"}, image(3, 32), is_precise=True
    )
    resnet50 = torchvision.models.resnet50(num_classes=10)
    yield model_case("resnet50", resnet50, {"stem": "imagenet"}, image(3, 64), is_precise=True)
    yield model_case("catdog", CatDog(), {}, image(3, 224, 2), is_precise=True)
    yield model_case("convnet", ConvNet(), {}, image(1, 28), is_precise=True)
    yield model_case("mnistnet", MnistNet(), {}, image(1, 28), is_precise=True)
    yield model_case("speednet", SpeedNet(10), {}, image(3, 32), is_precise=True)
    yield model_case("mlp", Mlp([192, 32, 16, 10]), {"hidden": [32, 16]}, image(3, 8))
    vit = {"patch": 4, "layers": 2, "heads": 2, "width": 32}
    yield model_case("vit", Vit(16, 4, 2, 2, 32, 10), vit, image(3, 16))
    yield model_case("gpt-nano", Gpt(3, 3, 48, 65, 16), {}, {"context": 16, "vocab": 65})


def loss_case(name, smoothing, scores, targets, value):
    value.backward()
    return {
        "loss": name,
        "label_smoothing": smoothing,
        "score_shape": list(scores.shape),
        "target_shape": list(targets.shape),
        "is_soft": targets.is_floating_point(),
        "value": numbers(value)[0],
        "gradient": numbers(scores.grad)[:20],
    }


def loss_cases():
    """Scores are noise(3) * 4; targets are noise(4): classes, or softmax over the last axis."""

    def data(shape, is_soft):
        scores = (noise(3, shape) * 4).requires_grad_()
        if is_soft:
            return scores, noise(4, shape).softmax(-1)
        return scores, ((noise(4, shape[:-1]) + 1) / 2 * shape[-1]).long()

    for smoothing in (0.0, 0.1):
        for is_soft in (False, True):
            s, t = data((6, 5), is_soft)
            loss = nn.CrossEntropyLoss(label_smoothing=smoothing)
            yield loss_case("cross_entropy", smoothing, s, t, loss(s, t))
    s, t = data((2, 3, 7), False)
    value = F.cross_entropy(s.flatten(0, 1), t.flatten())
    yield loss_case("cross_entropy", 0.0, s, t, value)
    s, t = data((6, 5), False)
    yield loss_case("nll", 0.0, s, t, F.nll_loss(F.log_softmax(s, 1), t))
    s, t = data((6, 5), True)
    yield loss_case("nll", 0.0, s, t, -(t * F.log_softmax(s, 1)).sum(1).mean())
    s, t = data((6, 5), False)
    yield loss_case("mse", 0.0, s, t, nn.MSELoss()(s, F.one_hot(t, 5).float()))
    s, t = data((6, 5), True)
    yield loss_case("mse", 0.0, s, t, nn.MSELoss()(s, t))


class Scripted(nn.Module):
    """A user's own network: BatchNorm, dropout and a branch that tracing would lose."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(4 * 8 * 8, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        if self.training:
            x = self.drop(x)
        return self.fc(x.flatten(1))


class ScriptedPair(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(64, 3)

    def forward(self, x):
        y = self.fc(x.flatten(1))
        return y, y


def write_scripts(folder):
    module = Scripted()
    fill(module)
    module.eval()
    with torch.no_grad():
        scores = numbers(module(noise(1, (4, 1, 8, 8))))
    module.train()
    torch.jit.save(torch.jit.script(module), f"{folder}/scripted.pt")
    torch.jit.save(torch.jit.script(ScriptedPair()), f"{folder}/scripted_pair.pt")
    torch.jit.save(torch.jit.freeze(torch.jit.script(module.eval())), f"{folder}/frozen.pt")
    return scores


def write_gpt_weights(folder):
    """A two-layer GPT as Hugging Face stores it: Conv1D weights [in, out], "transformer." names."""
    module = Gpt(2, 2, 8, 11, 6)
    fill(module)
    state = {}
    for name, tensor in module.state_dict().items():
        is_conv1d = any(f".{c}.weight" in name for c in ("c_attn", "c_proj", "c_fc"))
        state["transformer." + name] = tensor.T.contiguous() if is_conv1d else tensor
    state["lm_head.weight"] = state["transformer.wte.weight"].clone()
    state["transformer.h.0.attn.bias"] = torch.ones(1, 1, 6, 6)
    from safetensors.torch import save_file

    save_file(state, f"{folder}/gpt_conv1d.safetensors")
    with torch.no_grad():
        return numbers(module(((noise(1, (1, 6)) + 1) / 2 * 11).long()))


def main():
    if not torch.__version__.startswith("2.11."):
        sys.exit(f"PyTorch 2.11 is needed; this is {torch.__version__}")
    torch.set_num_threads(1)
    folder = sys.argv[1]
    golden = {
        "torch": torch.__version__,
        "models": list(model_cases()),
        "losses": list(loss_cases()),
        "scripted_scores": write_scripts(folder),
        "gpt_conv1d_scores": write_gpt_weights(folder),
    }
    with open(f"{folder}/golden.json", "w") as f:
        json.dump(golden, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
