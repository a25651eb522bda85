"""kedge's language models on this machine's GPU: tokens per second and memory, one table.

    python3 bench/llm_gpu.py [--kedge build/bin/kedge-train] [--cases full-135m,full-1b,...]
                             [--steps 12] [--runs 1] [key=value ...]

Layouts, batches and contexts are those that are measured of PyTorch with transformers; weights and
tokens are random, which costs the same time. kedge trains for real, with metrics and event log; the
speed is that of whole epochs after the first, the median; `first` are the seconds from the command
to the end of the first epoch. The cases decode-8b... go on with a text of 64 tokens, from a folder
of Hugging Face's, whole or with weights in few bits. Words key=value go to every command.
"""

import argparse
import array
import csv
import json
import pathlib
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
CONTEXT = 2048
KEYS = [
    "data.name=tokens",
    "data.path=tokens",
    f"data.context={CONTEXT}",
    "optimizer.name=adamw",
    "optimizer.lr=0.0001",
    "loader.drop_last=true",
    "train.eval_every=0",
    "train.epochs=3",
    "checkpoint.enabled=false",
]
FULL = ["train.precision=bf16-pure"]
LORA = ["train.precision=bf16", "model.lora.rank=16", "model.lora.alpha=32"]
# Batch and keys.
CASES = {
    "full-135m": (16, ["model.name=smollm2-135m", "model.vocab=49152", *FULL]),
    "full-1b": (8, ["model.name=llama-1b", "model.vocab=128256", *FULL]),
    "lora-8b": (4, ["model.name=llama-8b", "model.vocab=128256", *LORA]),
    "lora-8b-recompute": (
        4,
        ["model.name=llama-8b", "model.vocab=128256", "train.recompute=true", *LORA],
    ),
    "qlora-8b": (
        4,
        ["model.name=llama-8b", "model.vocab=128256", "model.quantize=nf4", *LORA],
    ),
    "full-8b": (2, ["model.name=llama-8b", "model.vocab=128256", *FULL]),
    "full-8b-adamw8bit": (
        2,
        ["model.name=llama-8b", "model.vocab=128256", "optimizer.name=adamw8bit", *FULL],
    ),
    # bench/moe_gpu_peer.py is transformers' Mixtral of this layout.
    "full-moe": (
        8,
        [
            "model.name=moe-mini",
            "model.layers=16",
            "model.width=1024",
            "model.heads=16",
            "model.kv_heads=8",
            "model.ffn=2816",
            "model.experts=8",
            "model.vocab=49152",
            *FULL,
        ],
    ),
}

DECODE = {
    "decode-8b": [],
    "decode-8b-int8": ["model.quantize=int8"],
    "decode-8b-fp8": ["model.quantize=fp8"],
    "decode-8b-nf4": ["model.quantize=nf4"],
}


def write_tokens(folder: pathlib.Path, windows: int) -> None:
    (folder / "tokens").mkdir(exist_ok=True)
    ids = array.array("H", random.Random(1).choices(range(49152), k=windows * CONTEXT + 1))
    (folder / "tokens" / "train.bin").write_bytes(ids.tobytes())
    (folder / "tokens" / "val.bin").write_bytes(ids[: CONTEXT + 1].tobytes())
    (folder / "tokens" / "meta.json").write_text('{"vocab": 49152}')


SHAPE_8B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
}


