#!/usr/bin/env python3
"""What docs/reference/wandb.md promises, asked of a real `kedge server` in a client's bytes, with
bad input too. Needs no wandb: the documents are those of client 0.31.0, shortened.

Usage: contract.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import base64
import hashlib
import http.client
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from server_case import ServerCase, take_bin  # noqa: E402

UPSERT = """
mutation UpsertBucket($id: String, $name: String, $project: String, $entity: String,
    $groupName: String, $displayName: String, $notes: String, $config: JSONString, $host: String,
    $program: String, $jobType: String, $sweep: String, $tags: [String!],
    $summaryMetrics: JSONString,) {
  upsertBucket(input: {id: $id, name: $name, groupName: $groupName, modelName: $project,
      entityName: $entity, displayName: $displayName, notes: $notes, config: $config, host: $host,
      jobProgram: $program, jobType: $jobType, sweep: $sweep, tags: $tags,
      summaryMetrics: $summaryMetrics}) {
    bucket { id name displayName description config sweepName
      project { id name entity { id name } } historyLineCount }
    inserted
  }
}"""


class WandbTest(ServerCase):
    key = "k" * 40

    def send(self, method: str, path: str, body: bytes = b"", headers=None) -> tuple[int, bytes]:
        answer = self.ask(method, path, body, headers)
        return answer.status, answer.body

    def login(self) -> dict:
        token = base64.b64encode(f"api:{self.key}".encode()).decode()
        return {"Authorization": f"Basic {token}", "Content-Type": "application/json"}

    def graphql(self, query: str, variables=None, status: int = 200, operation: str = ""):
        body = {"query": query, "variables": variables, "operationName": operation}
        got, text = self.send("POST", "/graphql", json.dumps(body).encode(), self.login())
        self.assertEqual(got, status, text[:500])
        answer = json.loads(text)
        return answer["data"] if status == 200 else answer["errors"][0]["message"]

    def upsert(self, **variables) -> dict:
        return self.graphql(UPSERT, variables)["upsertBucket"]

    def begin(self, project: str, name: str, **more) -> dict:
        return self.upsert(project=project, name=name, host="h", program="p.py", **more)

    def stream(self, project: str, run: str, body: dict, status: int = 200) -> dict:
        path = f"/files/me/{project}/{run}/file_stream"
        got, text = self.send("POST", path, json.dumps(body).encode(), self.login())
        self.assertEqual(got, status, text[:500])
        return json.loads(text)

    def rows(self, project: str, run: str) -> list[dict]:
        query = (
            "query($p: String, $r: String!) { project(name: $p) { run(name: $r) { history } } }"
        )
        data = self.graphql(query, {"p": project, "r": run})
        return [json.loads(line) for line in data["project"]["run"]["history"]]

    @staticmethod
    def history(offset: int, *rows: dict) -> dict:
        lines = [json.dumps(row) for row in rows]
        return {"files": {"wandb-history.jsonl": {"offset": offset, "content": lines}}}


class GraphQlTest(WandbTest):
    def test_who_am_i(self):
        data = self.graphql(
            "query Viewer { viewer { id entity username email flags "
            "teams { edges { node { name } } } } }"
        )
        self.assertEqual(data["viewer"]["entity"], "kedge")
        self.assertIsInstance(data["viewer"]["flags"], str)
        self.assertEqual(data["viewer"]["teams"]["edges"][0]["node"]["name"], "kedge")

    def test_an_unknown_field_is_named(self):
        message = self.graphql("{ viewer { shoeSize } }", status=400)
        self.assertEqual(message, 'Cannot query field "shoeSize" on type "User".')

    def test_malformed_documents_are_refused_with_the_place(self):
        self.assertIn("line 1, column 10", self.graphql("{ viewer ", status=400))
        self.assertIn("no operation", self.graphql("", status=400))
        for body in (b"", b"[]", b"{", b'{"query": 3}', b"\xff\xfe"):
            status, text = self.send("POST", "/graphql", body, self.login())
            self.assertEqual(status, 400, text)
            self.assertTrue(json.loads(text)["errors"][0]["message"])

    def test_what_is_not_there_is_null(self):
        data = self.graphql('{ project(name: "nothing") { run(name: "x") { id } } }')
        self.assertEqual(data, {"project": None})
        self.begin("there", "r")
        data = self.graphql(
            '{ project(name: "there") { run(name: "x") { id } '
            'artifact(name: "a:v0") { id } sweep(sweepName: "s") { id } } }'
        )
        self.assertEqual(data, {"project": {"run": None, "artifact": None, "sweep": None}})

    def test_huge_variables_are_taken_and_huger_ones_refused(self):
        self.graphql("query($x: String) { viewer { id } }", {"x": "v" * 10_500_000})
        body = b'{"query": "{ viewer { id } }", "x": "' + b"v" * (65 << 20) + b'"}'
        try:
            status, text = self.send("POST", "/graphql", body, self.login())
        except (BrokenPipeError, ConnectionResetError):
            return  # refused before it was sent
        self.assertEqual(status, 413)
        self.assertTrue(json.loads(text)["errors"][0]["message"])

    def test_telemetry_is_told_to_stop(self):
        for path in ("/sdk/otel/v1/metrics", "/sdk/otel/v1/logs"):
            status, _ = self.send("POST", path, b"x")
            self.assertIn(status, (404, 405))

    def test_older_clients_may_look_at_the_schema(self):
        data = self.graphql(
            '{ __type(name: "UpsertBucketInput") { inputFields { name } } '
            "__schema { mutationType { fields { name } } } }"
        )
        names = [field["name"] for field in data["__type"]["inputFields"]]
        self.assertIn("summaryMetrics", names)
        mutations = [field["name"] for field in data["__schema"]["mutationType"]["fields"]]
        self.assertIn("upsertBucket", mutations)


class RunTest(WandbTest):
    def test_the_entity_is_answered_as_it_was_asked(self):
        made = self.begin("e", "r1", entity="team")
        self.assertEqual(made["bucket"]["project"]["entity"]["name"], "team")
        self.assertTrue(made["inserted"])
        self.assertEqual(made["bucket"]["historyLineCount"], 0)
        self.assertFalse(self.upsert(project="e", name="r1")["inserted"])
        by_id = self.upsert(id=made["bucket"]["id"], notes="n")
        self.assertEqual(by_id["bucket"]["project"]["entity"]["name"], "team")

    def test_the_same_rows_again_change_nothing(self):
        self.begin("rows", "r")
        body = self.history(0, {"_step": 0, "x": 1}, {"_step": 1, "x": 2})
        for _ in range(3):
            self.stream("rows", "r", body)
        self.stream("rows", "r", self.history(1, {"_step": 1, "x": 2}, {"_step": 2, "x": 3}))
        self.assertEqual([row["x"] for row in self.rows("rows", "r")], [1, 2, 3])
        self.assertEqual([float(p[1]) for p in self.server.history("rows", "r", "x")], [1, 2, 3])

    def test_nan_comes_back_as_it_came(self):
        self.begin("nan", "r")
        lines = ['{"_step": 0, "x": NaN, "y": -Infinity}']
        self.stream(
            "nan", "r", {"files": {"wandb-history.jsonl": {"offset": 0, "content": lines}}}
        )
        query = """query($s: [JSONString!]!) { project(name: "nan") { run(name: "r") {
            history sampledHistory(specs: $s) summaryMetrics historyKeys } } }"""
        data = self.graphql(query, {"s": json.dumps({"keys": ["_step", "x", "y"]})})["project"][
            "run"
        ]
        self.assertEqual(data["history"], lines)
        self.assertEqual(data["sampledHistory"], [[{"_step": 0, "x": "NaN", "y": "-Infinity"}]])

    def test_a_line_that_is_no_json_is_refused_for_good(self):
        self.begin("bad", "r")
        for content in (["{"], ["[1]"], [3], "x"):
            body = {"files": {"wandb-history.jsonl": {"offset": 0, "content": content}}}
            self.assertTrue(self.stream("bad", "r", body, 400)["errors"][0]["message"])
        self.stream("bad", "nobody", {}, 404)

    def test_the_same_id_again_begins_again(self):
        self.begin("again", "r")
        self.stream("again", "r", self.history(0, {"_step": 0, "x": 1}, {"_step": 1, "x": 2}))
        self.stream("again", "r", {"complete": True, "exitcode": 0})
        made = self.begin("again", "r")
        self.assertEqual(made["bucket"]["historyLineCount"], 0)
        self.stream("again", "r", self.history(0, {"_step": 0, "x": 7}))
        self.assertEqual([row["x"] for row in self.rows("again", "r")], [7])
        attempts = self.server.get("/api/v1/runs/again/r/attempts")["attempts"]
        self.assertEqual([attempt["number"] for attempt in attempts], [1, 2])

    def test_a_run_that_shall_stop_is_told(self):
        made = self.begin("stop", "r")
        self.assertNotIn("stopped", self.stream("stop", "r", {}))
        self.graphql(
            "mutation($id: ID!) { stopRun(input: {id: $id}) { success } }",
            {"id": made["bucket"]["id"]},
        )
        self.assertIs(self.stream("stop", "r", {})["stopped"], True)

    def test_exit_codes_are_states(self):
        query = 'query($n: String!) { project(name: "ends") { run(name: $n) { state exitcode } } }'
        for name, code, state in (("a", 0, "finished"), ("b", 3, "failed")):
            self.begin("ends", name)
            self.stream("ends", name, {"complete": True, "exitcode": code})
            found = self.graphql(query, {"n": name})["project"]["run"]
            self.assertEqual(found, {"state": state, "exitcode": code})
        self.begin("ends", "c")
        self.stream("ends", "c", {"preempting": True})
        self.assertEqual(self.graphql(query, {"n": "c"})["project"]["run"]["state"], "preempting")

    def test_resume_is_told_all_that_it_needs(self):
        self.begin(
            "res",
            "r",
            config=json.dumps({"a": {"value": 1}, "_wandb": {"value": {"t": {"1": [2]}}}}),
        )
        self.stream("res", "r", self.history(0, {"_step": 0, "x": 1}))
        query = """query RunResumeStatus($project: String, $name: String!) {
          model(name: $project, entityName: null) { id name entity { id name }
            bucket(name: $name, missingOk: true) { id name summaryMetrics displayName logLineCount
              historyLineCount eventsLineCount historyTail eventsTail config tags notes
              wandbConfig(keys: ["t"]) } } }"""
        found = self.graphql(query, {"project": "res", "name": "r"})["model"]["bucket"]
        self.assertEqual(json.loads(json.loads(found["historyTail"])[0]), {"_step": 0, "x": 1})
        self.assertEqual((found["historyLineCount"], found["eventsTail"]), (1, "[]"))
        self.assertEqual(json.loads(found["wandbConfig"]), {"t": {"1": [2]}})
        self.assertEqual(json.loads(found["config"])["a"], {"value": 1})
        absent = self.graphql(query, {"project": "res", "name": "none"})["model"]
        self.assertIsNone(absent["bucket"])

    def test_the_address_a_client_prints_leads_to_the_page(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request("GET", "/team/my%20project/runs/abc")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 302)
        place = "./../../../#/at/team/my%20project/runs/abc"
        self.assertEqual(answer.headers["Location"], place)
        connection.close()


class FileTest(WandbTest):
    FILES = """mutation CreateRunFiles($entity: String!, $project: String!, $run: String!,
        $files: [String!]!) {
      createRunFiles(input: {entityName: $entity, projectName: $project, runName: $run,
          files: $files}) {
        runID uploadHeaders files { name uploadUrl } } }"""

    def address(self, name: str) -> str:
        made = self.graphql(
            self.FILES, {"entity": "me", "project": "f", "run": "r", "files": [name]}
        )
        file = made["createRunFiles"]["files"][0]
        self.assertEqual((file["name"], made["createRunFiles"]["uploadHeaders"]), (name, []))
        self.assertTrue(file["uploadUrl"].startswith(self.server.url))
        return file["uploadUrl"][len(self.server.url) :]

    def test_bytes_go_to_an_address_without_a_password(self):
        self.begin("f", "r")
        path = self.address("media/a b.txt")
        self.assertEqual(self.send("PUT", path, b"hello")[0], 200)
        query = """{ project(name: "f") { run(name: "r") {
          fileCount files(names: ["./media/a b.txt"]) {
            edges { node { id name url directUrl sizeBytes md5 mimetype } cursor }
            pageInfo { hasNextPage } } } } }"""
        edges = self.graphql(query)["project"]["run"]["files"]["edges"]
        node = edges[0]["node"]
        self.assertEqual((node["name"], node["sizeBytes"]), ("media/a b.txt", 5))
        self.assertEqual(base64.b64decode(node["md5"]), hashlib.md5(b"hello").digest())
        got = self.send("GET", node["directUrl"][len(self.server.url) :])
        self.assertEqual(got, (200, b"hello"))

    def test_an_address_that_nobody_made_is_nothing(self):
        self.begin("f", "r")
        path = self.address("x.txt")
        token = path.split("/")[3]
        wrong = path.replace(token, token[:-1] + ("0" if token[-1] != "0" else "1"))
        self.assertEqual(self.send("PUT", wrong, b"x")[0], 404)
        self.assertEqual(self.send("GET", path)[0], 404)
        message = self.graphql(
            self.FILES, {"entity": "e", "project": "f", "run": "r", "files": ["../x"]}, 400
        )
        self.assertIn("..", message)


class AccessTest(WandbTest):
    options = ("--auth",)

    def setUp(self):
        token = (self.folder / "data/admin-token").read_text().strip()
        self.key = token

    def test_a_wrong_key_is_401_and_a_right_one_has_a_name(self):
        self.assertGreaterEqual(len(self.key), 40)
        self.assertTrue(re.fullmatch(r"[\w-]+", self.key), self.key)
        data = self.graphql("{ viewer { entity admin } }")
        self.assertEqual(data["viewer"], {"entity": "admin", "admin": True})
        self.key = "x" * 40
        self.assertTrue(self.graphql("{ viewer { id } }", status=401))
        self.assertEqual(
            self.stream("p", "r", {}, 401)["errors"][0]["message"][:1].isalpha(), True
        )

    def test_a_key_for_one_project_sees_only_that(self):
        self.begin("mine", "r")
        self.begin("other", "r")
        made = self.native(
            "POST", "/api/v1/tokens", {"name": "t", "scopes": ["view"], "project": "mine"}
        )
        self.key = made["secret"] if "secret" in made else made["token"]
        data = self.graphql(
            '{ a: project(name: "mine") { name } b: project(name: "other") { name } }'
        )
        self.assertEqual((data["a"], data["b"]), ({"name": "mine"}, None))
        self.assertIn("read", self.graphql(UPSERT, {"project": "mine", "name": "r"}, 403))

    def native(self, method: str, path: str, body: dict) -> dict:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        status, text = self.send(method, path, json.dumps(body).encode(), headers)
        self.assertLess(status, 300, text)
        return json.loads(text)


class DocsTest(unittest.TestCase):
    def test_the_table_in_the_documentation_is_what_the_tests_show(self):
        table = subprocess.run(
            [sys.executable, ROOT / "tests/wandb/clients.py", "--table"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        page = (ROOT / "docs/reference/wandb.md").read_text()
        self.assertIn(table.strip(), page, "paste the output of tests/wandb/clients.py --table")


if __name__ == "__main__":
    take_bin()
    unittest.main()
