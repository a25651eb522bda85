"""A real `kedge server` for tests: started, killed, frozen, asked."""

import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

READY_S = 20


def free_port() -> int:
    """One that nobody else is given: the kernel's own (above 32768) go to whoever connects, also
    while a server that is to come back on its port is down."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class ServerProcess:
    """One port and one data folder; the process may come and go.

    Everybody may do everything, unless the options have --auth; has_owner: as `kedge server` is
    without it, and self.key is the owner's.
    """

    def __init__(
        self, binary: pathlib.Path, data: pathlib.Path, *options: str, has_owner: bool = False
    ) -> None:
        self.binary = binary
        self.data = data
        is_open = not has_owner and "--auth" not in options
        self.options = (*options, *(("--auth", "none") if is_open else ()))
        self.port = free_port()
        self.log = data.with_suffix(".log")
        self.process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "server", "--data", self.data, "--port", str(self.port)]
                + list(self.options),
                stdout=log,
                stderr=log,
                env={key: value for key, value in os.environ.items() if key != "KEDGE_SERVER"},
            )
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.log.read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2):
                    return
            except (OSError, urllib.error.URLError):
                time.sleep(0.02)
        raise RuntimeError(f"the server is not ready: {self.log.read_text()[-2000:]}")

    @property
    def key(self) -> str:
        return (self.data / "owner-key").read_text().strip()

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        if self.process is None or self.process.poll() is not None:
            return -1
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(30)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def history(self, project: str, run: str, key: str) -> list[tuple]:
        """Every point of the curve: (step, value as text, time, attempt)."""
        query = urllib.parse.urlencode({"key": key, "format": "json"})
        points = self.get(f"/api/v1/runs/{project}/{run}/history?{query}")["points"]
        return [(p["step"], render(p["value"]), p["time_us"], p["attempt"]) for p in points]

    def curves(self, project: str, run: str) -> dict[str, list[tuple]]:
        metrics = self.get(f"/api/v1/runs/{project}/{run}/metrics")["metrics"]
        keys = [each["key"] for each in metrics if each["kind"] == "metric"]
        return {key: self.history(project, run, key) for key in keys}

    def position(self, project: str, run: str, writer: str) -> dict:
        return self.get(f"/api/v1/ingest/{project}/{run}/{writer}")


def render(value: float | str) -> str:
    """A value as text: not-a-number equals itself, however it was written."""
    return repr(float(value))


def folder_curves(binary: pathlib.Path, run: pathlib.Path) -> dict[str, list[tuple]]:
    """What `kedge runs metrics` says of a run folder, in the form of ServerProcess.curves()."""
    command = [binary, "runs", "metrics", run, "--json"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {
        key: [(p["step"], render(p["value"]), p["time_us"], p["attempt"]) for p in points]
        for key, points in json.loads(text).items()
    }
