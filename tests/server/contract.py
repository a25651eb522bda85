#!/usr/bin/env python3
"""What docs/reference/api.md promises, asked of a real `kedge server`, with bad input too.

Usage: contract.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import gzip
import http.client
import json
import pathlib
import signal
import socket
import sys
import threading
import time
import unittest

from data_calls import Data  # noqa: F401
from every_call import EveryCall, Types, unmade_calls  # noqa: F401
from s3_calls import OnS3  # noqa: F401
from server_case import ServerCase, take_bin
from trash_calls import Trash, TrashOfNoDays  # noqa: F401
from user_calls import Encrypted, Logged, Users  # noqa: F401


class Requests(ServerCase):
    def test_is_ready_and_describes_itself(self):
        health = self.ask("GET", "/health")
        self.assertEqual(health.body, b"OK")
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
        head = (
            f"POST {run}/log HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(whole)}\r\n\r\n"
        )
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


class Live(ServerCase):
    def read_events(self, connection: http.client.HTTPConnection, query: str):
        connection.request("GET", "/api/v1/events" + query)
        response = connection.getresponse()
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        while line := response.readline():
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                self.declared.check_event(event)
                yield event

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
            connection.request(
                "POST", run + "/log", json.dumps({"step": step, "values": {"a": 1}})
            )
            connection.getresponse().read()
        connection.close()

    def test_many_idle_connections_cost_little(self):
        idle = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(800)]
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


if __name__ == "__main__":
    take_bin()
    program = unittest.main(exit=False)
    unmade = unmade_calls() if program.testNames is None else set()
    if unmade:
        print(f"declared, and never answered here: {', '.join(sorted(unmade))}", file=sys.stderr)
    sys.exit(not program.result.wasSuccessful() or bool(unmade))
