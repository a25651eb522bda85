"""A `kedge server` of its own for each class of tests, asked over plain HTTP."""

import http.client
import json
import pathlib
import shutil
import socket
import sys
import tempfile
import unittest

from declared import Declared
from server_process import ServerProcess

ROOT = pathlib.Path(__file__).resolve().parents[2]


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


class ServerCase(unittest.TestCase):
    """Tests of one class share a server: they use runs of their own."""

    bin = ROOT / "build/bin"
    options: tuple[str, ...] = ()
    declared: Declared | None = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.server = ServerProcess(cls.bin / "kedge", cls.folder / "data", *cls.options)
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
        """A dict or a list is sent as JSON. What comes back must be as the server declares."""
        answer = self.exchange(method, path, body, headers)
        if self.declared is None:
            openapi = self.exchange("GET", "/api/v1/openapi.json", None, None)
            type(self).declared = Declared(openapi.json)
        self.declared.check_answer(method, path, answer.status, answer.headers, answer.body)
        return answer

    def exchange(self, method: str, path: str, body, headers) -> Answer:
        connection = self.connect()
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

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


def take_bin() -> None:
    """Heeds --bin FOLDER, and leaves the other arguments to unittest."""
    if "--bin" in sys.argv:
        place = sys.argv.index("--bin")
        ServerCase.bin = pathlib.Path(sys.argv[place + 1]).resolve()
        del sys.argv[place : place + 2]
