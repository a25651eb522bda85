"""Makes tests/fixtures/exchange: event files by tensorboard's own writer and by tensorboardX.

Run with the packages tensorboard, tensorboardX and numpy: python tools/golden/exchange.py
The values are those that src/exchange/event_file_test.cc expects.
"""

import pathlib
import shutil
import struct
import tempfile
import zlib

import numpy
import tensorboardX
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/fixtures/exchange"
TIME = 1794719617.25


def png() -> bytes:
    """Two red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" + b"\xff\0\0" * 2, 9)
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def image_tensor() -> summary_pb2.Summary:
    """What tf.summary.image writes."""
    tensor = tensor_pb2.TensorProto(dtype=7, string_val=[b"2", b"1", png(), png()])
    tensor.tensor_shape.CopyFrom(
        tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=4)])
    )
    summary = summary_pb2.Summary()
    value = summary.value.add(tag="pictures", tensor=tensor)
    value.metadata.plugin_data.plugin_name = "images"
    return summary


def modern(folder: str):
    """Tensors with plug-ins, as TensorFlow 2 writes them; only a tag's first value has metadata."""
    writer = EventFileWriter(folder)

    def add(step: int, summary: summary_pb2.Summary):
        writer.add_event(event_pb2.Event(wall_time=TIME + step, step=step, summary=summary))

    add(0, scalar_pb("loss", 0.5))
    second = scalar_pb("loss", 0.25)
    second.value[0].ClearField("metadata")
    add(1, second)
    add(2, histogram_pb("weights", numpy.array([0.0, 1.0, 1.0, 4.0]), buckets=4))
    add(3, text_pb("notes", "hello *there*"))
    add(4, image_tensor())
    other = summary_pb2.Summary()
    value = other.value.add(tag="_hparams_")
    value.metadata.plugin_data.plugin_name = "hparams"
    add(5, other)
    writer.close()


def legacy(folder: str):
    """simple_value, histo and image, as torch.utils.tensorboard writes them."""
    writer = tensorboardX.SummaryWriter(folder)
    writer.add_scalar("train/loss", 0.125, 7, walltime=TIME)
    writer.add_scalar("train/loss", float("nan"), 8, walltime=TIME)
    writer.add_scalar("train/loss", float("inf"), 2**40, walltime=TIME)
    weights = numpy.array([-2.0, 1.0, 1.5, 3.0])
    writer.add_histogram("w", weights, 9, bins=[-2, 0, 2, 4], walltime=TIME)
    red = numpy.zeros((3, 1, 2), dtype=numpy.uint8)
    red[0] = 255
    writer.add_image("red", red, 10, walltime=TIME)
    writer.add_text("words", "some text", 11, walltime=TIME)
    writer.close()


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for make in (modern, legacy):
        with tempfile.TemporaryDirectory() as folder:
            make(folder)
            (file,) = pathlib.Path(folder).glob("*tfevents*")
            shutil.copy(file, OUT / f"{make.__name__}.tfevents")


main()
