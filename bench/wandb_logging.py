"""How long does a `wandb` script take to log 10,000 steps of 10 metrics, and what is the client's?

    PYTHON-WITH-WANDB bench/wandb_logging.py [BINARY [ROUNDS]]

Online against a kedge server on this machine, and offline (the client's own floor) beside it, in
turn, ROUNDS (3) times each. Prints seconds from the first log() to the end of finish().
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/server"))
from server_process import ServerProcess  # noqa: E402

STEPS = 10_000

SCRIPT = """
import sys, time, wandb
run = wandb.init(project="bench", mode=sys.argv[1])
start = time.perf_counter()
for step in range(int(sys.argv[2])):
    run.log({f"metric_{i}": step * 0.001 + i for i in range(10)})
logged = time.perf_counter()
run.finish()
print("SECONDS", logged - start, time.perf_counter() - start, run.id)
"""


def measure(mode: str, folder: pathlib.Path, url: str) -> tuple[float, float, str]:
    environment = {
        **os.environ,
        "WANDB_BASE_URL": url,
        "WANDB_API_KEY": "k" * 40,
        "WANDB_DIR": str(folder),
        "WANDB_SILENT": "true",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, mode, str(STEPS)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("SECONDS"))
    _, logged, finished, run = line.split()
    return float(logged), float(finished), run


def main() -> None:
    binary = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bin/kedge").resolve()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as name:
        folder = pathlib.Path(name)
        server = ServerProcess(binary, folder / "data")
        server.start()
        times: dict[str, list[float]] = {"online": [], "offline": []}
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
            for mode in times:
                _, finished, run = measure(mode, folder, server.url)
                times[mode].append(finished)
                if mode == "online":
                    points = server.history("bench", run, "metric_3")
                    assert len(points) == STEPS, f"{len(points)} points arrived"
        server.stop()
    for mode, seconds in times.items():
        best, middle = min(seconds), statistics.median(seconds)
        print(
            f"{mode:8} median {middle:6.2f} s, best {best:6.2f} s, {STEPS / middle:8.0f} steps/s"
        )
    ratio = statistics.median(times["online"]) / statistics.median(times["offline"])
    print(f"online takes {ratio:.2f} times the client's own floor")


if __name__ == "__main__":
    main()
