"""What trainings came to on some machines, kept in a JSON file, and how a training is held to it.

On a machine like one in the file (the same processor, instructions, caches and libtorch) every
tensor and metric must be the same bit by bit. Elsewhere libtorch, oneDNN and MKL choose other
kernels, which add in another order: there sums, sums of squares and metrics agree to TOLERANCE, and
what no kernel decides (the place in the data, the order of samples) is the same.
"""

import argparse
import array
import json
import math
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterator

from ends import ROOT, as_text, digest, read_records, read_tensors, without_clocks

# Measured with `golden.py --elsewhere` under ATEN_CPU_CAPABILITY=default, avx2, avx512 and
# ONEDNN_MAX_CPU_ISA=SSE41, AVX2, AVX512_CORE, nine pairs on one machine: the largest deviations
# were 4e-5 in fp32 (a loss of 0.001) and 5e-3 in bf16 (a momentum). Processors of other makers were
# not at hand and may be further apart, hence 25 and 6 times that.
TOLERANCE = {"fp32": 1e-3, "bf16": 3e-2}
# Gradients that are 0 but for rounding (of a bias before BatchNorm) have no digits to compare.
SMALLEST_SCALE = 1e-3
# Accuracies of a dozen samples move by whole samples.
COUNTED = re.compile("accuracy|top5")
COUNTED_TOLERANCE = 0.2

# What no kernel decides.
EXACT_STATE = ("step", "epoch", "batch", "position", "samples", "samples_hash", "data_digest")
FORMATS = {"F32": "f", "F64": "d", "I64": "q"}


def read_machine(run: pathlib.Path) -> dict[str, str]:
    """What decides which kernels run: hypervisors give many processors one name."""
    facts = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    flags = [f for f in facts.get("flags", "").split() if re.match("avx|amx|fma|f16c|sse4", f)]
    names = ("model name", "cpu family", "model", "cache size")
    machine = {name: facts.get(name, "") for name in names}
    machine["instructions"] = " ".join(sorted(flags))
    machine["libtorch"] = json.loads((run / "environment.json").read_text())["libtorch"]
    return machine


def widen(content: bytes) -> array.array:
    """bfloat16 is the upper half of a float."""
    halves = array.array("H", content)
    return array.array("f", array.array("I", [half << 16 for half in halves]).tobytes())


def describe(tensor: tuple[str, bytes]) -> list:
    """Digest, count, sum and sum of squares; bytes of a generator have a digest alone."""
    dtype, content = tensor
    if dtype != "BF16" and dtype not in FORMATS:
        return [digest(content)]
    numbers = widen(content) if dtype == "BF16" else array.array(FORMATS[dtype], content)
    squares = math.fsum(x * x for x in numbers)
    return [digest(content), len(numbers), math.fsum(numbers), squares]


def read_metrics(run: pathlib.Path) -> dict[str, list[float]]:
    """Of all attempts, by name, in the order of their steps."""
    points: dict[str, dict[int, float]] = {}
    for log in sorted(run.glob("events-*.klog")):
        for record in read_records(log):
            if record["type"] == "scalars":
                for key, value in without_clocks(record["body"]).items():
                    points.setdefault(key, {})[record["step"]] = value
    return {key: [of[step] for step in sorted(of)] for key, of in sorted(points.items())}


def summarise(run: pathlib.Path) -> dict:
    """One training's entry: its last checkpoint and its metrics."""
    last = run / "checkpoints/last"
    state = json.loads((last / "manifest.json").read_text())["state"]
    return {
        "state": {key: state[key] for key in EXACT_STATE},
        "metrics": read_metrics(run),
        "tensors": {name: describe(tensor) for name, tensor in read_tensors(last).items()},
    }


class Deviation:
    """The largest so far, as a share of what is allowed."""

    def __init__(self, tolerance: float):
        self.tolerance = tolerance
        self.share = 0.0
        self.text = "none"

    def add(self, name: str, one: float, other: float, scale: float, tolerance: float = 0) -> None:
        tolerance = tolerance or self.tolerance
        if math.isnan(one) and math.isnan(other):
            return
        relative = abs(one - other) / max(scale, SMALLEST_SCALE)
        # A NaN in one of the two is no small deviation.
        share = relative / tolerance if math.isfinite(relative) else math.inf
        if share > self.share:
            self.share = share
            self.text = f"{name} is {one:.8g}, not {other:.8g} (off by {relative:.1e})"


def compare_near(wanted: dict, found: dict, precision: str) -> Deviation:
    deviation = Deviation(TOLERANCE[precision])
    for name, values in wanted["metrics"].items():
        allowed = COUNTED_TOLERANCE if COUNTED.search(name) else 0
        for one, other in zip(found["metrics"][name], values):
            deviation.add(name, one, other, max(1, abs(other)) if allowed else abs(other), allowed)
    for name, numbers in wanted["tensors"].items():
        if len(numbers) == 1:
            continue
        _, count, total, squares = numbers
        _, _, found_total, found_squares = found["tensors"][name]
        # By Cauchy and Schwarz no sum exceeds this; the sum itself may be near 0.
        deviation.add(f"sum of {name}", found_total, total, math.sqrt(count * squares))
        deviation.add(f"norm of {name}", *map(math.sqrt, (found_squares, squares, squares)))
    return deviation


