"""A real `kedge server` of its own for each class of tests, and the real `mlflow` package."""

import importlib.util
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_process import ServerProcess  # noqa: E402

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")

import mlflow  # noqa: E402
import requests  # noqa: E402
from mlflow import MlflowClient  # noqa: E402

IS_3 = mlflow.__version__.startswith("3")
SEEN: set[tuple[str, str]] = set()  # calls that were answered, for the table in the docs


def has(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def record_calls() -> None:
    """Keeps which calls the package makes, for the table in docs/reference/mlflow.md."""
    send = requests.Session.send

    def sending(self, request, **options):
        answer = send(self, request, **options)
        path = request.url.split("?")[0].split("/", 3)[-1]
        if answer.status_code != 404:
            SEEN.add((request.method, "/" + path))
        return answer

    requests.Session.send = sending


class ClientTest(unittest.TestCase):
    """A server of its own for each class."""

    bin = ROOT / "build/bin"
    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-mlflow-"))
        cls.server = ServerProcess(cls.bin / "kedge", cls.folder / "data", *cls.options)
        cls.server.start()
        mlflow.set_tracking_uri(cls.server.url)
        cls.client = MlflowClient(cls.server.url)

    @classmethod
    def tearDownClass(cls) -> None:
        while mlflow.active_run():
            mlflow.end_run()
        cls.server.stop()
        shutil.rmtree(cls.folder)

    def native(self, run) -> dict:
        """The run as the native API shows it."""
        experiment = self.client.get_experiment(run.info.experiment_id)
        return self.server.get(f"/api/v1/runs/{experiment.name}/{run.info.run_id}")


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--bin"]:
        ClientTest.bin = pathlib.Path(arguments[1]).resolve()
        arguments = arguments[2:]
    record_calls()
    program = unittest.main(argv=[sys.argv[0], *arguments], exit=False)
    if where := os.environ.get("KEDGE_MLFLOW_CALLS"):
        pathlib.Path(where).write_text(json.dumps(sorted(SEEN)))
    sys.exit(not program.result.wasSuccessful())
