#!/usr/bin/env python3
"""What docs/reference/api.md promises, asked of a real `kedge server`, with bad input too.

Usage: contract.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import gzip
import http.client
import json
import math
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server_process import ServerProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = ROOT / "build/bin"
RUN = "/api/v1/runs/p/r"


class Answer:
    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> dict:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["error"]["code"]


class ServerTest(unittest.TestCase):
    """A server of its own for each class; tests of one class use runs of their own."""

    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.server = ServerProcess(BIN / "kedge", cls.folder / "data", *cls.options)
        cls.server.start()

    @classmethod
    def tearDownClass(cls) -> None:
        status = cls.server.stop()
        shutil.rmtree(cls.folder)
        if status != 0:
            raise AssertionError(f"the server ended with {status}")

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def ask(self, method: str, path: str, body=None, headers=None) -> Answer:
        connection = self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    def raw(self, data: bytes) -> bytes:
        """Sends bytes as they are, and returns all that comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
            return b"".join(parts)

    def make_run(self, run: str) -> str:
        project, name = run.split("/")
        self.assertEqual(self.ask("POST", f"/api/v1/runs/{project}", {"id": name}).status, 201)
        return f"/api/v1/runs/{run}"


class Requests(ServerTest):
    def test_is_ready_and_describes_itself(self):
        self.assertEqual(self.ask("GET", "/health").json["status"], "ok")
        self.assertEqual(self.ask("GET", "/api/v1/openapi.json").json["openapi"], "3.1.0")

    def test_says_what_is_wrong_with_a_body(self):
        run = self.make_run("p/bodies")
        deep = b"[" * 100_000
        for path, body, status in (
            (run + "/log", b"{", 400),
            (run + "/log", b'{"step": 1, "values": {"a": "x"}}', 400),
            (run + "/log", b'{"step": "1", "values": {"a": 1}}', 400),
            (run + "/log", b'{"step": 1, "values": {"\xff": 1}}', 400),
            (run + "/log", b"\x00\x01\x02", 400),
            (run + "/log", deep, 400),
            (run + "/records", deep, 400),
            (run + "/records", b'{"records": [{"key": "no type"}]}', 400),
            ("/api/v1/runs/search", b'{"limit": -1}', 400),
            ("/api/v1/runs/search", b'{"limit": 10001}', 400),
            ("/api/v1/runs/search", b'{"filter": "loss <"}', 400),
            ("/api/v1/runs/search", b'{"filterr": ""}', 400),
            ("/api/v1/series", b'{"runs": {}, "keys": []}', 400),
            ("/api/v1/runs/p", b'{"id": "a/b"}', 400),
            ("/api/v1/runs/p", b'{"config": 3}', 400),
        ):
            with self.subTest(path=path, body=body[:60]):
                answer = self.ask("POST", path, body)
                self.assertEqual(answer.status, status, answer.body)
                self.assertEqual(answer.code, "bad_request")
                self.assertTrue(answer.json["error"]["message"])

    def test_knows_no_runs_that_are_not_there(self):
        for method, path in (
            ("GET", "/api/v1/runs/p/none"),
            ("GET", "/api/v1/runs/p/none/metrics"),
            ("GET", "/api/v1/runs/p/none/history?key=a"),
            ("GET", "/api/v1/runs/p/none/console"),
            ("GET", "/api/v1/runs/p/none/files"),
            ("GET", "/api/v1/runs/p/none/records"),
            ("DELETE", "/api/v1/runs/p/none"),
            ("GET", "/api/v1/blobs/" + "0" * 64),
            ("GET", "/api/v1/views/none"),
            ("GET", "/api/v1/artifacts/p/none/latest"),
            ("GET", "/api/v1/models/none"),
            ("GET", "/api/v1/nothing"),
        ):
            with self.subTest(path=path):
                answer = self.ask(method, path)
                self.assertEqual((answer.status, answer.code), (404, "not_found"), answer.body)
        answer = self.ask("POST", "/api/v1/runs/p/none/log", {"step": 1, "values": {"a": 1}})
        self.assertEqual(answer.status, 404)

    def test_leads_nowhere_else(self):
        self.make_run("p/traversal")
        for path in (
            "/../../etc/passwd",
            "/assets/../../../etc/passwd",
            "/api/v1/runs/p/traversal/files/../../../x",
            "/api/v1/runs/p/traversal/files/%2e%2e/%2e%2e/x",
            "/api/v1/runs/p/traversal/files/..%2f..%2fx",
            "/api/v1/runs/p/traversal/files/a%00b",
            "/api/v1/runs/p/%c0%ae%c0%ae",
        ):
            for method in ("GET", "PUT"):
                with self.subTest(path=path, method=method):
                    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
                    answer = self.raw(head.encode() + b"Content-Length: 1\r\n\r\nx")
                    self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer[:200])

    def test_refuses_bodies_that_are_too_long(self):
        run = self.make_run("p/long")
        head = f"POST {run}/log HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"
        self.assertIn(b" 413 ", self.raw(head.encode())[:20])
        bomb = gzip.compress(b" " * (200 << 20), 9)
        self.assertLess(len(bomb), 300_000)
        answer = self.ask("POST", run + "/log", bomb, {"Content-Encoding": "gzip"})
        self.assertEqual((answer.status, answer.code), (413, "too_large"))
        answer = self.ask("POST", run + "/log", b"x", {"Content-Encoding": "br"})
        self.assertEqual((answer.status, answer.code), (415, "unsupported"))
        self.assertIn(b" 431 ", self.raw(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)[:20])

    def test_takes_compressed_and_chunked_bodies(self):
        run = self.make_run("p/packed")
        body = gzip.compress(json.dumps({"step": 1, "values": {"a": 2.5}}).encode())
        answer = self.ask("POST", run + "/log", body, {"Content-Encoding": "gzip"})
        self.assertEqual(answer.json, {"accepted": 1})
        pieces = (piece for piece in (b'{"step": 2, ', b'"values": ', b'{"a": 3}}'))
        connection = self.connect()
        connection.request("POST", run + "/log", pieces, encode_chunked=True)
        self.assertEqual(connection.getresponse().read(), b'{"accepted":1}')
        connection.close()
        points = self.ask("GET", run + "/history?key=a").json["points"]
        self.assertEqual([(p["step"], p["value"]) for p in points], [(1, 2.5), (2, 3)])

    def test_knows_other_methods(self):
        run = self.make_run("p/methods")
        self.assertEqual(self.ask("PUT", run).status, 405)
        self.assertIn("PATCH", self.ask("OPTIONS", run).headers["Allow"])
        head = self.ask("HEAD", run)
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertGreater(int(head.headers["Content-Length"]), 10)

    def test_survives_slow_and_cut_requests(self):
        run = self.make_run("p/cut")
        whole = json.dumps({"step": 1, "values": {"a": 1}}).encode()
        head = f"POST {run}/log HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(whole)}\r\n\r\n"
        request = head.encode() + whole
        idle = []
        for size in range(1, len(request), 7):
            idle.append(socket.create_connection(("127.0.0.1", self.server.port)))
            idle[-1].sendall(request[:size])
        for connection in idle:
            connection.close()
        self.assertEqual(self.ask("GET", run + "/metrics").json, {"metrics": []})
        self.assertIn(b'{"accepted":1}', self.raw(request))

    def test_answers_no_other_sites(self):
        answer = self.ask("GET", "/api/v1/projects", headers={"Host": "evil.example"})
        self.assertEqual(answer.status, 421)
        answer = self.ask("POST", "/api/v1/runs/p", {}, {"Origin": "http://evil.example"})
        self.assertEqual(answer.status, 403)