def tensors_of(shape: dict) -> dict[str, list[int]]:
    width, ffn, vocab = shape["hidden_size"], shape["intermediate_size"], shape["vocab_size"]
    narrow = width * shape["num_key_value_heads"] // shape["num_attention_heads"]
    sizes = {"model.embed_tokens.weight": [vocab, width], "lm_head.weight": [vocab, width]}
    for i in range(shape["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, rows in (("q", width), ("k", narrow), ("v", narrow), ("o", width)):
            sizes[f"{layer}self_attn.{name}_proj.weight"] = [rows, width]
        for name, size in (("gate", [ffn, width]), ("up", [ffn, width]), ("down", [width, ffn])):
            sizes[f"{layer}mlp.{name}_proj.weight"] = size
        for name in ("input_layernorm", "post_attention_layernorm"):
            sizes[f"{layer}{name}.weight"] = [width]
    return {**sizes, "model.norm.weight": [width]}


def write_model(folder: pathlib.Path, shape: dict) -> None:
    """Random weights, the same block of them again and again, and a tokenizer of bytes."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(shape))
    header, at = {}, 0
    for name, size in tensors_of(shape).items():
        count = 2 * size[0] * (size[1] if len(size) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": size, "data_offsets": [at, at + count]}
        at += count
    draw = random.Random(1)
    floats = struct.pack("<524288f", *(draw.gauss(0, 0.02) for _ in range(524288)))
    block = b"".join(floats[i + 2 : i + 4] for i in range(0, len(floats), 4))
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for left in range(at, 0, -len(block)):
            file.write(block[:left])
    bytes_ = [*range(33, 127), *range(161, 173), *range(174, 256)]
    alphabet = [chr(b) for b in bytes_] + [chr(256 + i) for i in range(256 - len(bytes_))]
    names = alphabet + [f"t{i}" for i in range(shape["vocab_size"] - len(alphabet))]
    layout = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {**layout, "use_regex": False},
        "decoder": layout,
        "model": {"type": "BPE", "vocab": {name: i for i, name in enumerate(names)}, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def decode(kedge: str, folder: pathlib.Path, keys: list[str]) -> float:
    """Tokens per second of the 512 after the first 128: nothing is made ready in these. The first
    run compiles kernels and is not counted."""
    seconds = []
    for count in (8, 128, 640):
        command = [kedge, "generate", "model", "a" * 64, "--max-tokens", str(count), *keys]
        done = subprocess.run(command, cwd=folder, capture_output=True)
        told = re.search(rb"%d tokens in ([0-9.]+) s" % count, done.stdout + done.stderr)
        if told is None:
            sys.exit(f"llm_gpu.py: {' '.join(command)}\n{done.stderr[-3000:].decode()}")
        seconds.append(float(told[1]))
    return 512 / (seconds[2] - seconds[1])


def train(
    kedge: str, folder: pathlib.Path, keys: list[str]
) -> tuple[list[float], float, float]:
    """Seconds of each epoch after the first, peak memory in GiB, seconds up to the first epoch."""
    (folder / "config.yaml").write_text("{}\n")
    command = [kedge, "train", "config.yaml", "run.id=bench", "resume=never", *KEYS, *keys]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    whole = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"llm_gpu.py: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    run = folder / "runs" / "default" / "bench"
    with (run / "metrics.csv").open() as file:
        seconds = [float(row["epoch_seconds"]) for row in csv.DictReader(file)]
    summary = json.loads((run / "run.json").read_text()).get("summary", {})
    first = whole - sum(seconds[1:])
    return seconds[1:], summary.get("peak_memory_bytes", 0) / 2**30, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kedge", default=str(HERE.parent / "build/bin/kedge-train"))
    parser.add_argument("--cases", default=",".join([*CASES, *DECODE]))
    parser.add_argument("--steps", type=int, default=12, help="of an epoch")
    parser.add_argument("--runs", type=int, default=1)
    arguments, keys = parser.parse_known_args()
    kedge = str(pathlib.Path(arguments.kedge).resolve())
    print("| case | batch x context | tokens/s | memory, GiB | first, s |", flush=True)
    print("| --- | --- | --- | --- | --- |", flush=True)
    for case in arguments.cases.split(","):
        if case.startswith("decode-8b"):
            given = [*DECODE[case], *keys]
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                write_model(folder / "model", SHAPE_8B)
                speeds = [decode(kedge, folder, given) for _ in range(arguments.runs)]
            print(f"| {case} | 1 x 640 new | {statistics.median(speeds):,.0f} | | |", flush=True)
            continue
        batch, own = CASES[case]
        seconds, memory, first = [], 0.0, 0.0
        for _ in range(arguments.runs):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                write_tokens(folder, arguments.steps * batch)
                given = [*own, f"loader.batch_size={batch}", *keys]
                found, memory, first = train(kedge, folder, given)
                seconds += found
        speed = arguments.steps * batch * CONTEXT / statistics.median(seconds)
        row = f"| {case} | {batch} x {CONTEXT} | {speed:,.0f} | {memory:.1f} | {first:.1f} |"
        print(row, flush=True)


if __name__ == "__main__":
    main()
