"""Answers are compressed where they are long and hold no secret: the length of a compressed answer
would tell of a key in it to whoever chooses another part of it."""

import gzip
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))
from server_process import ServerProcess  # noqa: E402

LONG = "long " * 1000  # made part of what is answered


class Compression(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-compression-"))
        cls.server = ServerProcess(ROOT / "build/bin/kedge", cls.folder / "data", "--auth")
        cls.server.start()
        token = (cls.server.data / "admin-token").read_text().strip()
        cls.admin = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        status, _, text = cls.ask("POST", "/api/v1/runs/p", {"id": "r", "notes": LONG})
        assert status == 201, text

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()
        shutil.rmtree(cls.folder)

    @classmethod
    def ask(cls, method: str, path: str, body=None, accepted="") -> tuple[int, str, bytes]:
        """Status, encoding and body."""
        connection = http.client.HTTPConnection("127.0.0.1", cls.server.port, timeout=30)
        headers = {**cls.admin, **({"Accept-Encoding": accepted} if accepted else {})}
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Encoding", ""), answer.read()
        finally:
            connection.close()

    def test_a_long_search_is_compressed_for_who_takes_it(self):
        body = {"project": "p"}
        plain = self.ask("POST", "/api/v1/runs/search", body)
        packed = self.ask("POST", "/api/v1/runs/search", body, "gzip, deflate")
        self.assertEqual((plain[1], packed[1]), ("", "gzip"))
        self.assertEqual(gzip.decompress(packed[2]), plain[2])
        self.assertLess(len(packed[2]), len(plain[2]) / 5)
        self.assertEqual(self.ask("POST", "/api/v1/runs/search", body, "gzip, zstd")[1], "zstd")

    def test_an_answer_with_a_secret_never_is(self):
        login = {"user": "admin", "password": "no"}
        upload = 'mutation { createRunFiles(input: {entityName: "e", projectName: "p", runName:'
        upload += ' "r",'
        upload += ' files: [%s]}) { files { name uploadUrl } } }'
        files = ", ".join(f'"{i}-{"f" * 100}.txt"' for i in range(50))
        asked = [
            ("GET", "/api/v1/me", None),
            ("POST", "/api/v1/login", login),
            ("POST", "/api/v1/tokens", {"name": LONG}),
            ("POST", "/api/v1/shares", {"project": "p", "name": LONG}),
            ("GET", "/api/v1/tokens", None),
            ("GET", "/api/v1/shares", None),
            ("POST", "/graphql", {"query": upload % files, "variables": {}}),
        ]
        for method, path, body in asked:
            status, encoding, text = self.ask(method, path, body, "gzip, zstd, deflate, br")
            self.assertEqual(encoding, "", f"{method} {path}: {status}")
            json.loads(text)
        # What was asked above is long enough to be compressed elsewhere.
        self.assertGreater(len(text), 5000)


if __name__ == "__main__":
    unittest.main()
