"""Training on a GPU: captured steps, images on the device, fused kernels and resuming change
nothing that they must not. Needs a GPU.

    python3 tests/gpu/exact.py [build/bin/kedge-train]
"""

import csv
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

KEDGE = pathlib.Path(__file__).parents[2] / "build/bin/kedge-train"
BASE = [
    "model.name=simplecnn",
    "train.device=cuda",
    "train.precision=bf16",
    "train.epochs=2",
    "train.deterministic=true",
    "optimizer.name=sgd",
    "optimizer.lr=0.05",
    "loader.batch_size=100",
    "transform.train=[random_crop 32 4, flip, cutout 8]",
]


class OnGpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "config.yaml").write_text("data: {name: synthetic, samples: 4000}\n")

    def train(self, name: str, *keys: str, code: int = 0) -> str:
        command = [str(KEDGE), "train", "config.yaml", f"run.id={name}", *BASE, *keys]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def weights(self, name: str) -> str:
        file = self.path / "runs/default" / name / "checkpoints/last/model.safetensors"
        return hashlib.sha256(file.read_bytes()).hexdigest()

    def losses(self, name: str) -> list[float]:
        with (self.path / "runs/default" / name / "metrics.csv").open() as file:
            return [float(row["train/loss"]) for row in csv.DictReader(file)]

    def test_captured_steps_give_the_same_weights_bit_by_bit(self):
        said = self.train("recorded")
        self.assertIn("one CUDA graph, samples on the device", said)
        self.train("plain", "train.graph=false")
        self.assertEqual(self.weights("recorded"), self.weights("plain"))

    def test_the_same_with_accumulation_clipping_average_and_fp16(self):
        keys = ["train.precision=fp16", "train.accumulate=4", "train.clip_norm=1", "ema.decay=0.9"]
        self.train("recorded", *keys)
        self.train("plain", *keys, "train.graph=false")
        self.assertEqual(self.weights("recorded"), self.weights("plain"))

    def test_the_same_with_adamw_a_schedule_and_mixup(self):
        keys = ["optimizer.name=adamw", "optimizer.lr=0.001", "schedule.name=cosine"]
        keys += ["schedule.warmup=20", "train.mixup=0.2"]
        self.train("recorded", *keys)
        self.train("plain", *keys, "train.graph=false")
        self.assertEqual(self.weights("recorded"), self.weights("plain"))

    def test_a_group_of_one_over_nccl_gives_the_same_weights(self):
        said = self.train("group", "dist.backend=nccl")
        self.assertIn("1, over nccl", said)
        self.assertIn("one CUDA graph", said)
        self.train("alone")
        self.assertEqual(self.weights("group"), self.weights("alone"))

    def test_the_same_with_batchnorm_over_all_ranks_in_bf16(self):
        keys = ["model.name=convnet", "dist.sync_batchnorm=true", "dist.compression=bf16"]
        self.assertIn("1, over nccl", self.train("group", *keys, "dist.backend=nccl"))

    def test_images_on_the_device_give_the_same_weights_as_streamed_ones(self):
        self.train("resident")
        self.assertIn("samples streamed", self.train("streamed", "loader.resident=false"))
        self.assertEqual(self.weights("resident"), self.weights("streamed"))

    def test_double_precision_follows_the_cpu(self):
        keys = ["model.name=mlp", "train.precision=fp64", "data.samples=500", "optimizer.lr=0.01"]
        self.train("gpu", *keys)
        self.train("streamed", *keys, "loader.resident=false")
        self.train("cpu", *keys, "train.device=cpu")
        for other in ("streamed", "cpu"):
            for gpu, wanted in zip(self.losses("gpu"), self.losses(other)):
                self.assertAlmostEqual(gpu, wanted, delta=1e-6 * wanted)

    def test_nvjpeg_gives_the_same_weights_as_libjpeg(self):
        fixtures = pathlib.Path(__file__).parents[1] / "fixtures/data"
        for name in ("photo", "grey"):
            (self.path / "files" / name).mkdir(parents=True)
            for i in range(40):
                shutil.copy(fixtures / f"{name}.jpg", self.path / "files" / name / f"{i}.jpg")
        keys = ["data.name=imagefolder", "data.path=files", "model.name=mlp", "train.epochs=3"]
        keys += ["transform.train=[resized_crop 16, flip]", "transform.eval=[resize 16 16]"]
        keys += ["loader.batch_size=8", "loader.workers=4"]
        said = self.train("nvjpeg", *keys)
        if "decoded by nvJPEG" not in said:
            self.skipTest("there is no nvJPEG")
        self.train("libjpeg", *keys, "loader.nvjpeg=false")
        self.assertEqual(self.weights("nvjpeg"), self.weights("libjpeg"))

    def test_a_killed_run_goes_on_to_the_same_weights(self):
        self.train("whole")
        keys = ["checkpoint.every=15 steps"]
        self.train("killed", *keys, "train.simulate_crash=step 52", code=-9)
        self.assertIn("resume   attempt 2", self.train("killed", *keys))
        self.assertEqual(self.weights("whole"), self.weights("killed"))

    def test_fused_kernels_follow_the_plain_operations(self):
        keys = ["model.name=resnet18", "optimizer.lr=0.002"]  # larger rates let rounding grow
        self.train("fused", *keys)
        self.train("plain", *keys, "train.fused=false")
        for fused, plain in zip(self.losses("fused"), self.losses("plain")):
            self.assertLess(abs(fused - plain), 0.05 * plain + 0.02)

    def test_a_step_that_cannot_be_captured_is_done_piece_by_piece(self):
        said = self.train("adafactor", "optimizer.name=adafactor", "optimizer.lr=0.01")
        self.assertIn("not captured: optimizer adafactor counts its steps on the host", said)

    def test_a_module_that_reads_back_from_the_device_is_trained_all_the_same(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs torch to script a module")

        class Peeking(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3072, 10)

            def forward(self, x):
                y = self.fc(x.flatten(1))
                if float(y.abs().sum()) < 0:
                    y = y * 2
                return y

        torch.jit.script(Peeking()).save(str(self.path / "peeking.pt"))
        keys = ["model.file=peeking.pt", "optimizer.lr=0.01"]
        said = self.train("peeking", *keys)
        self.assertIn("steps are not captured as CUDA graphs", said)
        self.train("plain", *keys, "train.graph=false")
        self.assertEqual(self.weights("peeking"), self.weights("plain"))


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        KEDGE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
