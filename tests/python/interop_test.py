#!/usr/bin/env python3
"""What kedge writes, Python's torch and safetensors read, with equal results.

Needs a Python with torch and safetensors, named by $KEDGE_PEER_PYTHON; skipped without.
$KEDGE_BIN is the folder of the programs (default: build/bin).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin"))
MAKE_PNG = ROOT / "tests/fixtures/cli/make_png.py"
CONFIG = """
data: {name: imagefolder, path: pets, val_count: 2}
model: {name: simplecnn}
transform: {eval: [resize 16 16], train: [resize 16 16]}
loader: {batch_size: 5}
train: {epochs: 1, threads: 1, device: cpu}
ema: {decay: 0.5}
"""


class InteropTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        for label, first in (("cat", 0), ("dog", 100)):
            (cls.folder / "pets" / label).mkdir(parents=True)
            for i in range(5):
                subprocess.run(
                    [
                        sys.executable,
                        MAKE_PNG,
                        "16",
                        str(first + i),
                        cls.folder / f"pets/{label}/{i}.png",
                    ],
                    check=True,
                )
        (cls.folder / "config.yaml").write_text(CONFIG)
        cls.kedge("train", "run.id=a")
        cls.run_folder = cls.folder / "runs/default/a"
        for name in ("model.safetensors", "model.pt"):
            cls.kedge("export", "runs/default/a", name)

    @classmethod
    def kedge(cls, *words: str) -> str:
        done = subprocess.run(
            [BIN / "kedge", *words], cwd=cls.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_safetensors_opens_exports_and_checkpoints(self):
        exported = safetensors.torch.load_file(self.folder / "model.safetensors")
        averaged = safetensors.torch.load_file(
            self.run_folder / "checkpoints/best/ema.safetensors"
        )
        plain = safetensors.torch.load_file(self.run_folder / "checkpoints/best/model.safetensors")
        self.assertEqual(set(exported), set(plain))
        for name, tensor in exported.items():
            self.assertTrue(torch.equal(tensor, averaged[name]), name)

    def test_torch_loads_an_exported_state_dict(self):
        for part in ("model", "optimizer", "ema"):
            self.kedge("ckpt", "export", "runs/default/a", f"{part}.pt", "--part", part)
            self.kedge("ckpt", "export", "runs/default/a", f"{part}.st.safetensors", "--part", part)
            want = safetensors.torch.load_file(self.folder / f"{part}.st.safetensors")
            self.assertGreater(len(want), 0)
            for mmap in (False, True):
                state = torch.load(self.folder / f"{part}.pt", weights_only=True, mmap=mmap)
                self.assertEqual(set(state), set(want))
                for name, tensor in want.items():
                    self.assertEqual(state[name].dtype, tensor.dtype, name)
                    self.assertTrue(torch.equal(state[name], tensor), name)

    def test_exported_script_has_the_exported_weights(self):
        script = torch.jit.load(self.folder / "model.pt", map_location="cpu").state_dict()
        for name, tensor in safetensors.torch.load_file(self.folder / "model.safetensors").items():
            self.assertTrue(torch.equal(script[name], tensor), name)

    def test_script_scores_as_kedge_predict(self):
        extra = {"kedge.json": ""}
        script = torch.jit.load(self.folder / "model.pt", map_location="cpu", _extra_files=extra)
        script.eval()
        facts = json.loads(extra["kedge.json"])
        rows = self.kedge("predict", "runs/default/a", "pets", "--top-k", "2").splitlines()[1:]
        self.assertEqual(len(rows), 10)
        for row in rows:
            name, *cells = row.split(",")
            pixels = numpy.asarray(Image.open(self.folder / "pets" / name).convert("RGB"))
            x = torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() / 255
            x = (x - torch.tensor(facts["mean"]).view(-1, 1, 1)) / torch.tensor(facts["std"]).view(
                -1, 1, 1
            )
            with torch.no_grad():
                scores = script(x.unsqueeze(0)).softmax(1)[0]
            for label, score in zip(cells[0::2], cells[1::2]):
                want = scores[facts["class_names"].index(label)].item()
                self.assertAlmostEqual(float(score), want, delta=2e-5, msg=row)

    def test_a_script_of_python_trains_in_kedge_and_goes_back(self):
        net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(768, 2))
        torch.jit.save(torch.jit.script(net), self.folder / "net.pt")
        torch.save(net.state_dict(), self.folder / "net.pth")
        self.kedge("train", "run.id=script", "model.file=net.pt", "ema.decay=0")
        self.kedge("export", "runs/default/script", "back.pt")
        back = torch.jit.load(self.folder / "back.pt")
        self.assertEqual(back(torch.zeros(3, 3, 16, 16)).shape, (3, 2))
        self.assertFalse(torch.equal(back.state_dict()["1.weight"], net.state_dict()["1.weight"]))
        # A rate of 0 gives the state dict back bit by bit.
        self.kedge(
            "train",
            "run.id=still",
            "model.file=net.pt",
            "model.weights=net.pth",
            "optimizer.lr=0",
            "ema.decay=0",
        )
        still = safetensors.torch.load_file(
            self.folder / "runs/default/still/checkpoints/last/model.safetensors"
        )
        for name, tensor in net.state_dict().items():
            self.assertTrue(torch.equal(still[name], tensor), name)


if __name__ == "__main__":
    peer = os.environ.get("KEDGE_PEER_PYTHON")
    if not peer:
        print("skipped: KEDGE_PEER_PYTHON names no Python with torch and safetensors")
        sys.exit(0)
    if os.environ.get("KEDGE_INTEROP_INSIDE") != "1":
        os.environ["KEDGE_INTEROP_INSIDE"] = "1"
        os.execvp(peer, [peer, __file__, *sys.argv[1:]])
    import numpy
    import safetensors.torch
    import torch
    from PIL import Image

    unittest.main()
