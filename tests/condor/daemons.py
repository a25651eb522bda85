"""HTCondor for tests/jobs/conformance.py; condor_master must be on PATH (tools/dev/condor.sh)."""

import pathlib
import shutil
import subprocess

from jobs import install
from pool import Pool


class CondorSite:
    def __init__(self, folder: pathlib.Path):
        self.variables = install(folder / "kedge")
        self.pool = Pool(folder / "pool")

    def start(self, words: list[str], cwd: pathlib.Path, **variables: str) -> subprocess.Popen:
        return self.pool.start(
            ["kedge", *words],
            cwd=cwd,
            env=self.pool.env | self.variables | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def give(self, path: pathlib.Path) -> None:
        self.pool.give(path)

    def stop(self) -> None:
        self.pool.stop()


def open_site(folder: pathlib.Path, _kedge: str) -> CondorSite | None:
    return CondorSite(folder) if shutil.which("condor_master") else None
