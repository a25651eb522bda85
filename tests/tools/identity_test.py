"""The comparison of trainings sees what changed, and nothing where only clocks did."""

import copy
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "identity"))

from ends import decode_cbor, without_clocks  # noqa: E402
from golden_file import GoldenFile, describe  # noqa: E402

MACHINE = {"model name": "one"}
OTHER = {"model name": "another"}


def training(values: list[float], loss: float = 0.5) -> dict:
    return {
        "state": {"step": 3, "samples_hash": 77},
        "metrics": {"train/loss": [1.0, loss]},
        "tensors": {"model/w": describe(("F32", struct.pack(f"<{len(values)}f", *values)))},
    }


class GoldenFileTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        path = pathlib.Path(scratch.name) / "golden.json"
        GoldenFile(path).put(MACHINE, {"row": training([1.0, -2.0])})
        self.golden = GoldenFile(path)

    def judge(self, found: dict, machine: dict) -> tuple[bool, str]:
        return self.golden.judge("row", found, machine, "fp32")

    def test_the_same_training_passes_on_both_machines(self):
        for machine in (MACHINE, OTHER):
            self.assertTrue(self.judge(training([1.0, -2.0]), machine)[0])

    def test_a_last_bit_counts_on_the_same_machine_alone(self):
        found = training([1.0000001, -2.0])
        self.assertEqual(self.judge(found, MACHINE), (False, "model/w differs"))
        self.assertTrue(self.judge(found, OTHER)[0])
        found = training([1.0, -2.0], loss=0.5000000000000001)
        self.assertFalse(self.judge(found, MACHINE)[0])
        self.assertTrue(self.judge(found, OTHER)[0])

    def test_a_deviation_counts_everywhere(self):
        for found in (training([1.01, -2.0]), training([1.0, -2.0], loss=0.51)):
            self.assertFalse(self.judge(found, OTHER)[0])

    def test_a_number_that_is_none_is_no_small_deviation(self):
        self.assertFalse(self.judge(training([1.0, -2.0], loss=float("nan")), OTHER)[0])

    def test_another_order_of_samples_counts_everywhere(self):
        found = copy.deepcopy(training([1.0, -2.0]))
        found["state"]["samples_hash"] = 78
        for machine in (MACHINE, OTHER):
            self.assertEqual(self.judge(found, machine), (False, "samples_hash is 78, not 77"))

    def test_a_missing_tensor_counts_everywhere(self):
        found = training([1.0, -2.0])
        found["tensors"] = {}
        for machine in (MACHINE, OTHER):
            self.assertFalse(self.judge(found, machine)[0])


class EndsTest(unittest.TestCase):
    def test_the_examples_of_rfc_8949_are_read(self):
        examples = {
            "00": 0,
            "1903e8": 1000,
            "3863": -100,
            "fb3ff199999999999a": 1.1,
            "fa47c35000": 100000.0,
            "f4": False,
            "f6": None,
            "6449455446": "IETF",
            "83010203": [1, 2, 3],
            "a26161016162820203": {"a": 1, "b": [2, 3]},
        }
        for text, value in examples.items():
            content = bytes.fromhex(text)
            self.assertEqual(decode_cbor(content, 0), (value, len(content)), text)

    def test_clocks_are_left_out_at_every_level(self):
        state = {"step": 1, "train_seconds": 2.5, "history": [{"epoch_seconds": 1, "loss": 3}]}
        self.assertEqual(without_clocks(state), {"step": 1, "history": [{"loss": 3}]})


if __name__ == "__main__":
    unittest.main()
