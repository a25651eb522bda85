"""A kedge server with the wandb client set to it, and the list of what tests show of it."""

import os
import pathlib
import subprocess
import sys
import textwrap
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))
from server_process import ServerProcess  # noqa: E402

CLAIMS: list[tuple[str, str, object]] = []


def shows(*calls: str):
    """Marks a test with the client's calls that it shows to work."""

    def mark(test):
        CLAIMS.append((", ".join(calls), test.__name__.replace("_", " "), test))
        return test

    return mark


def same(found, expected, what=""):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


class World:
    """A server, and the client set to it."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder = folder
        self.server = ServerProcess(binary, folder / "data")
        self.count = 0

    def start(self):
        os.chdir(self.folder)  # downloads without a place go here
        self.server.start()
        os.environ.update(self.environment())

    def environment(self) -> dict:
        return {
            "WANDB_BASE_URL": self.server.url,
            "WANDB_API_KEY": "k" * 40,
            "WANDB_DIR": str(self.folder),
            "WANDB_CACHE_DIR": str(self.folder / "cache"),
            "WANDB_CONFIG_DIR": str(self.folder / "config"),
            "WANDB_DATA_DIR": str(self.folder / "staging"),
            "WANDB_SILENT": "true",
            "HOME": str(self.folder),
        }

    def api(self):
        import wandb

        return wandb.Api()

    def last_step(self, project: str, run: str) -> int:
        return self.server.get(f"/api/v1/runs/{project}/{run}")["last_step"] or 0

    def read(self, run):
        return self.api().run(f"{run.entity}/{run.project}/{run.id}")

    def native(self, run) -> dict:
        return self.server.get(f"/api/v1/runs/{run.project}/{run.id}")

    def clean_environment(self, **more: str) -> dict:
        """Without what this process's own wandb has left: its service, its last sweep."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WANDB")}
        return {**kept, **self.environment(), **more}

    def script(self, text: str, *arguments: str, **environment: str) -> subprocess.Popen:
        self.count += 1
        path = self.folder / f"script_{self.count}.py"
        path.write_text(textwrap.dedent(text))
        return subprocess.Popen(
            [sys.executable, path, *arguments],
            cwd=self.folder,
            env=self.clean_environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come")