def find_shape_difference(wanted: dict, found: dict) -> str | None:
    """What must be the same on every machine."""
    for key, value in wanted["state"].items():
        if found["state"][key] != value:
            return f"{key} is {found['state'][key]}, not {value}"
    for kind in ("metrics", "tensors"):
        if odd := sorted(wanted[kind].keys() ^ found[kind].keys()):
            return f"{kind} of only one of the two: {', '.join(odd[:3])}"
    for name, values in wanted["metrics"].items():
        if len(found["metrics"][name]) != len(values):
            return f"{name} has {len(found['metrics'][name])} values, not {len(values)}"
    for name, numbers in wanted["tensors"].items():
        if found["tensors"][name][1:2] != numbers[1:2]:
            return f"{name} has {found['tensors'][name][1:2]} numbers, not {numbers[1:2]}"
    return None


def find_bit_difference(wanted: dict, found: dict) -> str | None:
    for name, values in wanted["metrics"].items():
        for at, (one, other) in enumerate(zip(found["metrics"][name], values)):
            if as_text(one) != as_text(other):
                return f"value {at + 1} of {name} is {one!r}, not {other!r}"
    for name, numbers in wanted["tensors"].items():
        if found["tensors"][name][0] != numbers[0]:
            return f"{name} differs"
    return None


class GoldenFile:
    """Entries of several machines; the first is the one that others are held to by tolerance."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.entries = json.loads(path.read_text())["entries"] if path.exists() else []

    def find(self, machine: dict) -> dict | None:
        return next((e["rows"] for e in self.entries if e["machine"] == machine), None)

    def put(self, machine: dict, rows: dict) -> None:
        self.entries = [e for e in self.entries if e["machine"] != machine]
        self.entries.append({"machine": machine, "rows": rows})
        lines = ",\n".join(self._render(entry) for entry in self.entries)
        self.path.write_text(f'{{"entries": [\n{lines}\n]}}\n')

    @staticmethod
    def _render(entry: dict) -> str:
        rows = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}"
            for name, row in entry["rows"].items()
        )
        return f'{{"machine": {json.dumps(entry["machine"])},\n"rows": {{\n{rows}\n}}}}'

    def judge(self, name: str, found: dict, machine: dict, precision: str) -> tuple[bool, str]:
        """Whether a training came to what the file says, and a line about it."""
        exact = self.find(machine)
        rows = exact or (self.entries[0]["rows"] if self.entries else {})
        if name not in rows:
            return False, f"{self.path.name} does not have it: --write adds it"
        wanted = rows[name]
        if difference := find_shape_difference(wanted, found):
            return False, difference
        counts = f"{len(wanted['tensors'])} tensors, {len(wanted['metrics'])} metrics"
        if exact is not None:
            difference = find_bit_difference(wanted, found)
            return difference is None, difference or f"same ({counts})"
        deviation = compare_near(wanted, found, precision)
        share = f"{100 * deviation.share:.1f}% of what may be: {deviation.text}"
        return deviation.share <= 1, f"other kernels, {share} ({counts})"


# Name, precision, machine (read_machine) and summary (summarise) of a training.
Came = tuple[str, str, dict, dict]


def hold_to_file(
    path: pathlib.Path, about: str, work: Callable[[pathlib.Path, pathlib.Path], Iterator[Came]]
) -> int:
    """The main program of what holds trainings to `path`: work(kedge, scratch folder) does them."""
    parser = argparse.ArgumentParser(description=about)
    default = ROOT / "build/bin/kedge"
    parser.add_argument("kedge", nargs="?", type=pathlib.Path, default=default, metavar="KEDGE")
    parser.add_argument("--write", action="store_true", help="keep what this program comes to")
    parser.add_argument("--elsewhere", action="store_true", help="judge as on another machine")
    args = parser.parse_args()
    golden, found, failed = GoldenFile(path), {}, 0
    with tempfile.TemporaryDirectory(prefix="kedge-identity-") as scratch:
        for name, precision, machine, summary in work(args.kedge.resolve(), pathlib.Path(scratch)):
            found[name] = summary
            if not args.write:
                where = {} if args.elsewhere else machine
                is_same, line = golden.judge(name, summary, where, precision)
                print(f"{name}: {line}", flush=True)
                failed += not is_same
    if args.write:
        golden.put(machine, found)
        print(f"wrote {len(found)} rows for {machine['model name']} to {path}")
    return 1 if failed else 0
