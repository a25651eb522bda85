"""Slurm for tests/jobs/conformance.py."""

import os
import pathlib
import subprocess

from cluster import Cluster, missing


class SlurmSite:
    def __init__(self, folder: pathlib.Path, kedge: str):
        self.kedge = kedge
        self.cluster = Cluster(folder / "c")
        self.cluster.start()

    def start(self, words: list[str], cwd: pathlib.Path, **variables: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.kedge, *words],
            cwd=cwd,
            env=self.cluster.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def give(self, path: pathlib.Path) -> None:
        """The submitter is who made it."""

    def stop(self) -> None:
        self.cluster.stop()


def open_site(folder: pathlib.Path, kedge: str) -> SlurmSite | None:
    os.environ["PATH"] += ":/usr/sbin"
    return None if missing() else SlurmSite(folder, kedge)
