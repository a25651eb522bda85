#!/usr/bin/env python3
"""Checkpoints beside torch.save and PyTorch DCP: stall, total time, bytes, cost of verifying.

Usage: checkpoint_vs_torch.py [--folder DIR] [--millions N] [--rounds N]

Needs a Python with torch (KEDGE_PEER_PYTHON, else python3) and build/bin/bench_checkpoint (ninja -C
build bench_checkpoint). Weights and two moments of N million float32 parameters on the CPU, the
same disk, rounds in turns; every writer ends with an fsync, so that "total" is on the disk.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

PEER = """
import json, os, sys, time
import torch
import torch.distributed.checkpoint as dcp

folder, millions, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
state = {
    part: {f"layer{i}.weight": torch.randn(1024, 1024) for i in range(millions)}
    for part in ("model", "exp_avg", "exp_avg_sq")
}

def sync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)

def size(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs)

os.makedirs(folder, exist_ok=True)
if how == "torch.save":
    path = os.path.join(folder, "state.pt")
    start = time.perf_counter()
    torch.save(state, path)
    sync(path)
    stall = total = time.perf_counter() - start
    torch.load(path, mmap=True)
    start = time.perf_counter()
    loaded = torch.load(path)
    load = time.perf_counter() - start
else:
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://" + folder + "/../rendezvous", rank=0,
                            world_size=1)
    path = os.path.join(folder, "dcp")
    start = time.perf_counter()
    future = dcp.async_save(state, checkpoint_id=path)
    stall = time.perf_counter() - start
    future.result()
    for name in os.listdir(path):
        sync(os.path.join(path, name))
    total = time.perf_counter() - start
    dcp.load(state, checkpoint_id=path)
    start = time.perf_counter()
    dcp.load(state, checkpoint_id=path)
    load = time.perf_counter() - start
    dist.destroy_process_group()
print(json.dumps({"stall_s": stall, "total_s": total, "load_s": load, "bytes": size(folder)}))
"""


def run(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:2])} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(args: argparse.Namespace, how: str) -> dict:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-bench-", dir=args.folder))
    try:
        if how.startswith("kedge"):
            result = run(
                [str(args.bin / "bench_checkpoint"), str(folder / "kedge"), args.millions]
            )
            result["total_s"] = result["stall_s"] + result["write_s"]
            return result
        python = os.environ.get("KEDGE_PEER_PYTHON", "python3")
        return run([python, "-c", PEER, str(folder / "peer"), args.millions, how])
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=".")
    parser.add_argument("--millions", default="50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    args = parser.parse_args()
    results: dict[str, list[dict]] = {"kedge": [], "torch.save": [], "DCP async": []}
    for _ in range(args.rounds):
        for how, seen in results.items():
            seen.append(measure(args, how))

    def median(how: str, key: str) -> float:
        return statistics.median(result[key] for result in results[how])

    print("| writer | stall s | total s | load s | MB |")
    print("| --- | --- | --- | --- | --- |")
    for how in results:
        row = [median(how, key) for key in ("stall_s", "total_s", "load_s")]
        cells = " | ".join(f"{value:.3f}" for value in row)
        print(f"| {how} | {cells} | {median(how, 'bytes') / 1e6:.0f} |")
    verify = median("kedge", "load_verified_s") - median("kedge", "load_s")
    share = verify / median("kedge", "load_verified_s")
    print(f"\nverifying is {share:.0%} of a verified load; ", end="")
    print(f"reading back after a save takes {median('kedge', 'verify_s'):.2f} s beside training")


if __name__ == "__main__":
    main()
