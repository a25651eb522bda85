"""A config with a sweep: section, trained for real: its values reach the training, and a trial that
was held back at a rung goes on from its own checkpoint when it is promoted."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

CONFIG = """
run: {project: rungs}
data: {name: synthetic, samples: 256, image_size: 8, channels: 1}
model: {name: mlp}
loader: {batch_size: 32}
train: {epochs: 9, threads: 1}
optimizer: {name: sgd, lr: 0.001}
sweep:
  method: random
  run_cap: 7
  metric: {name: val/accuracy, goal: maximize}
  early_terminate: {type: asha, min_iter: 1, eta: 2}
  parameters:
    optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 0.3}
"""


def main() -> int:
    kedge = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-native-") as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG)

        def call(*words: str) -> str:
            done = subprocess.run(
                [kedge, *words], cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        sweep_id = call("sweep", "config.yaml", "--agents", "2").strip()
        shown = json.loads(call("sweep", "show", sweep_id, "--json"))
        assert len(shown["trials"]) == 7, shown
        finished = [trial for trial in shown["trials"] if trial["state"] == "finished"]
        assert finished, "somebody comes to the last epoch"
        promoted = 0
        for trial in shown["trials"]:
            run = folder / "runs" / "rungs" / trial["run"]
            lr = trial["values"]["optimizer.lr"]
            rows = list(csv.DictReader(open(run / "metrics.csv")))
            assert float(rows[0]["lr"]) == lr, f"{rows[0]['lr']} was trained with, not {lr}"
            # Going on from a checkpoint, each epoch was trained once.
            epochs = [int(row["epoch"]) for row in rows]
            assert epochs == list(range(1, len(epochs) + 1)), epochs
            log = (
                folder / "sweeps" / sweep_id / "trials" / str(trial["trial"]) / "output.log"
            ).read_text()
            if trial["attempts"] > 1:
                promoted += 1
                assert "resume   attempt 2 from step-" in log, log
        call("sweep", "best", sweep_id, "--output", "best.yaml")
        call("train", "best.yaml", "train.epochs=1")
        together = json.loads(call("ensemble", sweep_id, "--top", "2", "--json"))
        names = [row["name"] for row in together]
        assert names[-2:] == ["mean of probabilities", "mean of weights"], names
        print(f"{len(finished)} of 7 trials came to the end, {promoted} went on from a checkpoint")
    return 0


if __name__ == "__main__":
    sys.exit(main())
