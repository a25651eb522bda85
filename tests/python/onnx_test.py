"""Do the ONNX files of `kedge export` compute what its TorchScript files compute?

    python3 tests/python/onnx_test.py     (a Python with torch and onnxruntime)

$KEDGE_BIN is the folder of the programs (default: build/bin).

Trains each model for one step on synthetic data, exports both ways and compares the scores for
several batch sizes. Says so and passes where torch or onnxruntime is missing: CI has neither.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnxruntime
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KEDGE_BIN", ROOT / "build/bin"))
TOLERANCE = 1e-5  # of the largest score
BATCHES = (1, 3, 7)
MODELS = {
    "simplecnn": (3, 32),
    "resnet18": (3, 32),
    "resnet50": (3, 64),
    "catdog": (3, 64),
    "convnet": (1, 28),
    "mnistnet": (1, 28),
    "mlp": (1, 28),
    "vit": (3, 32),
}


def kedge(*words):
    subprocess.run([BIN / "kedge", *words], check=True, capture_output=True)


def worst_difference(model, channels, size, folder):
    kedge(
        *("train", "--config=/dev/null", f"track.dir={folder}", "run.id=run", "train.max_steps=1"),
        *("data.name=synthetic", f"data.image_size={size}", f"data.channels={channels}"),
        *("data.samples=20", f"model.name={model}", "loader.batch_size=10", "train.device=cpu"),
        "train.threads=1",
    )
    for ending in ("pt", "onnx"):
        kedge("export", f"{folder}/default/run", f"{folder}/model.{ending}")
    script = torch.jit.load(f"{folder}/model.pt")
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    worst = 0.0
    for count in BATCHES:
        x = torch.randn(
            count, channels, size, size, generator=torch.Generator().manual_seed(count)
        )
        expected = script(x).detach().numpy()
        (found,) = session.run(["output"], {"input": x.numpy()})
        worst = max(worst, float(numpy.abs(found - expected).max() / numpy.abs(expected).max()))
    return worst


def main():
    failed = False
    for model, (channels, size) in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            worst = worst_difference(model, channels, size, pathlib.Path(folder))
        failed |= worst > TOLERANCE
        print(f"{model:<10} {worst:.1e}{'  TOO LARGE' if worst > TOLERANCE else ''}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
