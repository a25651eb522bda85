"""A `kedge server` of its own for each class of tests, asked MLflow's calls over plain HTTP."""

import http.client
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_process import ServerProcess  # noqa: E402

BIN = ROOT / "build/bin"
API = "/api/2.0/mlflow/"
FILES = "/api/2.0/mlflow-artifacts/artifacts"
SEEN: set[tuple[str, str]] = set()  # calls that were answered, for the table in the docs


class Answer:
    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> dict:
        return json.loads(self.body)


class MlflowTest(unittest.TestCase):
    """A server of its own for each class."""

    options: tuple[str, ...] = ()
    count = 0

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-mlflow-"))
        cls.server = ServerProcess(BIN / "kedge", cls.folder / "data", *cls.options)
        cls.server.start()

    @classmethod
    def tearDownClass(cls) -> None:
        status = cls.server.stop()
        shutil.rmtree(cls.folder)
        if status != 0:
            raise AssertionError(f"the server ended with {status}")

    def ask(self, method: str, path: str, body=None, headers=None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        if answer.status < 300:
            SEEN.add((method, path.split("?")[0]))
        return answer

    def post(self, call: str, **fields) -> dict:
        answer = self.ask("POST", API + call, fields)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def get(self, call: str, **fields) -> dict:
        query = urllib.parse.urlencode(fields, doseq=True)
        answer = self.ask("GET", f"{API}{call}?{query}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def refused(self, call: str, fields, status: int = 400) -> str:
        """The message of what a call is refused with."""
        answer = self.ask("POST", API + call, fields)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json["message"]

    def experiment(self) -> str:
        MlflowTest.count += 1
        return self.post("experiments/create", name=f"e{MlflowTest.count}")["experiment_id"]

    def run_of(self, experiment: str, **fields) -> str:
        run = self.post("runs/create", experiment_id=experiment, user_id="ann", **fields)["run"]
        return run["info"]["run_id"]

    def found(self, experiment: str, text: str, **fields) -> list[str]:
        """The names of the runs that a filter finds, in order."""
        answer = self.post("runs/search", experiment_ids=[experiment], filter=text, **fields)
        return [run["info"]["run_name"] for run in answer.get("runs", [])]


def main() -> None:
    global BIN
    arguments = sys.argv[1:]
    if arguments[:1] == ["--bin"]:
        BIN = pathlib.Path(arguments[1]).resolve()
        arguments = arguments[2:]
    program = unittest.main(argv=[sys.argv[0], *arguments], exit=False)
    if where := os.environ.get("KEDGE_MLFLOW_CALLS"):
        pathlib.Path(where).write_text(json.dumps(sorted(SEEN)))
    sys.exit(not program.result.wasSuccessful())
