"""A server whose blobs lie on a real S3 server (versitygw, from PATH or $KEDGE_S3_SERVER)."""

import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from server_case import ServerCase
from server_process import ServerProcess, free_port

MLFLOW = "/api/2.0/mlflow/"
PARTS = "/api/2.0/mlflow-artifacts/mpu"


class OnS3(ServerCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.s3, blobs = start_s3(cls.folder)
        cls.server = ServerProcess(cls.bin / "kedge", cls.folder / "data", *("--blobs", blobs))
        cls.server.start()

    @classmethod
    def tearDownClass(cls) -> None:
        status = cls.server.stop()
        cls.s3.terminate()
        cls.s3.wait(30)
        shutil.rmtree(cls.folder)
        if status != 0:
            raise AssertionError(f"the server ended with {status}")

    def blob_count(self) -> int:
        return sum(path.is_file() for path in (self.folder / "s3/bucket/pre").rglob("*"))

    def test_files_are_sent_in_the_parts_that_are_asked_for(self):
        run = self.make_run("s3/ranges")
        content = bytes(range(256)) * 10_000
        self.assertIn(self.ask("PUT", f"{run}/files/a/b.bin", content).status, (200, 201))
        whole = self.ask("GET", f"{run}/files/a/b.bin")
        self.assertEqual((whole.status, whole.body), (200, content))
        size = len(content)
        # RFC 9110, 14.1.2.
        for asked, begin, end in [
            ("bytes=0-0", 0, 1),
            ("bytes=1000-200999", 1000, 201_000),
            (f"bytes={size - 5}-", size - 5, size),
            ("bytes=-7", size - 7, size),
            (f"bytes=100-{size * 2}", 100, size),
        ]:
            with self.subTest(asked=asked):
                part = self.ask("GET", f"{run}/files/a/b.bin", headers={"Range": asked})
                self.assertEqual(part.status, 206)
                self.assertEqual(part.headers["Content-Range"], f"bytes {begin}-{end - 1}/{size}")
                self.assertEqual(part.headers["Content-Length"], str(end - begin))
                self.assertEqual(part.body, content[begin:end])
        outside = self.ask("GET", f"{run}/files/a/b.bin", headers={"Range": f"bytes={size}-"})
        self.assertEqual(
            (outside.status, outside.headers["Content-Range"]), (416, f"bytes */{size}")
        )
        known = {"If-None-Match": whole.headers["ETag"]}
        self.assertEqual(self.ask("GET", f"{run}/files/a/b.bin", headers=known).status, 304)

    def make_mlflow_run(self) -> tuple[str, str]:
        made = self.ask("POST", f"{MLFLOW}runs/create", {"experiment_id": "0"})
        info = made.json["run"]["info"]
        return info["run_id"], f"{info['experiment_id']}/{info['run_id']}/artifacts"

    def test_mlflows_large_files_come_in_parts(self):
        run, root = self.make_mlflow_run()
        self.assertIs(
            self.ask("GET", "/api/3.0/mlflow/server-info").json["multipart_uploads_enabled"], True
        )
        made = self.ask("POST", f"{PARTS}/create/{root}/deep", {"path": "/x/big", "num_parts": 3})
        self.assertEqual(made.status, 200, made.body)
        pieces = [b"a" * 300_000, b"a" * 300_000, b"end"]
        parts = []
        for credential, piece in zip(made.json["credentials"], pieces, strict=True):
            self.assertTrue(credential["url"].startswith(self.server.url))
            path = credential["url"].removeprefix(self.server.url)
            put = self.ask("PUT", path, piece, credential["headers"])
            self.assertEqual(put.status, 200, put.body)
            parts.append({"part_number": credential["part_number"], "etag": put.headers["ETag"]})
        end = {"path": "/x/big", "upload_id": made.json["upload_id"]}
        wrong = [*parts[:2], {"part_number": 3, "etag": parts[0]["etag"]}]
        refused = self.ask("POST", f"{PARTS}/complete/{root}/deep", {**end, "parts": wrong})
        self.assertEqual(refused.status, 400)
        before = self.blob_count()
        parts.reverse()
        done = self.ask("POST", f"{PARTS}/complete/{root}/deep", {**end, "parts": parts})
        self.assertEqual(done.status, 200, done.body)
        self.assertEqual(self.blob_count(), before + 1 - 2)  # the whole for two different parts
        got = self.ask("GET", f"/api/2.0/mlflow-artifacts/artifacts/{root}/deep/big")
        self.assertEqual(got.body, b"".join(pieces))
        files = self.ask("GET", f"/api/v1/runs/Default/{run}/files").json["files"]
        self.assertEqual([file["path"] for file in files], ["deep/big"])
        digest = hashlib.sha256(b"".join(pieces)).hexdigest()
        self.assertIn(digest, files[0]["digest"])

    def test_parts_of_an_upload_that_is_given_up_are_freed(self):
        _, root = self.make_mlflow_run()
        before = self.blob_count()
        made = self.ask("POST", f"{PARTS}/create/{root}", {"path": "big", "num_parts": 1}).json
        path = made["credentials"][0]["url"].removeprefix(self.server.url)
        self.assertEqual(self.ask("PUT", path, b"only once").status, 200)
        self.assertEqual(self.blob_count(), before + 1)
        end = {"path": "big", "upload_id": made["upload_id"]}
        self.assertEqual(self.ask("POST", f"{PARTS}/abort/{root}", end).status, 200)
        self.assertEqual(self.blob_count(), before)


def start_s3(folder: pathlib.Path) -> tuple[subprocess.Popen, str]:
    """A real S3 server that keeps its bucket in the folder, and the address of the blobs in it."""
    program = os.environ.get("KEDGE_S3_SERVER") or shutil.which("versitygw")
    if not program:
        shutil.rmtree(folder)
        raise unittest.SkipTest("there is no S3 server: KEDGE_S3_SERVER names one")
    (folder / "s3/bucket").mkdir(parents=True)
    (folder / "meta").mkdir()
    port = free_port()
    process = subprocess.Popen(
        [program, "--port", f"127.0.0.1:{port}", "posix", "--sidecar", folder / "meta"]
        + [folder / "s3"],
        env={**os.environ, "ROOT_ACCESS_KEY": "testkey", "ROOT_SECRET_KEY": "testsecret"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_port(port)
    os.environ.update(AWS_ACCESS_KEY_ID="testkey", AWS_SECRET_ACCESS_KEY="testsecret")
    return process, f"s3://bucket/pre?endpoint=http://127.0.0.1:{port}"


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the S3 server does not listen")
