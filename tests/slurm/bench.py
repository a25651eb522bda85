"""A test's own folder on a cluster, kedge in it, and how its claims are said."""

import hashlib
import json
import pathlib
import subprocess

from cluster import Cluster, wait_until

CONFIG = """
data: {name: synthetic, samples: 2000, image_size: 12, channels: 1}
model: {name: mlp, hidden: [32], dropout: 0.2}
loader: {batch_size: 20, workers: 1}
optimizer: {name: adamw, lr: 0.001}
train: {epochs: 100, threads: 1, log_every: 50}
checkpoint: {every: 25 epochs}
track: {predictions: 0, system_every: 0}
job: {scheduler: slurm, cpus: 1, memory: 500MB, time: 10m}
"""
SMALL = ["job.scheduler=slurm", "job.cpus=1", "job.memory=100MB", "job.time=5m"]


class Bench:
    """A test's own folder, and kedge in it."""

    def __init__(self, cluster: Cluster, kedge: str, folder: pathlib.Path):
        self.cluster = cluster
        self.program = kedge
        self.folder = folder
        self.environment = dict(cluster.environment)
        folder.mkdir()

    def kedge(self, *words: str, check: bool = True, limit_s: float = 120, **variables: str):
        done = subprocess.run(
            [self.program, *words],
            cwd=self.folder,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kedge {' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done

    def submit(self, *words: str) -> str:
        return self.kedge("submit", *words).stdout.split()[-1]

    def tasks(self, job: str) -> list[dict]:
        return json.loads(self.kedge("jobs", job, "--json").stdout)[0]["tasks"]

    def states(self, job: str) -> list[str]:
        return [task["state"] for task in self.tasks(job)]

    def wait_for(self, job: str, state: str, limit_s: float = 240) -> list[dict]:
        try:
            wait_until(f"{job} {state}", lambda: set(self.states(job)) == {state}, limit_s)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.tasks(job)}\n{self.log(job)}") from error
        return self.tasks(job)

    def log(self, job: str) -> str:
        return self.kedge("logs", job).stdout

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def equal(found, wanted, what: str) -> None:
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, not {wanted!r}")


def contains(text: str, part: str) -> None:
    if part not in text:
        raise AssertionError(f"'{part}' is not in:\n{text}")


def digests(folder: pathlib.Path) -> dict:
    last = folder / "checkpoints/last"
    found = {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in last.glob("*.safetensors")
    }
    if not found:
        raise AssertionError(f"{last} has no tensors")
    return found
