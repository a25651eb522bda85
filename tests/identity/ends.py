"""What a training leaves behind, as names and texts that two programs can be compared by.

Everything is read from the files of the run folder (docs/formats), not by the programs that are
compared. Left out are clocks, memory, hosts and what is printed; nothing else.
"""

import csv
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/dist"))

from trainings import clean_environment, read_shard  # noqa: E402

RUN = "row"
CLOCKS = {
    "created",
    "finished",
    "resumed",
    "seconds",
    "train_seconds",
    "epoch_seconds",
    "epoch_seconds_mean",
    "val_seconds",
    "samples_per_s",
    "data_share",
    "exchange_share",
    "peak_memory_bytes",
    "manifest_xxh3",  # over the others
    "host",
}
# A checkpoint's size counts the digits of the clocks in its manifest.
UNCOMPARED_OF_ARTIFACT = {"size"}
UNCOMPARED_RECORDS = {"system", "console"}
# Of an effective config: keys that older programs did not have, and job.ranks, which became the
# same as dist.ranks.
NEW_KEYS = re.compile(
    r"  eval_steps: \d+(\n|\\n)"
    r"|  link_frozen: (false|true)(\n|\\n)"
    r"|(?<=  nodes: 1\n)  ranks: \d+\n"
    r"|(?<=  nodes: 1\\n)  ranks: \d+\\n"
)


def environment() -> dict[str, str]:
    """One thread a rank, so that sums have one order; no GPU, nobody's settings."""
    variables = {k: v for k, v in clean_environment().items() if not k.startswith("KEDGE_")}
    return variables | {"CUDA_VISIBLE_DEVICES": ""}


def run_kedge(
    kedge: pathlib.Path, folder: pathlib.Path, *words: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(kedge), *words],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )


def train(
    kedge: pathlib.Path, folder: pathlib.Path, values: list[str], code: int = 0
) -> str | None:
    """Trains run RUN in `folder`, which has a config.yaml. Returns the error, if any."""
    done = run_kedge(kedge, folder, "train", "config.yaml", f"run.id={RUN}", *values)
    if done.returncode == code:
        return None
    lines = [line for line in done.stdout.splitlines() if line] or ["nothing printed"]
    told = [line for line in lines if "error" in line] or lines[-1:]
    return f"exit code {done.returncode}: {told[0]}"


def without_clocks(value):
    if isinstance(value, dict):
        return {k: without_clocks(v) for k, v in value.items() if k not in CLOCKS}
    if isinstance(value, list):
        return [without_clocks(v) for v in value]
    return value


def as_text(value) -> str:
    """Floats as their shortest exact digits, NaN equal to NaN."""
    return json.dumps(value, sort_keys=True)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def read_tensors(checkpoint: pathlib.Path) -> dict[str, tuple[str, bytes]]:
    """shard/tensor -> (dtype, bytes): weights, buffers, optimizer, average, meters, generators."""
    return {
        f"{shard.stem}/{name}": tensor
        for shard in sorted(checkpoint.glob("*.safetensors"))
        for name, tensor in read_shard(shard).items()
    }


def read_manifest(checkpoint: pathlib.Path) -> dict[str, str]:
    """The state by its keys, and how each part is laid out."""
    manifest = without_clocks(json.loads((checkpoint / "manifest.json").read_text()))
    state = manifest.pop("state")
    state.get("preparation", {}).get("task", {}).pop("name", None)  # older programs had none
    texts = {f"manifest {key}": as_text(value) for key, value in manifest.items()}
    return texts | {f"state {key}": as_text(value) for key, value in state.items()}


