"""Each call that the server declares is made, and its answer is as declared (ServerCase.ask)."""

import hashlib
import json
import sys

from declared import Declared
from server_case import ROOT, ServerCase

sys.path.append(str(ROOT / "tools"))

from api_types import render_types  # noqa: E402

SWEEP = """
method: grid
metric: {name: loss, goal: minimize}
parameters: {lr: {values: [0.1, 0.2]}}
"""


class EveryCall(ServerCase):
    def make(self, method: str, path: str, body=None) -> dict:
        answer = self.ask(method, "/api/v1/" + path, body)
        self.assertLess(answer.status, 300, answer.body)
        return json.loads(answer.body) if answer.body[:1] in (b"{", b"[") else {}

    def test_the_contract_with_the_page(self):
        requests = json.loads((ROOT / "tests/fixtures/api/requests.json").read_text())
        for request in requests["made_by"] + list(requests["asked"].values()):
            self.make(request["method"], request["path"], request.get("body"))

    def test_runs(self):
        self.make("POST", "runs/every", {"id": "a"})
        run = "runs/every/a"
        self.make("POST", f"{run}/heartbeat")
        self.make("POST", f"{run}/log", {"step": 1, "values": {"loss": 0.5}})
        for kind in ("json", "jsonl", "csv", "parquet"):
            self.make("GET", f"{run}/history?format={kind}&replaced=1")
        self.make("PATCH", run, {"labels": {"by": "ann"}, "notes": None})
        self.make("POST", f"{run}/console", {"lines": ["one"]})
        self.make("POST", f"{run}/records", {"records": [{"type": "text", "key": "t"}]})
        self.make("GET", f"{run}/records")
        self.make("GET", f"{run}/records/keys")
        self.make("PUT", f"{run}/files/a/b.txt", b"text")
        self.make("GET", f"{run}/files/a/b.txt")
        self.make("GET", f"{run}/artifacts")
        digest = hashlib.sha256(b"blob").hexdigest()
        self.make("PUT", f"blobs/{digest}", b"blob")
        self.make("GET", f"blobs/{digest}")
        facts = {"name": "b", "attempts": [{"number": 1, "changes": []}]}
        self.make("PUT", "ingest/every/b", facts)
        self.make("GET", "ingest/every/b/a1-r0")
        self.make("POST", "ingest/every/b/a1-r0?from_seq=0", b"")
        self.make("GET", "runs/every/b/attempts")
        self.make("DELETE", run)
        self.make("POST", "runs/search", {"trash": True})
        self.make("DELETE", f"{run}?for_good=1")
        self.make("PATCH", "projects/every", {"labels": {"a": "b", "c": None}})
        self.make("GET", "projects/every/fields?limit=2")

    def test_artifacts_and_models(self):
        self.make("POST", "runs/kept", {"id": "a"})
        file = {"path": "w", "reference": "s3://bucket/w", "size": 1}
        draft = {"files": [file], "run": "a", "aliases": ["best"]}
        self.make("POST", "artifacts/kept/set", draft)
        version = "artifacts/kept/set/v0"
        self.make("PATCH", version, {"description": "d", "metadata": {"depth": 1}})
        self.make("POST", f"{version}/use", {"run": "a"})
        self.make("PUT", f"{version}/aliases/good", {})
        self.make("DELETE", f"{version}/aliases/good")
        self.make("DELETE", version)
        self.make("PUT", "runs/kept/a/files/w", b"w")
        digest = hashlib.sha256(b"w").hexdigest()
        self.make("POST", "artifacts/kept/set", {"files": [{"path": "w", "digest": digest}]})
        self.make("GET", "artifacts/kept/set/latest/files/w")
        self.make("POST", "models", {"name": "m"})
        self.make("PATCH", "models/m", {"tags": {"a": "b"}})
        self.make("POST", "models/m/versions", {"source": "artifact:kept/set:v1"})
        self.make("GET", "models/m/versions/1")
        self.make("PATCH", "models/m/versions/1", {"stage": "Staging"})
        self.make("PUT", "models/m/aliases/best", {"version": 1})
        self.make("GET", "models/m")
        self.make("DELETE", "models/m/aliases/best")
        self.make("DELETE", "models/m/versions/1")
        self.make("DELETE", "models/m")

    def test_views_and_users(self):
        self.make("PUT", "views/every", {"name": "V", "view": {"query": "x"}})
        self.make("GET", "views/every")
        self.make("DELETE", "views/every")
        self.make("GET", "audit?limit=10")
        self.make("GET", "users")

    def test_sweeps(self):
        facts = {"format": "kedge-sweep", "version": 1, "id": "s1", "name": "s", "project": "every"}
        facts |= {"file": "sweep.yaml", "metric": {"name": "loss", "goal": "minimize"}}
        sweep = "sweeps/every/s1"
        self.make("PUT", sweep, {"text": SWEEP, "facts": facts})
        self.make("GET", "sweeps?project=every")
        self.make("GET", sweep)
        trial = self.make("POST", f"{sweep}/claim", {"agent": "one"})["trial"]
        told = f"{sweep}/trials/{trial['number']}"
        agent = {"agent": "one"}
        self.assertEqual(self.make("POST", f"{told}/beat", agent), {"is_held": True})
        self.make("POST", f"{told}/progress", agent | {"curve": [1.5, None]})
        self.make("POST", f"{told}/release", agent)
        self.make("POST", f"{sweep}/claim", agent)
        self.make("POST", f"{told}/pause", agent)
        self.make("POST", f"{sweep}/claim", agent)
        result = {"state": "failed", "exit_code": 1, "seconds": 2.5, "host": "h", "ended": "t"}
        told_result = self.make("POST", f"{told}/result", agent | {"result": result})
        self.assertEqual(told_result, {"is_ours": True})
        self.make("POST", f"{told}/retry", agent)
        self.make("POST", f"{sweep}/known", {"values": {"lr": 0.1}})
        number = len(self.make("GET", f"{sweep}/trials")["trials"]) + 1
        result |= {"state": "finished", "metric": 0.5}
        ended = trial | {"number": number, "result": result}
        self.assertEqual(self.make("POST", f"{sweep}/trials", ended), {"is_added": True})
        self.make("GET", f"{sweep}/trials")
        self.make("GET", f"{sweep}/control")
        self.make("PUT", f"{sweep}/control", {"state": "paused"})
        facts |= {"id": "s2"}
        sweep = "sweeps/every/s2"
        self.make("PUT", sweep, {"text": SWEEP, "facts": facts})
        for number in range(1, 11):
            values = {"lr": 0.1 * (1 + number % 2)}
            ended |= {"number": number, "values": values, "result": result | {"metric": number}}
            self.make("POST", f"{sweep}/trials", ended)
        self.make("GET", f"{sweep}/importance")

    def test_what_is_not_declared_is_refused(self):
        self.make("POST", "runs/strict", {"id": "a"})
        for method, path, body, message in (
            ("GET", "projects?limit=1", None, "this call has no parameter 'limit'"),
            ("GET", "audit?limits=1", None, "unknown parameter 'limits'; did you mean 'limit'?"),
            ("GET", "audit?limit=1&limit=2", None, "'limit' is there twice"),
            ("GET", "audit?limit=", None, "'limit' must be a whole number, not string"),
            ("GET", "audit?limit=-1", None, "'limit' must be 0 to 10000, not -1"),
            ("GET", "runs/strict/a/history?format=xml", None, None),
            ("POST", "runs/strict/a/heartbeat", {"at": 1}, None),
            ("POST", "runs/strict/a/log?at=1", {"step": 1, "values": {}}, None),
            ("POST", "ingest/strict/a/w", b"", "'from_seq' is needed"),
            ("POST", "series", {"runs": [{"id": "a"}], "keys": []}, "'runs[0].project' is needed"),
            ("PUT", "sweeps/strict/s", {"text": "", "facts": {}, "fact": 1}, None),
        ):
            with self.subTest(path=path):
                answer = self.ask(method, "/api/v1/" + path, body)
                self.assertEqual((answer.status, answer.code), (400, "bad_request"), answer.body)
                if message:
                    self.assertEqual(answer.json["error"]["message"], message)


class Types(ServerCase):
    def test_those_of_the_page_are_what_the_server_declares(self):
        openapi = self.ask("GET", "/api/v1/openapi.json").json
        committed = (ROOT / "web/src/api/types.ts").read_text()
        self.assertEqual(render_types(openapi), committed, "tools/api_types.py writes it")


def unmade_calls() -> set[str]:
    """The declared calls that no test of this process has had a good answer to."""
    return Declared.all - Declared.seen
