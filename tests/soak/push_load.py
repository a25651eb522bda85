#!/usr/bin/env python3
"""1,000 runs push at once for 5 minutes: nothing lost, nothing doubled, and readers hardly notice.

Usage: push_load.py [--bin FOLDER] [--runs N] [--seconds S] [--rate STEPS] [--kills N]

Twice: once with the server left alone, where the 99th percentile of reads (lists, charts, runs) is
measured, and once with the server killed N times meanwhile. In the end `kedge sync --dry-run`
compares counts and digests of all logs, and the curves of some runs are compared point by point.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_process import ServerProcess, folder_curves  # noqa: E402

LIMIT_MS = 250

# What a process asks the kernel about itself costs more the more threads it has, so the runs are
# spread over processes.
RUNS_PER_PROCESS = 25


def run_name(number: int) -> str:
    return f"r{number // RUNS_PER_PROCESS}-{number % RUNS_PER_PROCESS}"


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, data=json.dumps(body).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Reader(threading.Thread):
    """Reads as a person with the page open does, and notes how long each answer takes."""

    def __init__(self, server: ServerProcess, seed: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.random = random.Random(seed)
        self.times_ms: dict[str, list[float]] = {"search": [], "series": [], "run": []}
        self.errors: list[str] = []
        self.is_stopping = False

    def run(self) -> None:
        while not self.is_stopping:
            kind = self.random.choice(list(self.times_ms))
            begin = time.monotonic()
            try:
                self.read(kind)
                self.times_ms[kind].append((time.monotonic() - begin) * 1000)
            except urllib.error.HTTPError as error:
                if error.code != 404:  # the run is not made yet
                    self.errors.append(str(error))
            except OSError as error:
                self.errors.append(str(error))
            time.sleep(0.05)

    def read(self, kind: str) -> None:
        names = [run_name(self.random.randrange(100)) for _ in range(10)]
        if kind == "search":
            body = {"project": "load", "filter": "train/loss < 0.9", "order": ["-created"]}
            post(f"{self.server.url}/api/v1/runs/search", body | {"limit": 50})
        elif kind == "series":
            runs = [{"project": "load", "id": name} for name in names]
            post(f"{self.server.url}/api/v1/series", {"runs": runs, "keys": ["train/loss"]})
        else:
            self.server.get(f"/api/v1/runs/load/{names[0]}")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))] if values else 0


def start_runs(
    args: argparse.Namespace, folder: pathlib.Path, url: str
) -> list[subprocess.Popen]:
    """All runs, logging and pushing, in processes of RUNS_PER_PROCESS."""
    command = [args.bin / "push_runs", folder, "--server", url, "--wait", 120, "--rate", args.rate]
    command += ["--runs", RUNS_PER_PROCESS, "--steps", int(args.seconds * args.rate), "--id"]
    return [
        subprocess.Popen(
            [*map(str, command), f"r{number}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(args.runs // RUNS_PER_PROCESS)
    ]


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_now_and_then(server: ServerProcess, args: argparse.Namespace, kills: int) -> None:
    generator = random.Random(7)
    for _ in range(kills):
        time.sleep(generator.uniform(0.5, 1.5) * args.seconds / (kills + 1))
        server.kill()
        server.start()


def play(args: argparse.Namespace, kills: int) -> bool:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-load-"))
    # The runs stand for those on a thousand other machines: their files are not this disk's load.
    memory = pathlib.Path("/dev/shm")
    runs = pathlib.Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    server = ServerProcess(args.bin / "kedge", folder / "server")
    server.start()
    writers = start_runs(args, runs, server.url)
    time.sleep(5)  # the runs are being made
    readers = [Reader(server, seed) for seed in range(2)]
    for reader in readers if kills == 0 else []:
        reader.start()
    kill_now_and_then(server, args, kills)
    if kills == 0:
        time.sleep(args.seconds)
        runs_s = sum(cpu_seconds(writer.pid) for writer in writers)
        print(f"  CPU: server {cpu_seconds(server.process.pid):.1f} s, runs {runs_s:.1f} s")
    ends = [writer.communicate(timeout=args.seconds * 3 + 300) for writer in writers]
    for reader in readers:
        reader.is_stopping = True
    errors = "".join(error for _, error in ends)
    is_fine = all(writer.returncode == 0 for writer in writers)
    is_fine &= kills > 0 or "kedge sync" not in errors
    reports = [json.loads(out) for out, _ in ends if out]
    compare = [args.bin / "kedge", "sync", runs, "--server", server.url]
    if kills > 0:  # what a run could not send before it ended is sent as its last words say
        sent = subprocess.run([*compare, "--json"], capture_output=True, check=False)
        print(f"  kedge sync sent {json.loads(sent.stdout)['sent']} records that were left")
    compared = subprocess.run([*compare, "--dry-run", "--json"], capture_output=True, check=False)
    totals = json.loads(compared.stdout)
    is_fine &= totals["equal"] and totals["missing"] == 0 and len(totals["runs"]) == args.runs
    for number in range(0, args.runs, max(1, args.runs // 20)):
        expected = folder_curves(args.bin / "kedge", runs / "load" / run_name(number))
        is_fine &= server.curves("load", run_name(number)) == expected
    print(
        f"{args.runs} runs, {args.seconds} s, {kills} kills: {totals['records']} records,"
        f" {totals['missing']} missing, digests {'equal' if totals['equal'] else 'DIFFER'};"
        f" a step's log calls {max(each['step_us']['p99'] for each in reports):.1f} us at p99,"
        f" the end {max(each['finish_s'] for each in reports):.1f} s"
    )
    if kills == 0:
        for kind in readers[0].times_ms:
            times = [each for reader in readers for each in reader.times_ms[kind]]
            p99 = percentile(times, 0.99)
            is_fine &= p99 < LIMIT_MS
            print(
                f"  {kind}: {len(times)} reads, median {percentile(times, 0.5):.1f} ms,"
                f" p99 {p99:.1f} ms, longest {max(times, default=0):.1f} ms"
            )
        failed = [error for reader in readers for error in reader.errors]
        is_fine &= not failed
        print(f"  {len(failed)} reads failed {failed[:3]}")
    server.stop()
    if is_fine:
        shutil.rmtree(folder)
        shutil.rmtree(runs)
    else:
        print(f"FAILED; kept {folder} and {runs}\n{errors[-2000:]}")
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--rate", type=float, default=5)
    parser.add_argument("--kills", type=int, default=50)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    results = [play(args, kills) for kills in sorted({0, args.kills})]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
