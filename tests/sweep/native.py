"""A config with a sweep: section, trained for real: its values reach the training, and a trial that
was held back at a rung goes on from its own checkpoint when it is promoted: the steps that its
attempts trained are counted, and none was trained twice. The same on a server, whose best config
is trained again where none of the runs is."""

import csv
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

CONFIG = """
run: {project: rungs}
data: {name: synthetic, samples: SAMPLES, image_size: 8, channels: 1}
model: {name: mlp}
loader: {batch_size: 32}
train: {epochs: 9, threads: 1, log_every: 1}
optimizer: {name: sgd, lr: 0.001}
sweep:
  method: random
  run_cap: 7
  metric: {name: val/accuracy, goal: maximize}
  early_terminate: {type: asha, min_iter: 1, eta: 2}
  parameters:
    optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 0.3}
"""


BATCH = 32
# An agent looks after its trial about once a second: where training is quick, epochs must be long.
SAMPLES = (1024, 8192, 32768)


def read_number(data: bytes, at: int) -> int:
    """An unsigned CBOR number."""
    kind = data[at]
    if kind < 24:
        return kind
    size = {0x18: 1, 0x19: 2, 0x1A: 4, 0x1B: 8}[kind]
    return int.from_bytes(data[at + 1 : at + 1 + size], "big")


def steps_trained(log: pathlib.Path) -> list[int]:
    """The steps whose loss an attempt logged (docs/formats/klog.md): all, with log_every 1."""
    data = log.read_bytes()
    steps = set()
    at = 12
    while at + 8 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        payload = data[at + 8 : at + 8 + length]
        at += 8 + length
        if b"\x64type\x67scalars" in payload and b"train/step_loss" in payload:
            steps.add(read_number(payload, payload.index(b"\x64step") + 5))
    return sorted(steps)


class Server:
    def __init__(self, kedge: str, folder: pathlib.Path):
        self.log = folder / "server.log"
        words = [kedge, "server", "--data", str(folder / "data"), "--port", "0"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)

    def url(self) -> str:
        for _ in range(600):
            for word in self.log.read_text().split():
                if word.startswith("http://"):
                    return word
            time.sleep(0.1)
        sys.exit("the server does not start")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def check_trial(run: pathlib.Path, trial: dict, log: str, samples: int) -> bool:
    """Whether it was promoted; each of its steps was trained once."""
    lr = trial["values"]["optimizer.lr"]
    rows = list(csv.DictReader(open(run / "metrics.csv")))
    assert float(rows[0]["lr"]) == lr, f"{rows[0]['lr']} was trained with, not {lr}"
    epochs = [int(row["epoch"]) for row in rows]
    assert epochs == list(range(1, len(epochs) + 1)), epochs
    # A busy machine stops an attempt before it has begun its log.
    count = max(int(path.stem) for path in (run / "attempts").glob("*.json"))
    logs = [run / f"events-a{n}-r0.klog" for n in range(1, count + 1)]
    attempts = [steps_trained(log) if log.exists() else [] for log in logs]
    trained = [step for steps in attempts for step in steps]
    assert trained == list(range(1, len(trained) + 1)), attempts
    assert len(trained) >= samples // BATCH * len(epochs), (len(trained), len(epochs))
    # An attempt may log no step: its trial had trained all epochs when it was held back, or was
    # held back again at once. It still went on from where the one before it ended.
    done = len(attempts[0])
    for number, steps in enumerate(attempts[1:], 2):
        assert f"resume   attempt {number} from step-" in log, log
        begun = json.loads((run / "attempts" / f"{number}.json").read_text())
        assert begun["from_step"] == done, (begun, attempts)
        done += len(steps)
    return len(attempts) > 1


def main() -> int:
    kedge = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="kedge-native-") as name:
        folder = pathlib.Path(name)
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")  # where the server's key is

        def call(*words: str) -> str:
            done = subprocess.run(
                [kedge, *words], cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        for samples in SAMPLES:
            config = CONFIG.replace("SAMPLES", str(samples))
            (folder / "config.yaml").write_text(config)
            sweep_id = call("sweep", "config.yaml", "--agents", "2").strip()
            shown = json.loads(call("sweep", "show", sweep_id, "--json"))
            assert len(shown["trials"]) == 7, shown
            finished = [trial for trial in shown["trials"] if trial["state"] == "finished"]
            assert finished, "somebody comes to the last epoch"
            promoted = 0
            for trial in shown["trials"]:
                place = folder / "sweeps" / sweep_id / "trials" / str(trial["trial"])
                log = (place / "output.log").read_text()
                promoted += check_trial(
                    folder / "runs" / "rungs" / trial["run"], trial, log, samples
                )
            if promoted:
                break
        assert promoted, "nobody was held back and promoted, however long the epochs"
        call("sweep", "best", sweep_id, "--output", "best.yaml")
        call("train", "best.yaml", "train.epochs=1")
        together = json.loads(call("ensemble", sweep_id, "--top", "2", "--json"))
        names = [row["name"] for row in together]
        assert names[-2:] == ["mean of probabilities", "mean of weights"], names
        server = Server(kedge, folder)
        try:
            on_server = ["--server", server.url()]
            (folder / "short.yaml").write_text(config.replace("run_cap: 7", "run_cap: 2"))
            hosted = call("sweep", "short.yaml", "--agents", "1", *on_server).strip()
            shutil.rmtree(folder / "runs")
            call("sweep", "best", hosted, "--output", "hosted.yaml", *on_server)
        finally:
            server.close()
        best = (folder / "hosted.yaml").read_text()
        assert "lr: 0.001" not in best and "epochs: 9" in best, best
        call("train", "hosted.yaml", "train.epochs=1", "track.server=")
        print(f"{len(finished)} of 7 trials came to the end, {promoted} went on from a checkpoint")
    return 0


if __name__ == "__main__":
    sys.exit(main())
