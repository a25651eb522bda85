"""A run folder that somebody planted leads `kedge server --watch` to no other files."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import ServerCase  # noqa: E402
from server_process import ServerProcess  # noqa: E402

SECRET = "secret_value: 12345\n"


class WatchedLinks(ServerCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-links-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.private = cls.folder / "private"
        cls.real = cls.folder / "real"
        for runs, run in ((cls.private, "theirs"), (cls.real, "planted"), (cls.real, "honest")):
            command = [cls.bin / "kedge", "run", "--dir", runs, "--project", "p", "--id", run]
            subprocess.run([*command, "--quiet", "--", "true"], check=True, cwd=cls.folder)
        cls.plant(cls.real / "p" / "planted")
        (cls.real / "linked").symlink_to(cls.private / "p")
        (cls.real / "p" / "theirs").symlink_to(cls.private / "p" / "theirs")
        watched = cls.folder / "watched"
        watched.symlink_to(cls.real)  # the admin's own link
        cls.server = ServerProcess(cls.bin / "kedge", cls.folder / "data", "--watch", str(watched))
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    @classmethod
    def tearDownClass(cls) -> None:
        pass

    @classmethod
    def plant(cls, run: pathlib.Path) -> None:
        secret = cls.private / "secret.yaml"
        secret.write_text(SECRET)
        (cls.private / "pictures").mkdir()
        (cls.private / "pictures" / "face.png").write_text(SECRET)
        for name in ("config.yaml", "config.user.yaml", "code.a1.patch"):
            (run / name).unlink(missing_ok=True)
            (run / name).symlink_to(secret)
        shutil.rmtree(run / "media")
        (run / "media").symlink_to(cls.private / "pictures")
        (run / "environment.json").unlink()
        os.mkfifo(run / "environment.json")  # whoever opens it waits for ever
        (run / "events-a9-r0.klog").symlink_to(secret)

    def wait_for(self, path: str) -> dict:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            answer = self.ask("GET", path)
            if answer.status == 200:
                return answer.json
            time.sleep(0.1)
        raise AssertionError(f"{path} did not come: {self.server.log.read_text()}")

    def test_only_what_lies_in_the_folders_is_read(self):
        self.wait_for("/api/v1/runs/p/honest")
        planted = self.wait_for("/api/v1/runs/p/planted")
        self.assertEqual(planted["config"], {})
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/planted/files").json["files"], [])
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/theirs").status, 404)
        for blob in (self.server.data / "blobs").rglob("*"):
            self.assertFalse(blob.is_file() and SECRET.encode() in blob.read_bytes(), blob)

    def test_a_link_is_told(self):
        self.wait_for("/api/v1/runs/p/honest")
        self.assertIn("linked is a symbolic link", self.server.log.read_text())


if __name__ == "__main__":
    unittest.main()
