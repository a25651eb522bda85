#!/usr/bin/env python3
"""What kedge exports, pyarrow, pandas and TensorBoard read, with equal values.

Needs a Python with pyarrow, pandas and tensorboard, named by $KEDGE_PEER_PYTHON; skipped without.
$KEDGE_BIN is the folder of the programs (default: build/bin).
"""

import importlib.util
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin"))
PEERS = ("pyarrow", "pandas", "tensorboard")
TIME = 1794719617250000
STEPS = 1500
KEYS = [f"m{i:02}" for i in range(100)]  # with so many steps, more than one row group


def crc_of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def cbor(value) -> bytes:
    """RFC 8949, as much of it as docs/formats/klog.md asks for."""

    def head(major: int, n: int) -> bytes:
        if n < 24:
            return bytes([major << 5 | n])
        size = next(i for i in range(4) if n < 1 << (8 << i))
        return bytes([major << 5 | 24 + size]) + n.to_bytes(1 << size, "big")

    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


def frame(payload: bytes) -> bytes:
    length = struct.pack("<I", len(payload))
    return length + struct.pack("<I", crc32c(length + payload)) + payload


def value_at(step: int) -> float:
    return math.nan if step == 3 else 1 / (step + 1)


def write_run(folder: pathlib.Path, name: str, records: list):
    """A run folder with one log: (type, step, body)."""
    run = folder / "runs/p" / name
    run.mkdir(parents=True)
    facts = {"format": "kedge-run", "version": 1, "id": name, "name": name, "project": "p"}
    (run / "run.json").write_text(json.dumps({**facts, "created": "2026-11-15T05:13:37Z"}))
    frames = [frame(cbor({"run": name, "writer": "a1-r0", "created": TIME}))]
    for seq, (kind, step, body) in enumerate(records):
        record = {"type": kind, "seq": seq, "time": TIME + step, "step": step, "body": body}
        frames.append(frame(cbor(record)))
    (run / "events-a1-r0.klog").write_bytes(b"KEDGELOG" + struct.pack("<I", 1) + b"".join(frames))
    return run


class ExchangeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        few = [("scalars", step, {"loss": value_at(step)}) for step in range(20)]
        few.insert(5, ("scalars", 4, {"v\u00e4l, \"x\"": math.inf}))
        few.append(("histogram", 20, {"key": "w", "edges": [-1.0, 0.0, 2.5], "counts": [3, 4]}))
        few.append(("text", 21, {"key": "words", "text": "some *text*"}))
        few.append(("image", 22, {"name": "picture", "path": "media/p.png"}))
        run = write_run(cls.folder, "few", few)
        (run / "media").mkdir()
        make_png = ROOT / "tests/fixtures/cli/make_png.py"
        subprocess.run([sys.executable, make_png, "8", "1", run / "media/p.png"], check=True)
        cls.png = (run / "media/p.png").read_bytes()

    def kedge(self, *words: str) -> bytes:
        done = subprocess.run(
            [BIN / "kedge", "runs", "export", *words],
            cwd=self.folder,
            capture_output=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_points(self, frame):
        loss = frame[frame.key == "loss"].sort_values("step")
        self.assertEqual(list(loss.step), list(range(20)))
        for step, value in zip(loss.step, loss.value):
            expected = value_at(step)
            self.assertTrue(value == expected or math.isnan(value) and math.isnan(expected))
        other = frame[frame.key != "loss"].iloc[0]
        self.assertEqual(other.key, "v\u00e4l, \"x\"")
        self.assertEqual(other.value, math.inf)

    def test_pandas_reads_the_csv(self):
        self.kedge("few", "--out", "few.csv")
        frame = pandas.read_csv(self.folder / "few.csv")
        self.assertEqual(list(frame.columns), ["key", "step", "time_us", "value", "attempt"])
        self.check_points(frame)
        self.assertEqual(frame.time_us[0] - TIME, frame.step[0])

    def test_json_reads_the_lines(self):
        lines = self.kedge("few", "--format", "jsonl").decode().splitlines()
        rows = [json.loads(line) for line in lines]
        self.assertEqual(len(rows), 21)
        self.assertEqual([row["value"] for row in rows if row["step"] == 3], ["NaN"])

    def test_pyarrow_and_pandas_read_the_parquet(self):
        self.kedge("few", "--format", "parquet", "--out", "few.parquet")
        table = pyarrow.parquet.read_table(self.folder / "few.parquet")
        self.assertEqual(
            [str(field.type) for field in table.schema],
            ["string", "int64", "timestamp[us, tz=UTC]", "double", "int64"],
        )
        frame = pandas.read_parquet(self.folder / "few.parquet")
        self.check_points(frame)
        self.assertEqual(str(frame.time_us[0]), "2026-11-15 05:13:37.250000+00:00")
        chunk = pyarrow.parquet.ParquetFile(self.folder / "few.parquet").metadata.row_group(0)
        self.assertEqual(chunk.column(0).compression, "ZSTD")

    def test_wide_parquet_has_nulls_where_nothing_was_logged(self):
        self.kedge("few", "--format", "parquet", "--wide", "--out", "wide.parquet")
        table = pyarrow.parquet.read_table(self.folder / "wide.parquet")
        self.assertEqual(table.column_names, ["step", "time_us", "loss", "v\u00e4l, \"x\""])
        self.assertEqual(table.column(3).null_count, 19)
        self.assertEqual(table.column(2).null_count, 0)
        self.assertEqual(table.column(3).to_pylist()[4], math.inf)

    def test_many_rows_are_many_groups(self):
        rows = [
            ("scalars", step, {key: float(step) for key in KEYS}) for step in range(STEPS)
        ]
        write_run(self.folder, "many", rows)
        self.kedge("many", "--format", "parquet", "--out", "many.parquet")
        file = pyarrow.parquet.ParquetFile(self.folder / "many.parquet")
        self.assertEqual(file.metadata.num_row_groups, 2)
        table = file.read()
        self.assertEqual(table.column("step").to_pylist(), list(range(STEPS)) * len(KEYS))
        self.assertEqual(table.column("value").to_pylist(), list(range(STEPS)) * len(KEYS))
        self.assertEqual(table.column("key").to_pylist()[::STEPS], KEYS)

    def test_tensorboard_reads_the_events(self):
        self.kedge("few", "--format", "tensorboard", "--out", "logs")
        events = event_accumulator.EventAccumulator(
            str(self.folder / "logs"), size_guidance={"scalars": 0, "tensors": 0, "images": 0}
        )
        events.Reload()
        tags = events.Tags()
        self.assertEqual(sorted(tags["scalars"]), ["loss", "v\u00e4l, \"x\""])
        scalars = events.Scalars("loss")
        self.assertEqual([scalar.step for scalar in scalars], list(range(20)))
        self.assertAlmostEqual(scalars[9].value, 0.1, places=7)
        self.assertTrue(math.isnan(scalars[3].value))
        self.assertAlmostEqual(scalars[9].wall_time, (TIME + 9) / 1e6, places=5)
        (histogram,) = events.Histograms("w")
        self.assertEqual(histogram.step, 20)
        value = histogram.histogram_value
        self.assertEqual((value.min, value.max, value.num), (-1, 2.5, 7))
        self.assertEqual(list(value.bucket_limit), [0, 2.5])
        self.assertEqual(list(value.bucket), [3, 4])
        (image,) = events.Images("picture")
        self.assertEqual(image.encoded_image_string, self.png)
        self.assertEqual((image.width, image.height), (8, 8))
        (text,) = events.Tensors("words")
        self.assertEqual(text.tensor_proto.string_val[0], b"some *text*")


if __name__ == "__main__":
    peer = os.environ.get("KEDGE_PEER_PYTHON")
    if peer and os.environ.get("KEDGE_EXCHANGE_INSIDE") != "1":
        os.environ["KEDGE_EXCHANGE_INSIDE"] = "1"
        os.execvp(peer, [peer, __file__, *sys.argv[1:]])
    if not peer or any(importlib.util.find_spec(name) is None for name in PEERS):
        print(f"skipped: KEDGE_PEER_PYTHON names no Python with {', '.join(PEERS)}")
        sys.exit(0)
    import pandas
    import pyarrow.parquet
    from tensorboard.backend.event_processing import event_accumulator

    unittest.main()
