"""A server that names files as it likes writes nothing outside the folder that was asked for."""

import hashlib
import http.server
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEDGE = ROOT / "build/bin/kedge"
EVIL = b"evil bytes"


class Answers(http.server.BaseHTTPRequestHandler):
    """One artifact with one file, both named by the test."""

    path_of_file = ""
    version = "v0"

    def do_GET(self):
        if self.path.startswith("/api/v1/blobs/"):
            return self.answer(EVIL, "application/octet-stream")
        digest = hashlib.sha256(EVIL).hexdigest()
        body = {
            "version": Answers.version,
            "size": len(EVIL),
            "file_count": 1,
            "files": [{"path": Answers.path_of_file, "size": len(EVIL), "digest": digest}],
        }
        return self.answer(json.dumps(body).encode(), "application/json")

    def answer(self, body: bytes, content_type: str):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class HostileServer(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.work = self.folder / "work"
        self.work.mkdir()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=server.serve_forever).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        Answers.version = "v0"

    def get(self, path: str, *options: str) -> subprocess.CompletedProcess:
        Answers.path_of_file = path
        command = [KEDGE, "artifact", "get", "p/net", "--server", self.url, *options]
        return subprocess.run(command, cwd=self.work, capture_output=True, text=True, timeout=60)

    def files(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.is_file() and not path.is_symlink()
        )

    def test_a_harmless_name_is_written_where_it_belongs(self):
        done = self.get("sub/x.bin", "--to", "here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files(), ["work/here/sub/x.bin"])

    def test_names_that_lead_out_of_the_folder_are_refused(self):
        outside = str(self.folder / "outside")
        for bad in ("../x", "a/../../x", outside, "", ".", "a/..", "..\\x", "a\0b", "a//b", "./x"):
            done = self.get(bad, "--to", "here")
            self.assertEqual(done.returncode, 1, repr(bad))
            self.assertIn("leads out of here", done.stderr, repr(bad))
        self.assertEqual(self.files(), [])

    def test_a_version_that_leads_elsewhere_names_no_folder(self):
        Answers.version = "/../../outside"
        self.assertEqual(self.get("x").returncode, 1)
        self.assertEqual(self.files(), [])

    def test_links_in_the_folder_are_not_written_through(self):
        (self.folder / "home").mkdir()
        (self.folder / "home" / "keys").write_text("mine")
        (self.work / "here").mkdir()
        (self.work / "here" / "folder").symlink_to(self.folder / "home")
        (self.work / "here" / "file").symlink_to(self.folder / "home" / "keys")
        for path in ("folder/new", "folder/keys", "file"):
            done = self.get(path, "--to", "here")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("is a symbolic link", done.stderr)
        self.assertEqual(self.files(), ["home/keys"])
        self.assertEqual((self.folder / "home" / "keys").read_text(), "mine")


if __name__ == "__main__":
    unittest.main()
