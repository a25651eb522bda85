"""Uploads leave room on the disk for the database, and a project holds no more than its quota.
Needs root for a small tmpfs; else the tests of the disk are skipped."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import ServerCase  # noqa: E402
from server_process import ServerProcess  # noqa: E402

MIB = 1 << 20
DISK = 64 * MIB
RESERVE = 16 * MIB


class SmallDisk(ServerCase):
    """A server whose data lie on a small disk, a quarter of which stays free."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-room-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        disk = cls.folder / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "kedge-test", str(disk)]
        if subprocess.run(command, capture_output=True).returncode != 0:
            raise unittest.SkipTest("no tmpfs can be mounted")
        cls.addClassCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        options = ("--disk-reserve", f"{RESERVE // MIB}MiB")
        cls.server = ServerProcess(cls.bin / "kedge", disk / "data", *options)
        cls.server.log = cls.folder / "log"
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    @classmethod
    def tearDownClass(cls) -> None:
        pass

    def free(self) -> int:
        return shutil.disk_usage(self.server.data).free

    def put(self, name: str, size: int, **headers: str):
        body = hashlib.sha256(name.encode()).digest() * (size // 32)
        return self.ask("PUT", f"/api/v1/runs/p/r/files/{name}", body, headers)

    def test_uploads_stop_where_the_reserve_begins_and_values_do_not(self):
        self.assertEqual(self.ask("POST", "/api/v1/runs/p", {"id": "r"}).status, 201)
        first = b"1" * (12 * MIB)
        digest = hashlib.sha256(first).hexdigest()
        self.assertEqual(self.ask("PUT", f"/api/v1/blobs/{digest}", first).status, 201)
        files = [{"path": "x", "digest": digest, "size": len(first)}]
        made = self.ask("POST", "/api/v1/artifacts/p/first", {"type": "model", "files": files})
        self.assertEqual(made.status, 201)
        statuses = []
        for number in range(20):
            answer = self.put(f"f{number}", 5 * MIB)
            statuses.append(answer.status)
            self.assertGreaterEqual(self.free(), RESERVE - 2 * MIB)  # of the database's own
        self.assertEqual(sorted(set(statuses)), [201, 507])
        self.assertGreaterEqual(statuses.count(201), 3)
        error = answer.json["error"]
        self.assertEqual(error["code"], "full")
        self.assertIn("16.0 MiB stay free for the database", error["message"])
        self.assertIn("--disk-reserve", error["hint"])
        # The database has room: values, runs and deletions go on.
        for step in range(200):
            values = {"step": step, "values": {"loss": step}}
            self.assertEqual(self.ask("POST", "/api/v1/runs/p/r/log", values).status, 200)
        self.check_other_ways()
        self.assertEqual(list((self.server.data / "spool").iterdir()), [])
        self.assertEqual(self.ask("DELETE", "/api/v1/artifacts/p/first/v0").status, 200)
        self.assertEqual(self.put("again", 5 * MIB).status, 201)

    def announce(self, path: str, size: int) -> bytes:
        """Asks before it sends, as curl does for what is long."""
        head = (
            f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n"
            "Expect: 100-continue\r\n\r\n"
        )
        return self.raw(head.encode())

    def check_other_ways(self):
        """Of the other tools, and without saying before how long it will be."""
        before = self.free()
        made = self.ask("POST", "/api/2.0/mlflow/runs/create", {"experiment_id": "0"}).json
        run = made["run"]["info"]["run_id"]
        digest = "0" * 64
        for path in (
            f"/api/2.0/mlflow-artifacts/artifacts/0/{run}/artifacts/x",
            f"/api/v1/blobs/{digest}",
        ):
            answer = self.announce(path, 8 * MIB)
            self.assertTrue(answer.startswith(b"HTTP/1.1 507"), answer)
            self.assertIn(b"stay free for the database", answer)
            self.assertEqual(b"RESOURCE_EXHAUSTED" in answer, "mlflow" in path)
        pieces = (b"c" * MIB for _ in range(64))  # chunked
        try:
            self.assertEqual(self.ask("PUT", "/api/v1/runs/p/r/files/c", pieces).status, 507)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused while it still came
        self.assertAlmostEqual(self.free(), before, delta=4 * MIB)


class Quota(ServerCase):
    options = ("--project-quota", "10MiB")

    def put(self, run: str, name: str, letter: bytes, size: int = 4 * MIB):
        return self.ask("PUT", f"/api/v1/runs/{run}/files/{name}", letter * size)

    def test_a_project_holds_no_more_than_its_quota(self):
        self.make_run("p/r")
        self.make_run("q/r")
        self.assertEqual(self.put("p/r", "a", b"a").status, 201)
        self.assertEqual(self.put("p/r", "b", b"b").status, 201)
        refused = self.put("p/r", "c", b"c")
        self.assertEqual((refused.status, refused.code), (507, "full"))
        self.assertIn("its quota is 10.0 MiB", refused.json["error"]["message"])
        self.assertEqual(self.put("q/r", "c", b"c").status, 201)  # another project's
        self.assertEqual(self.put("p/r", "small", b"s", MIB).status, 201)
        # A version of files that the project holds already costs nothing.
        digest = hashlib.sha256(b"a" * 4 * MIB).hexdigest()
        files = [{"path": "a", "digest": digest, "size": 4 * MIB}]
        made = self.ask("POST", "/api/v1/artifacts/p/net", {"type": "model", "files": files})
        self.assertEqual(made.status, 201)
        # One of another project's does.
        other = hashlib.sha256(b"c" * 4 * MIB).hexdigest()
        files = [{"path": "c", "digest": other, "size": 4 * MIB}]
        made = self.ask("POST", "/api/v1/artifacts/p/other", {"type": "model", "files": files})
        self.assertEqual(made.status, 507)
        # What goes makes room.
        self.assertEqual(self.put("p/r", "b", b"b", 10).status, 201)
        self.assertEqual(self.put("p/r", "c", b"c").status, 201)


if __name__ == "__main__":
    unittest.main()