def decode_cbor(content: bytes, at: int) -> tuple[object, int]:
    """The value at an offset, and the offset after it (RFC 8949, what nlohmann::json writes)."""
    kind, low = content[at] >> 5, content[at] & 31
    at += 1
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(low, 0)
    raw, at = content[at : at + size], at + size
    count = int.from_bytes(raw, "big") if size else low
    if kind == 7:
        if size > 1:
            return struct.unpack({2: ">e", 4: ">f", 8: ">d"}[size], raw)[0], at
        return {20: False, 21: True, 22: None}[count], at
    if kind in (2, 3):
        text = content[at : at + count]
        return text.decode() if kind == 3 else text.hex(), at + count
    if kind in (0, 1):
        return count if kind == 0 else -1 - count, at
    items = []
    for _ in range(count if kind == 4 else 2 * count):
        item, at = decode_cbor(content, at)
        items.append(item)
    return (items if kind == 4 else dict(zip(items[::2], items[1::2]))), at


def read_records(log: pathlib.Path) -> list[dict]:
    """Of an event log, after its header (docs/formats/klog.md)."""
    content, at, records = log.read_bytes(), 12, []
    while at + 8 <= len(content):
        (length,) = struct.unpack_from("<I", content, at)
        if length == 0 or at + 8 + length > len(content):
            break  # the end that a killed process left
        records.append(decode_cbor(content[at + 8 : at + 8 + length], 0)[0])
        at += 8 + length
    return records[1:]


def read_log(log: pathlib.Path) -> tuple[dict[str, str], dict[str, str]]:
    """Scalars by name and step, and the other records: confusions, tables, histograms, ..."""
    scalars, others = {}, {}
    for record in read_records(log):
        kind, step, body = record["type"], record["step"], without_clocks(record["body"])
        if kind == "scalars":
            for key, value in body.items():
                scalars[f"{log.stem} step {step:06} {key}"] = as_text(value)
        elif kind not in UNCOMPARED_RECORDS:
            name = body.get("key") or body.get("name") or ""
            if kind == "artifact":
                body = {k: v for k, v in body.items() if k not in UNCOMPARED_OF_ARTIFACT}
            others[f"{log.stem} step {step:06} {kind} {name}"] = as_text(body)
    return scalars, others


def read_csv(path: pathlib.Path) -> dict[str, str]:
    with path.open() as file:
        return {
            f"csv step {row['step']:0>6} {key}": value
            for row in csv.DictReader(file)
            for key, value in row.items()
            if key not in CLOCKS
        }


class End:
    """All that is compared of one run folder."""

    def __init__(self, run: pathlib.Path):
        self.tensors: dict[str, str] = {}
        self.metrics: dict[str, str] = {}
        facts = json.loads((run / "run.json").read_text())
        self.others = {
            "config": (run / "config.yaml").read_text(),
            "run.json": as_text(without_clocks(facts)),
        }
        for path in sorted((run / "checkpoints").iterdir()):
            if path.is_symlink():
                self.others[f"checkpoint {path.name}"] = os.readlink(path)
            else:
                self._add_checkpoint(path)
        for log in sorted(run.glob("events-*.klog")):
            scalars, others = read_log(log)
            self.metrics |= scalars
            self.others |= others
        self.metrics |= read_csv(run / "metrics.csv")
        for image in sorted(run.glob("media/*")):
            self.others[f"media {image.name}"] = digest(image.read_bytes())

    def _add_checkpoint(self, path: pathlib.Path) -> None:
        for name, (dtype, content) in read_tensors(path).items():
            self.tensors[f"{path.name}/{name}"] = f"{dtype} {digest(content)}"
        for name, text in read_manifest(path).items():
            self.others[f"{path.name} {name}"] = text

    def all(self) -> dict[str, str]:
        return self.metrics | self.others | self.tensors


def differences(one: End, other: End) -> list[str]:
    """Names with both values, metrics by step first: the earliest tells most."""
    first, second = (
        {name: NEW_KEYS.sub("", text) for name, text in end.all().items()} for end in (one, other)
    )
    names = [name for name in first if first[name] != second.get(name)]
    names += [name for name in second if name not in first]

    def show(value: str | None) -> str:
        return "absent" if value is None else value if len(value) < 60 else f"{value[:57]}..."

    return [f"{n}: {show(first.get(n))} became {show(second.get(n))}" for n in names]
