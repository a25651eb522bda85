"""A key or a link for one project, or for one run, tells nothing of what is around it: no name, no
count, no suggestion. Everything inside the foreign project carries one word, and no answer may
contain it."""

import base64
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from server_process import ServerProcess  # noqa: E402

WORD = "xyzzy"
SWEEP = """name: {name}
method: random
metric: {{name: {name}, goal: minimize}}
parameters: {{{name}: {{values: [1, 2]}}}}
"""


class Scope(unittest.TestCase):
    sweeps: dict[str, str] = {}  # by project

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-scope-"))
        cls.server = ServerProcess(ROOT / "build/bin/kedge", cls.folder / "data", "--auth")
        cls.server.start()
        token = (cls.server.data / "admin-token").read_text().strip()
        cls.admin = {"Authorization": f"Bearer {token}"}
        cls.fill("own", "mine", "plain")
        cls.fill("own", "beside", f"{WORD}-beside")
        cls.fill("foreign", "theirs", WORD)
        made = cls.must("POST", "/api/v1/tokens", {"name": "t", "project": "own"})
        cls.token = {"Authorization": f"Bearer {made['token']}"}
        cls.link = cls.must("POST", "/api/v1/shares", {"project": "own"})["token"]
        one_run = {"project": "own", "run": "mine"}
        cls.run_link = cls.must("POST", "/api/v1/shares", one_run)["token"]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()
        shutil.rmtree(cls.folder)

    @classmethod
    def fill(cls, project: str, run: str, word: str) -> None:
        """A run with something of every kind, all of it named after the word."""
        path = f"/api/v1/runs/{project}"
        facts = {"name": word, "tags": [word], "group": word, "user": word, "notes": word}
        config = {word: {"deep": 1}, f"{word}_key": word}
        summary = {f"{word}_set": 3}
        body = {"id": run, "config": config, "summary": summary, "labels": {word: word}, **facts}
        cls.must("POST", path, body)
        point = {"key": f"{word}_metric", "step": 1, "value": 2}
        cls.must("POST", f"{path}/{run}/log", {"points": [point]})
        alert = {"type": "alert", "key": word, "step": 1, "body": {"title": word, "text": word}}
        cls.must("POST", f"{path}/{run}/records", {"records": [alert]})
        if run == "beside":
            return
        view = {"name": word, "project": project, "view": {"query": word}}
        cls.must("PUT", f"/api/v1/views/view-{project}", view)
        sweep = {"config": SWEEP.format(name=word), "project": project}
        question = "mutation($config: String, $project: String) { upsertSweep(input: {config:"
        question += ' $config, modelName: $project, entityName: "e"}) { sweep { name } } }'
        made = cls.must("POST", "/graphql", {"query": question, "variables": sweep})
        cls.sweeps[project] = made["data"]["upsertSweep"]["sweep"]["name"]

    @classmethod
    def must(cls, method: str, path: str, body) -> dict:
        status, text = cls.ask(method, path, body, cls.admin)
        if status >= 300:
            raise AssertionError(f"{method} {path}: {status} {text}")
        return json.loads(text or "{}")

    @classmethod
    def ask(cls, method: str, path: str, body=None, headers=None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", cls.server.port, timeout=30)
        headers = {"Content-Type": "application/json", **(headers or {})}
        data = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def each(self):
        """Who is confined, how it asks, and whether it is to one run."""
        yield "token", lambda m, p, b=None: self.ask(m, p, b, self.token), False
        for name, secret, is_run in (("link", self.link, False), ("run", self.run_link, True)):

            def ask(method, path, body=None, secret=secret):
                sign = "&" if "?" in path else "?"
                return self.ask(method, f"{path}{sign}share={secret}", body)

            yield name, ask, is_run

    def check(self, who: str, asked, answer: tuple[int, str], is_run: bool) -> None:
        status, text = answer
        text = text.replace(f"{WORD}-beside", "") if not is_run else text
        self.assertNotIn(WORD, text, f"{who}: {asked} answered {status}")
        self.assertLess(status, 500, f"{who}: {asked}: {text}")

    def test_filters_suggest_only_own_names(self):
        for who, ask, is_run in self.each():
            slips = (f"{WORD}_metrics", "xyzy", f"config.{WORD}_ky", f"label.{WORD}x", "xyzzy_st")
            for name in slips:
                # A name that the foreign project has must be as unknown as one that nobody has.
                for filter in (f"{name} > 1", f"exists {name}"):
                    body = {"filter": filter}
                    status, text = ask("POST", "/api/v1/runs/search", body)
                    text = text.replace(name.removeprefix("config.").removeprefix("label."), "")
                    self.check(who, filter, (status, text), is_run)
                    self.assertIn("no run has", text)

    def test_a_name_that_only_others_have_is_unknown(self):
        for who, ask, _ in self.each():
            for name in (f"{WORD}_metric", f"{WORD}_set", f"config.{WORD}_key", f"label.{WORD}"):
                status, text = ask("POST", "/api/v1/runs/search", {"filter": f"exists {name}"})
                self.assertEqual(status, 200)
                answer = json.loads(text)
                self.assertEqual(answer["total"], 0, f"{who}: {name}")
                self.assertEqual(len(answer["warnings"]), 1, f"{who}: {name}")

    def test_a_foreign_project_is_not_there(self):
        bodies = {
            "/api/v1/runs/search": {},
            "/api/v1/groups/runs": {"group": ["state"], "fields": ["name"]},
            "/api/v1/groups/series": {"group": ["name"], "key": f"{WORD}_metric"},
        }
        series = {"runs": [{"project": "foreign", "id": "theirs"}], "keys": [f"{WORD}_metric"]}
        for who, ask, _ in self.each():
            for path, body in bodies.items():
                status, text = ask("POST", path, {"project": "foreign", **body})
                self.assertEqual(status, 404, f"{who}: {path}: {text}")
            self.assertEqual(ask("POST", "/api/v1/series", series)[0], 404, who)
            for path in ("events", "views", "sweeps"):
                status, text = ask("GET", f"/api/v1/{path}?project=foreign")
                self.assertEqual(status, 404, f"{who}: {path}: {text}")

    def test_native_routes_tell_only_of_the_own_project(self):
        sweep = self.sweeps["foreign"]
        paths = [
            "projects", "projects/foreign/fields", "projects/own/fields", "views", "sweeps", "me",
            "views/view-foreign", "alerts", "alerts?project=foreign", "audit", "users", "tokens",
            "shares", "models", "artifacts/foreign", "artifacts/own", f"sweeps/foreign/{sweep}",
            f"sweeps/foreign/{sweep}/trials", f"sweeps/own/{sweep}", "runs/foreign/theirs",
            "runs/own/theirs", "runs/foreign/theirs/metrics", "runs/foreign/theirs/history",
            "runs/foreign/theirs/records", "runs/foreign/theirs/files", "runs/own/beside",
            "runs/foreign/theirs/console", "runs/foreign/theirs/attempts",
        ]  # fmt: skip
        for who, ask, is_run in self.each():
            for path in paths:
                self.check(who, path, ask("GET", f"/api/v1/{path}"), is_run)
            for body in (
                {},
                {"filter": "exists name", "order": [f"-{WORD}_metric"]},
                {"fields": [f"summary.{WORD}_metric", f"config.{WORD}_key"]},
            ):
                for path in ("runs/search", "groups/runs"):
                    sent = {**body, "group": ["name"]} if path == "groups/runs" else body
                    answer = ask("POST", f"/api/v1/{path}", sent)
                    asked = answer[1].replace(f"{WORD}_metric", "").replace(f"{WORD}_key", "")
                    self.assertEqual(answer[0], 200, answer)
                    self.check(who, (path, sent), (answer[0], asked), is_run)

    def test_a_link_to_one_run_counts_no_others(self):
        sign = f"?share={self.run_link}"
        projects = json.loads(self.ask("GET", f"/api/v1/projects{sign}")[1])["projects"]
        self.assertEqual([(p["name"], p["run_count"]) for p in projects], [("own", 1)])
        found = json.loads(self.ask("POST", f"/api/v1/runs/search{sign}", {})[1])
        self.assertEqual(([r["id"] for r in found["runs"]], found["total"]), (["mine"], 1))
        none = json.loads(self.ask("POST", f"/api/v1/runs/search{sign}", {"filter": "id = x"})[1])
        self.assertEqual((none["runs"], none["total"]), ([], 0))
        status, text = self.ask("POST", f"/api/v1/runs/search{sign}", {"filter": "id ="})
        self.assertEqual(status, 400, text)
        groups = json.loads(self.ask("POST", f"/api/v1/groups/runs{sign}", {"group": ["id"]})[1])
        self.assertEqual((groups["total"], groups["runs"]), (1, 1))

    def experiment(self, project: str) -> str:
        path = f"/api/2.0/mlflow/experiments/get-by-name?experiment_name={project}"
        found = json.loads(self.ask("GET", path, headers=self.admin)[1])
        return found["experiment"]["experiment_id"]

    def mlflow_calls(self):
        number, own = self.experiment("foreign"), self.experiment("own")
        for mine in ({"experiment_ids": [own]}, {"experiment_ids": [own, number]}):
            yield "POST", "runs/search", mine
            yield "POST", "experiments/search-datasets", mine
            yield "POST", "logged-models/search", mine
        yield "GET", f"experiments/get?experiment_id={own}", None
        yield "GET", "runs/get?run_id=beside", None
        yield "GET", "metrics/get-history?run_id=beside&metric_key=m", None
        yield "GET", "artifacts/list?run_id=beside", None
        yield "GET", f"experiments/get?experiment_id={number}", None
        yield "GET", "experiments/get-by-name?experiment_name=foreign", None
        yield "POST", "experiments/search", {"max_results": 100}
        yield "POST", "runs/search", {"experiment_ids": [number]}
        filter = f"metrics.`{WORD[:-1]}_metric` > 0"
        yield "POST", "runs/search", {"experiment_ids": [number], "filter": filter}
        yield "POST", "runs/search", {"experiment_ids": []}
        yield "POST", "runs/search", {"experiment_ids": ["0"], "order_by": ["metrics.m DESC"]}
        yield "GET", "runs/get?run_id=theirs", None
        yield "GET", "metrics/get-history?run_id=theirs&metric_key=m", None
        yield "GET", "metrics/get-history-bulk?run_id=theirs&metric_key=m&max_results=10", None
        yield "GET", "metrics/get-history-bulk-interval?run_ids=theirs&metric_key=m", None
        yield "GET", "artifacts/list?run_id=theirs", None
        yield "GET", "registered-models/search?max_results=100", None
        yield "GET", "model-versions/search?max_results=100", None
        yield "POST", "logged-models/search", {"experiment_ids": [number]}
        yield "POST", "experiments/search-datasets", {"experiment_ids": [number]}
        yield "GET", "users/list", None

    def test_mlflow_tells_only_of_the_own_project(self):
        calls = list(self.mlflow_calls())
        for who, ask, is_run in self.each():
            for method, path, body in calls:
                answer = ask(method, f"/api/2.0/mlflow/{path}", body)
                self.check(who, (path, body), answer, is_run)

    def test_wandb_tells_only_of_the_own_project(self):
        run_facts = "name displayName config summaryMetrics tags notes"
        project = "name runCount runs(first: 50) { edges { node { %s } } }" % run_facts
        sweep = self.sweeps["foreign"]
        inside = {
            "own": [project, f'run(name: "theirs") {{ {run_facts} }}']
            + [f'run(name: "beside") {{ {run_facts} }}'],
            "foreign": [project, f'run(name: "theirs") {{ {run_facts} }}']
            + [f'sweep(sweepName: "{sweep}") {{ name config }}'],
        }
        questions = [
            '{ models(entityName: "e", first: 50) { edges { node { name } } } }',
            "{ viewer { username entity email } }",
        ]
        for name, parts in inside.items():
            for part in parts:
                questions.append('{ project(name: "%s", entityName: "e") { %s } }' % (name, part))
        for global_id in ("Run:v1:theirs:foreign:e", "Project:v1:foreign:e", "Artifact:1"):
            quoted = json.dumps(base64.b64encode(global_id.encode()).decode())
            questions.append("{ artifact(id: %s) { id digest } }" % quoted)
        for who, ask, is_run in self.each():
            for question in questions:
                answer = ask("POST", "/graphql", {"query": question, "variables": {}})
                self.check(who, question, answer, is_run)

    def test_live_events_come_only_from_the_own_project(self):
        for query in ("", "?project=own"):
            connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=5)
            connection.request("GET", f"/api/v1/events{query}", headers=self.token)
            stream = connection.getresponse()
            self.assertEqual(stream.status, 200)
            self.must("PATCH", "/api/v1/runs/foreign/theirs", {"notes": f"{WORD} again"})
            self.must("PATCH", "/api/v1/runs/own/mine", {"notes": "mine again"})
            heard = ""
            while '"mine"' not in heard:
                heard += stream.fp.readline().decode()
            self.assertNotIn("theirs", heard)
            connection.close()

    def test_an_address_in_the_question_is_no_way_round(self):
        quoted = urllib.parse.quote("foreign", safe="")
        for path in (f"runs/{quoted}/theirs", "runs/own%2F..%2Fforeign/theirs"):
            status, text = self.ask("GET", f"/api/v1/{path}", headers=self.token)
            self.assertIn(status, (400, 404), text)


if __name__ == "__main__":
    unittest.main()
