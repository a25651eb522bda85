"""What golden generators share: values that a hash or a formula makes, how they are written."""

import math

import numpy as np
import torch


def mix64(x):
    """SplitMix64's finaliser, as mix64() of core/random.h."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def noise(stream, shape):
    """Float32 values in [-1, 1): element i of a stream is a pure function of (stream, i)."""
    with np.errstate(over="ignore"):
        key = mix64(np.array([stream], dtype=np.uint64))
        bits = mix64(key + np.arange(math.prod(shape), dtype=np.uint64))
    unit = (bits >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
    return torch.from_numpy(unit * 2 - 1).reshape(shape)


def weight_value(name, stream, shape):
    values = noise(stream, shape)
    if len(shape) >= 2:
        return values * np.float32(math.sqrt(3.0 / (math.prod(shape) / shape[0])))
    if name.endswith("weight") or name.endswith("running_var"):
        return 1 + values * np.float32(0.1)
    return values * np.float32(0.1)


def numbers(tensor):
    return [float(f"{v:.9g}") for v in tensor.detach().flatten().double().tolist()]


def initial(index, shape):
    count = math.prod(shape)
    values = [math.cos(0.23 * i + index) for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)


def gradient(index, shape, step):
    count = math.prod(shape)
    values = [
        (0.5 + 0.1 * index) * math.sin(0.37 * i + 1.3 * index + 0.91 * step) + 0.05
        for i in range(count)
    ]
    return torch.tensor(values, dtype=torch.float64).float().reshape(shape)
