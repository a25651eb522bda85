"""Servers under attack: started by the real program, asked over plain HTTP."""

import base64
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import Answer, ServerCase  # noqa: E402
from server_process import ServerProcess  # noqa: E402

KEDGE = ROOT / "build/bin/kedge"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def basic(name: str, password: str) -> dict[str, str]:
    pair = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


class AttackCase(unittest.TestCase):
    """Each test has a folder of its own, and servers that it starts there."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-attack-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def serve(self, *options: str, data: str = "data", has_owner: bool = False) -> ServerProcess:
        server = ServerProcess(KEDGE, self.folder / data, *options, has_owner=has_owner)
        server.start()
        self.addCleanup(server.stop)
        self.server = server
        return server

    def admin_of(self, server: ServerProcess) -> dict[str, str]:
        return bearer((server.data / "admin-token").read_text().strip())

    def ask(self, method: str, path: str, body=None, headers=None) -> Answer:
        return ServerCase.exchange(self, method, path, body, headers)

    connect = ServerCase.connect
