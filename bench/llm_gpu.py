"""kedge's language models on this machine's GPU: tokens per second and memory, one table.

    python3 bench/llm_gpu.py [--kedge build/bin/kedge-train] [--cases full-135m,full-1b,...]
                             [--steps 12] [--runs 1] [key=value ...]

Layouts, batches and contexts are those that are measured of PyTorch with transformers; weights and
tokens are random, which costs the same time. kedge trains for real, with metrics and event log; the
speed is that of whole epochs after the first, the median. Words key=value go to every training.
"""

import argparse
import array
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

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
    "full-8b": (2, ["model.name=llama-8b", "model.vocab=128256", *FULL]),
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


def write_tokens(folder: pathlib.Path, windows: int) -> None:
    (folder / "tokens").mkdir(exist_ok=True)
    ids = array.array("H", random.Random(1).choices(range(49152), k=windows * CONTEXT + 1))
    (folder / "tokens" / "train.bin").write_bytes(ids.tobytes())
    (folder / "tokens" / "val.bin").write_bytes(ids[: CONTEXT + 1].tobytes())
    (folder / "tokens" / "meta.json").write_text('{"vocab": 49152}')


def train(kedge: str, folder: pathlib.Path, keys: list[str]) -> tuple[list[float], float]:
    """Seconds of each epoch after the first, and the peak memory in GiB."""
    (folder / "config.yaml").write_text("{}\n")
    command = [kedge, "train", "config.yaml", "run.id=bench", "resume=never", *KEYS, *keys]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"llm_gpu.py: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    run = folder / "runs" / "default" / "bench"
    with (run / "metrics.csv").open() as file:
        seconds = [float(row["epoch_seconds"]) for row in csv.DictReader(file)]
    summary = json.loads((run / "run.json").read_text()).get("summary", {})
    return seconds[1:], summary.get("peak_memory_bytes", 0) / 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kedge", default=str(HERE.parent / "build/bin/kedge-train"))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--steps", type=int, default=12, help="of an epoch")
    parser.add_argument("--runs", type=int, default=1)
    arguments, keys = parser.parse_known_args()
    kedge = str(pathlib.Path(arguments.kedge).resolve())
    print("| case | batch x context | tokens/s | memory, GiB |", flush=True)
    print("| --- | --- | --- | --- |", flush=True)
    for case in arguments.cases.split(","):
        batch, own = CASES[case]
        seconds, memory = [], 0.0
        for _ in range(arguments.runs):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                write_tokens(folder, arguments.steps * batch)
                found, memory = train(kedge, folder, [*own, f"loader.batch_size={batch}", *keys])
                seconds += found
        speed = arguments.steps * batch * CONTEXT / statistics.median(seconds)
        print(f"| {case} | {batch} x {CONTEXT} | {speed:,.0f} | {memory:.1f} |", flush=True)


if __name__ == "__main__":
    main()
