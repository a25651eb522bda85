"""Writes tests/fixtures/{nn,train}/quantized.json: what bitsandbytes 0.50 keeps of weights in NF4
and of an optimizer's moments in 8 bits.

Usage: python tools/golden/quantized.py   (needs torch==2.11.*, bitsandbytes==0.50.*; on the CPU)

Codes are those of bitsandbytes' "default" kernels, which take the nearest entry as those of its
GPUs do. Its own C++ for the CPU looks 8-bit codes up in a table of 65536 steps, and is off by one
in a code of 700: that one is not used. Inputs are made by the hash and the formulas that the tests
repeat.
"""

import hashlib
import json
import pathlib

import bitsandbytes
import bitsandbytes.functional as F
import torch
from bitsandbytes.backends.cpu import ops as cpu_ops
from values import gradient, initial, noise, numbers

FIXTURES = pathlib.Path(__file__).parents[2] / "tests" / "fixtures"
DEFAULT = torch._C.DispatchKeySet(torch._C.DispatchKey.CompositeExplicitAutograd)
WEIGHTS = [((96, 192), True), ((96, 192), False), ((7, 90), True), ((3, 40), False)]
SHAPE = (70, 64)
OPTIONS = {"lr": 0.01, "weight_decay": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-6}
STEPS = 20
KEPT_STEPS = (1, 10, 20)


def default(name: str, *arguments):
    return getattr(torch.ops.bitsandbytes, name).default.redispatch(DEFAULT, *arguments)


def weight(shape: tuple[int, int]) -> torch.Tensor:
    """Rows of other sizes, and one of zeros."""
    scale = torch.arange(shape[0], dtype=torch.float32)[:, None]
    return noise(7, shape) * scale


def hex_of(tensor: torch.Tensor) -> str:
    return tensor.flatten().numpy().tobytes().hex()


def nf4(shape: tuple[int, int], double_quant: bool) -> dict:
    codes, absmax = default("quantize_4bit", weight(shape), 64, "nf4", torch.uint8)
    case = {"shape": shape, "double_quant": double_quant, "codes": hex_of(codes)}
    if double_quant:
        table = F.create_dynamic_map()
        offset = absmax.mean()
        scales, nested = default("quantize_blockwise", absmax - offset, table, 256)
        case |= {"offset": hex_of(offset), "nested_scales": hex_of(nested)}
        absmax = F.dequantize_blockwise(scales, absmax=nested, code=table, blocksize=256) + offset
    else:
        scales = absmax
    values = default("dequantize_4bit", codes, absmax, 64, "nf4", shape, torch.float32)
    rounded = values.to(torch.bfloat16).view(torch.int16)
    return case | {
        "scales": hex_of(scales),
        "values": hashlib.md5(values.contiguous().numpy().tobytes()).hexdigest(),
        "bfloat16": hashlib.md5(rounded.contiguous().numpy().tobytes()).hexdigest(),
    }


def adamw8bit() -> dict:
    def quantize(values, table, absmax, codes, block):
        own_codes, own_absmax = default("quantize_blockwise", values, table, block)
        codes.copy_(own_codes)
        absmax.copy_(own_absmax)

    cpu_ops._quant_blockwise_fp32_direct = quantize
    parameter = torch.nn.Parameter(initial(0, SHAPE))
    optimizer = bitsandbytes.optim.AdamW8bit(
        [parameter],
        lr=OPTIONS["lr"],
        betas=(OPTIONS["beta1"], OPTIONS["beta2"]),
        eps=OPTIONS["eps"],
        weight_decay=OPTIONS["weight_decay"],
    )
    kept = {}
    for step in range(1, STEPS + 1):
        parameter.grad = gradient(0, SHAPE, step)
        optimizer.step()
        if step in KEPT_STEPS:
            kept[str(step)] = numbers(parameter.flatten()[::61])
        if step == 1:
            state = optimizer.state[parameter]
            first = {
                name: hex_of(state[name]) for name in ("state1", "state2", "absmax1", "absmax2")
            }
    return {"shape": SHAPE, "options": OPTIONS, "parameters": kept, "first": first}


def write(folder: str, content: dict):
    path = FIXTURES / folder / "quantized.json"
    head = {"bitsandbytes": bitsandbytes.__version__}
    path.write_text(json.dumps(head | content, separators=(",", ":")) + "\n")


def main():
    torch.set_num_threads(1)
    write(
        "nn",
        {
            "tables": {
                "nf4": hex_of(F.get_4bit_type("nf4", device="cpu")),
                "signed": hex_of(F.create_dynamic_map(signed=True)),
                "unsigned": hex_of(F.create_dynamic_map(signed=False)),
            },
            "nf4": [nf4(shape, double_quant) for shape, double_quant in WEIGHTS],
        },
    )
    write("train", {"adamw8bit": adamw8bit()})


if __name__ == "__main__":
    main()