class Data(ServerTest):
    def test_keeps_what_a_run_says(self):
        config = {"optimizer": {"lr": 0.1}, "layers": [1, 2], "name": "\u00e4 \U0001f600"}
        made = self.ask("POST", "/api/v1/runs/p", {"id": "facts", "config": config, "tags": ["a"]})
        self.assertEqual(made.status, 201)
        again = self.ask("POST", "/api/v1/runs/p", {"id": "facts"})
        self.assertEqual((again.status, again.json["config"]), (200, config))
        path = "/api/v1/runs/p/facts"
        change = {"optimizer": {"lr": None, "beta": 2}}
        patch = {"notes": "n", "config": change, "state": "finished"}
        self.assertEqual(self.ask("PATCH", path, patch).status, 200)
        run = self.ask("GET", path).json
        self.assertEqual(run["config"]["optimizer"], {"beta": 2})
        self.assertEqual((run["notes"], run["state"], run["tags"]), ("n", "finished", ["a"]))
        found = self.ask(
            "POST", "/api/v1/runs/search", {"project": "p", "filter": "config.optimizer.beta = 2"}
        ).json
        self.assertEqual([each["id"] for each in found["runs"]], ["facts"])
        self.assertEqual(self.ask("DELETE", path).status, 204)
        self.assertEqual(self.ask("GET", path).status, 404)

    def test_keeps_numbers_that_json_does_not_have(self):
        run = self.make_run("p/nan")
        values = ["NaN", "Infinity", "-Infinity", 1e308, 5e-324, -0.0, 0.1]
        for step, value in enumerate(values):
            self.ask("POST", run + "/log", {"step": step, "values": {"a": value}})
        points = self.ask("GET", run + "/history?key=a").json["points"]
        self.assertEqual([p["value"] for p in points], values)
        csv = self.ask("GET", run + "/history?key=a&format=csv").body.decode().splitlines()
        self.assertEqual(csv[0], "key,step,value,time_us,attempt")
        self.assertTrue(math.isnan(float(csv[1].split(",")[2])))
        lines = self.ask("GET", run + "/history?format=jsonl").body.decode().splitlines()
        self.assertEqual([json.loads(line)["value"] for line in lines], values)
        parquet = self.ask("GET", run + "/history?format=parquet").body
        self.assertEqual((parquet[:4], parquet[-4:]), (b"PAR1", b"PAR1"))
        self.assertEqual(self.ask("GET", run + "/history?format=xml").status, 415)

    def test_draws_curves_with_their_extremes(self):
        run = self.make_run("p/chart")
        spike = {13_000: 99.0, 17_777: -99.0}
        for start in range(0, 20_000, 5_000):
            points = [
                {"key": "y", "step": step, "value": spike.get(step, step % 7), "time_us": step + 1}
                for step in range(start, start + 5_000)
            ]
            self.assertEqual(self.ask("POST", run + "/log", {"points": points}).status, 200)
        want = {"runs": [{"project": "p", "id": "chart"}], "keys": ["y"], "points": 200}
        series = self.ask("POST", "/api/v1/series", want).json["series"][0]
        self.assertEqual((series["count"], series["sampled"]), (20_000, True))
        self.assertLess(len(series["x"]), 500)
        for step, value in spike.items():
            self.assertIn((step, value), list(zip(series["x"], series["y"], strict=True)))
        part = self.ask("POST", "/api/v1/series", want | {"from": 10, "to": 12}).json["series"][0]
        self.assertEqual((part["x"], part["y"]), ([10, 11, 12], [3, 4, 5]))
        by_time = self.ask(
            "POST", "/api/v1/series", want | {"x": "time", "from": 11, "to": 12}
        ).json["series"][0]
        self.assertEqual(by_time["x"], [11, 12])

    def test_takes_a_hundred_thousand_names(self):
        run = self.make_run("p/names")
        for part in range(10):
            values = {f"layer.{part}.{i}/norm": i for i in range(10_000)}
            answer = self.ask("POST", run + "/log", {"step": 0, "values": values})
            self.assertEqual(answer.json, {"accepted": 10_000})
        metrics = self.ask("GET", run + "/metrics").json["metrics"]
        self.assertEqual(len(metrics), 100_000)

    def test_keeps_a_table_of_fifty_megabytes(self):
        run = self.make_run("p/table")
        rows = [[i, "x" * 90, i * 0.5] for i in range(480_000)]
        body = {"columns": ["a", "b", "c"], "rows": rows}
        record = {"type": "table", "key": "t", "step": 1, "body": body}
        text = json.dumps({"records": [record]}).encode()
        self.assertGreater(len(text), 50_000_000)
        self.assertEqual(self.ask("POST", run + "/records", text).json, {"accepted": 1})
        answer = self.ask("GET", run + "/records?type=table").json
        self.assertEqual(answer["keys"], ["t"])
        self.assertEqual(answer["records"][0]["body"], body)

    def test_gives_files_in_parts(self):
        run = self.make_run("p/files")
        content = bytes(range(256)) * 20_000
        stored = self.ask("PUT", run + "/files/media/a%20b.bin", content)
        self.assertEqual((stored.status, stored.json["size"]), (201, len(content)))
        path = run + "/files/media/a%20b.bin"
        whole = self.ask("GET", path)
        self.assertEqual(whole.body, content)
        part = self.ask("GET", path, headers={"Range": "bytes=1000-1999"})
        self.assertEqual((part.status, part.body), (206, content[1000:2000]))
        self.assertEqual(part.headers["Content-Range"], f"bytes 1000-1999/{len(content)}")
        beyond = self.ask("GET", path, headers={"Range": f"bytes={len(content)}-"})
        self.assertEqual(beyond.status, 416)
        same = self.ask("GET", path, headers={"If-None-Match": whole.headers["ETag"]})
        self.assertEqual((same.status, same.body), (304, b""))
        self.assertIn("sandbox", whole.headers["Content-Security-Policy"])
        digest = stored.json["digest"]
        self.assertEqual(self.ask("GET", f"/api/v1/blobs/{digest}").body, content)
        wrong = self.ask("PUT", f"/api/v1/blobs/{digest}", b"something else")
        self.assertEqual(wrong.status, 422)
        self.assertEqual(self.ask("PUT", "/api/v1/blobs/abc", b"x").status, 400)
        empty = self.ask("PUT", run + "/files/empty", b"")
        self.assertEqual((empty.status, empty.json["size"]), (201, 0))

    def test_keeps_console_views_and_models(self):
        run = self.make_run("p/rest")
        self.ask("POST", run + "/console", {"lines": ["one", "two", "\u00fc"]})
        console = self.ask("GET", run + "/console?from=1&limit=1").json
        self.assertEqual((console["total"], console["lines"][0]["text"]), (3, "two"))
        view = {"name": "v", "project": "p", "view": {"query": "x=1"}}
        self.assertEqual(self.ask("PUT", "/api/v1/views/v1", view).status, 200)
        views = self.ask("GET", "/api/v1/views?project=p").json["views"]
        self.assertEqual(views, [{"id": "v1"} | view])
        self.assertEqual(self.ask("DELETE", "/api/v1/views/v1").status, 204)
        self.assertEqual(self.ask("POST", "/api/v1/models", {"name": "m"}).status, 201)
        self.assertEqual(self.ask("POST", "/api/v1/models", {"name": "m"}).status, 409)
        source = {"source": "artifact:p/weights:v0"}
        version = self.ask("POST", "/api/v1/models/m/versions", source)
        self.assertEqual((version.status, version.json["version"]), (201, 1))
        self.assertEqual(version.json["source"]["artifact"], "weights")
        alias = self.ask("PUT", "/api/v1/models/m/aliases/best", {"version": 1})
        self.assertEqual(alias.status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/models/m").json["aliases"], {"best": 1})

    def test_makes_artifacts_of_blobs(self):
        run = self.make_run("p/maker")
        digest = self.ask("PUT", run + "/files/w", b"weights").json["digest"]
        absent = "1" * 64
        files = [{"path": "w.bin", "digest": digest, "size": 7}]
        draft = {"type": "model", "files": files, "run": "maker", "aliases": ["best"]}
        missing = draft | {"files": [*files, {"path": "no.bin", "digest": absent, "size": 1}]}
        answer = self.ask("POST", "/api/v1/artifacts/p/weights", missing)
        self.assertEqual((answer.status, answer.json["missing"]), (200, [absent]))
        answer = self.ask("POST", "/api/v1/artifacts/p/weights", draft)
        self.assertEqual((answer.status, answer.json["version"]["version"]), (201, "v0"))
        version = self.ask("GET", "/api/v1/artifacts/p/weights/best").json
        self.assertEqual(version["files"][0]["path"], "w.bin")
        self.assertEqual(version["made_by"], {"project": "p", "id": "maker"})
        got = self.ask("GET", "/api/v1/artifacts/p/weights/v0/files/w.bin")
        self.assertEqual(got.body, b"weights")
        lineage = self.ask("GET", "/api/v1/artifacts/p/weights/v0/lineage").json
        self.assertEqual(
            lineage["edges"], [{"from": "run:p/maker", "to": "artifact:p/weights:v0"}]
        )

    def test_serves_the_page_for_addresses_of_its_own(self):
        page = self.ask("GET", "/")
        self.assertEqual(page.status, 200)
        self.assertIn("text/html", page.headers["Content-Type"])
        if "ETag" not in page.headers:
            self.assertIn(b"built without its web page", page.body)
            return
        self.assertEqual(self.ask("GET", "/p/runs/abc").body, page.body)
        packed = self.ask("GET", "/", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(gzip.decompress(packed.body), page.body)
        same = self.ask("GET", "/", headers={"If-None-Match": page.headers["ETag"]})
        self.assertEqual(same.status, 304)
        self.assertEqual(self.ask("GET", "/assets/none.js").status, 404)


class Live(ServerTest):
    def read_events(self, connection: http.client.HTTPConnection, query: str):
        connection.request("GET", "/api/v1/events" + query)
        response = connection.getresponse()
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        while line := response.readline():
            if line.startswith(b"data: "):
                yield json.loads(line[6:])

    def test_tells_changes_but_not_too_often(self):
        run = self.make_run("p/live")
        connection = self.connect()
        events = self.read_events(connection, "?project=p")
        thread = threading.Thread(target=self.log_a_while, args=(run, 200))
        # The first event needs the subscription, which answers with the first heartbeat at once.
        starter = threading.Timer(0.2, thread.start)
        starter.start()
        begin = time.monotonic()
        seen = []
        for event in events:
            seen.append(event)
            if event.get("last_step") == 199:
                break
        starter.join()
        thread.join()
        connection.close()
        elapsed = time.monotonic() - begin
        self.assertTrue(all(event["id"] == "live" for event in seen))
        self.assertIn("metrics", seen[-1]["what"])
        self.assertLessEqual(len(seen), 2 + 2 * elapsed)

    def log_a_while(self, run: str, steps: int) -> None:
        connection = self.connect()
        for step in range(steps):
            connection.request("POST", run + "/log", json.dumps({"step": step, "values": {"a": 1}}))
            connection.getresponse().read()
        connection.close()

    def test_many_idle_connections_cost_little(self):
        idle = [
            socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(800)
        ]
        self.assertEqual(self.ask("GET", "/health").status, 200)
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        facts = dict(line.split(":", 1) for line in status.splitlines())
        self.assertLess(int(facts["Threads"]), 60)
        for connection in idle:
            connection.close()

    def test_loses_no_answered_call_when_it_is_stopped(self):
        run = self.make_run("p/stopped")
        answered = [0] * 4
        threads = [
            threading.Thread(target=self.log_until_refused, args=(run, answered, i))
            for i in range(len(answered))
        ]
        for thread in threads:
            thread.start()
        while sum(answered) < 300:
            time.sleep(0.01)
        self.server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        self.assertEqual(self.server.process.wait(30), 0)
        self.server.start()
        for i, count in enumerate(answered):
            points = self.ask("GET", f"{run}/history?key=k{i}").json["points"]
            steps = {point["step"] for point in points}
            self.assertLessEqual(set(range(count)), steps)
            self.assertLessEqual(len(steps), count + 1, "one may have been taken and not answered")

    def log_until_refused(self, run: str, answered: list[int], i: int) -> None:
        connection = self.connect()
        while True:
            body = json.dumps({"step": answered[i], "values": {f"k{i}": 1}})
            try:
                connection.request("POST", run + "/log", body)
                if connection.getresponse().read() != b'{"accepted":1}':
                    break
            except (OSError, http.client.HTTPException):
                break
            answered[i] += 1
        connection.close()


class Users(ServerTest):
    options = ("--auth",)

    def setUp(self) -> None:
        file = self.server.data / "admin-token"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.admin = {"Authorization": f"Bearer {file.read_text().strip()}"}

    def test_asks_who_you_are(self):
        self.assertEqual(self.ask("GET", "/health").status, 200)
        self.assertEqual(self.ask("GET", "/").status, 200)
        answer = self.ask("GET", "/api/v1/projects")
        self.assertEqual((answer.status, answer.code), (401, "unauthorized"))
        self.assertEqual(self.ask("GET", "/api/v1/projects", headers=self.admin).status, 200)
        me = self.ask("GET", "/api/v1/me", headers=self.admin).json
        self.assertEqual((me["user"], me["role"], me["auth"]), ("admin", "admin", True))

    def test_users_do_what_their_role_allows(self):
        user = {"role": "write", "password": "long enough"}
        self.assertEqual(self.ask("PUT", "/api/v1/users/ann", user, self.admin).status, 200)
        wrong = {"user": "ann", "password": "wrong one"}
        self.assertEqual(self.ask("POST", "/api/v1/login", wrong).status, 401)
        login = self.ask("POST", "/api/v1/login", {"user": "ann", "password": "long enough"})
        self.assertEqual(login.status, 200)
        cookie = login.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        page = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=page).json["role"], "write")
        self.assertEqual(self.ask("POST", "/api/v1/runs/p", {}, page).status, 403)
        page["X-CSRF-Token"] = login.json["csrf_token"]
        made = self.ask("POST", "/api/v1/runs/p", {"id": "anns"}, page)
        self.assertEqual((made.status, made.json["user"]), (201, "ann"))
        self.assertEqual(self.ask("GET", "/api/v1/users", headers=page).status, 403)
        token = self.ask("POST", "/api/v1/tokens", {"name": "t", "scopes": ["view"]}, page).json
        key = {"Authorization": f"Bearer {token['token']}"}
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/anns", headers=key).status, 200)
        self.assertEqual(self.ask("DELETE", "/api/v1/runs/p/anns", headers=key).status, 403)
        removed = self.ask("DELETE", f"/api/v1/tokens/{token['id']}", headers=page)
        self.assertEqual(removed.status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/anns", headers=key).status, 401)
        self.assertEqual(self.ask("POST", "/api/v1/logout", {}, page).status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=page).status, 401)
        self.assertEqual(self.ask("DELETE", "/api/v1/users/ann", headers=self.admin).status, 204)

    def test_a_link_shows_one_project_and_changes_nothing(self):
        for project in ("open", "closed"):
            self.ask("POST", f"/api/v1/runs/{project}", {"id": "r"}, self.admin)
        share = self.ask("POST", "/api/v1/shares", {"project": "open"}, self.admin).json
        query = f"?share={share['token']}"
        self.assertEqual(self.ask("GET", f"/api/v1/runs/open/r{query}").status, 200)
        self.assertEqual(self.ask("GET", f"/api/v1/runs/closed/r{query}").status, 404)
        self.assertEqual(self.ask("DELETE", f"/api/v1/runs/open/r{query}").status, 403)
        projects = self.ask("GET", f"/api/v1/projects{query}").json["projects"]
        self.assertEqual([project["name"] for project in projects], ["open"])
        found = self.ask("POST", f"/api/v1/runs/search{query}", {"project": "closed"}).json
        self.assertEqual([run["project"] for run in found["runs"]], ["open"])
        series = {"runs": [{"project": "closed", "id": "r"}], "keys": ["a"]}
        self.assertEqual(self.ask("POST", f"/api/v1/series{query}", series).status, 404)
        self.assertEqual(self.ask("GET", f"/api/v1/audit{query}").status, 403)

    def test_keeps_an_audit_without_secrets(self):
        user = {"role": "view", "password": "very secret words"}
        self.ask("PUT", "/api/v1/users/eve", user, self.admin)
        token = self.ask("POST", "/api/v1/tokens", {"name": "t"}, self.admin).json["token"]
        audit = self.ask("GET", "/api/v1/audit?limit=1000", headers=self.admin)
        self.assertIn("user.put", [line["what"] for line in audit.json["audit"]])
        self.ask("POST", "/api/v1/runs/audited", {"id": "a"}, headers=self.admin)
        self.ask("PATCH", "/api/v1/runs/audited/a", {"notes": "hush"}, headers=self.admin)
        self.ask("PUT", "/api/v1/views/v", {"name": "V"}, headers=self.admin)
        audit = self.ask("GET", "/api/v1/audit?limit=1000", headers=self.admin)
        lines = {line["what"]: line for line in audit.json["audit"]}
        self.assertEqual(lines["run.change"]["target"], "audited/a")
        self.assertEqual(lines["run.change"]["detail"], {"fields": ["notes"]})
        self.assertEqual(lines["view.put"]["target"], "v")
        self.assertNotIn(b"very secret", audit.body)
        self.assertNotIn(token.encode(), audit.body)
        kept = b"".join(path.read_bytes() for path in self.server.data.glob("*.db*"))
        self.assertNotIn(token.encode(), kept)
        self.assertNotIn(b"very secret", kept)


