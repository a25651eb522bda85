"""A `kedge server` of its own for each class of tests, asked MLflow's calls over plain HTTP."""

import json
import os
import pathlib
import sys
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import Answer, ServerCase, take_bin  # noqa: E402

API = "/api/2.0/mlflow/"
FILES = "/api/2.0/mlflow-artifacts/artifacts"
SEEN: set[tuple[str, str]] = set()  # calls that were answered, for the table in the docs


class MlflowTest(ServerCase):
    count = 0

    def ask(self, method: str, path: str, body=None, headers=None) -> Answer:
        answer = super().ask(method, path, body, headers)
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

    def admin(self) -> dict[str, str]:
        """The headers of who started the server, where it has --auth."""
        token = (self.folder / "data/admin-token").read_text().strip()
        return {"Authorization": f"Bearer {token}"}

    def two_projects(self, scope: str) -> tuple[list[str], dict[str, str]]:
        """Experiments "mine" and "theirs", and the headers of a token for the first alone."""
        ids = []
        for name in ("mine", "theirs"):
            made = self.ask("POST", API + "experiments/create", {"name": name}, self.admin())
            ids.append(made.json["experiment_id"])
        grant = {"name": "one", "scopes": [scope], "project": "mine"}
        secret = self.ask("POST", "/api/v1/tokens", grant, self.admin()).json["token"]
        return ids, {"Authorization": f"Bearer {secret}"}

    def found(self, experiment: str, text: str, **fields) -> list[str]:
        """The names of the runs that a filter finds, in order."""
        answer = self.post("runs/search", experiment_ids=[experiment], filter=text, **fields)
        return [run["info"]["run_name"] for run in answer.get("runs", [])]


def main() -> None:
    take_bin()
    program = unittest.main(exit=False)
    if where := os.environ.get("KEDGE_MLFLOW_CALLS"):
        pathlib.Path(where).write_text(json.dumps(sorted(SEEN)))
    sys.exit(not program.result.wasSuccessful())