class Encrypted(ServerTest):
    @classmethod
    def setUpClass(cls) -> None:
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("there is no openssl to make a certificate with")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.certificate = cls.folder / "cert.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        command += ["ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
        command += ["-keyout", cls.folder / "key.pem", "-out", cls.certificate]
        subprocess.run(command, check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def test_speaks_tls(self):
        import ssl

        options = ("--tls-cert", str(self.certificate), "--tls-key", str(self.folder / "key.pem"))
        process = subprocess.Popen(
            [BIN / "kedge", "server", "--data", self.folder / "data", "--port", "0", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            address = process.stdout.readline().split()[2]
            self.assertTrue(address.startswith("https://127.0.0.1:"), address)
            port = int(address.rsplit(":", 1)[1])
            context = ssl.create_default_context(cafile=self.certificate)
            for _ in range(3):
                connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
                for _ in range(3):
                    connection.request("GET", "/health")
                    self.assertEqual(json.load(connection.getresponse())["status"], "ok")
                connection.close()
        finally:
            process.terminate()
            self.assertEqual(process.wait(30), 0)
            process.stdout.close()


if __name__ == "__main__":
    if "--bin" in sys.argv:
        place = sys.argv.index("--bin")
        BIN = pathlib.Path(sys.argv[place + 1]).resolve()
        del sys.argv[place : place + 2]
    unittest.main()
