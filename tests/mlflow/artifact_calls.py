"""Artifacts through the server, over plain HTTP; contract.py runs them."""

import socket

from raw_calls import API, FILES, MlflowTest


class ArtifactTest(MlflowTest):
    def setUp(self) -> None:
        experiment = self.experiment()
        self.run_id = self.run_of(experiment)
        self.root = f"{FILES}/{experiment}/{self.run_id}/artifacts"
        self.root_path = f"{experiment}/{self.run_id}/artifacts"

    def test_files_are_put_listed_read_and_removed(self) -> None:
        self.assertEqual(self.ask("PUT", self.root + "/dir/a%20b.txt", b"hello").status, 200)
        self.ask("PUT", self.root + "/top.bin", b"\0" * 10)
        listed = self.ask("GET", f"{FILES}?path={self.root_path}").json["files"]
        self.assertEqual(
            listed,
            [
                {"path": "dir", "is_dir": True},
                {"path": "top.bin", "is_dir": False, "file_size": 10},
            ],
        )
        file = self.ask("GET", self.root + "/dir/a%20b.txt")
        self.assertEqual((file.body, file.headers["Content-Type"]), (b"hello", "text/plain"))
        self.assertIn("attachment", file.headers["Content-Disposition"])
        part = self.ask("GET", self.root + "/dir/a%20b.txt", headers={"Range": "bytes=1-3"})
        self.assertEqual((part.status, part.body), (206, b"ell"))
        # A file is no folder: clients tell them apart by this.
        self.assertEqual(self.ask("GET", f"{FILES}?path={self.root_path}/top.bin").json, {})
        seen = self.get("artifacts/list", run_id=self.run_id, path="dir")
        self.assertEqual(seen["files"][0]["path"], "dir/a b.txt")
        self.assertEqual(self.ask("DELETE", self.root + "/dir").status, 200)
        gone = self.ask("GET", self.root + "/dir/a%20b.txt")
        self.assertEqual((gone.status, gone.json["error_code"]), (404, "RESOURCE_DOES_NOT_EXIST"))

    def test_the_page_of_mlflow_has_its_own_ways(self) -> None:
        query = f"run_uuid={self.run_id}&path=up/x.txt"
        path = "/ajax-api/2.0/mlflow/upload-artifact?"
        self.assertEqual(self.ask("POST", path + query, b"up").status, 200)
        self.assertEqual(self.ask("GET", f"/get-artifact?{query}").body, b"up")
        too_large = self.ask("POST", path + query, b"x" * (11 << 20))
        self.assertEqual(
            too_large.json["message"], "Artifact size is too large. Max size is 10MB."
        )
        self.assertEqual(
            self.ask("POST", path + "path=x", b"x").json["message"],
            "Request must specify run_uuid.",
        )

    def test_a_chunked_body_without_chunks_is_an_empty_file(self) -> None:
        request = (
            f"PUT {self.root}/empty HTTP/1.1\r\nHost: localhost\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as connection:
            connection.sendall(request.encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        self.assertIn(b"200 OK", answer.split(b"\r\n")[0])
        self.assertEqual(self.ask("GET", self.root + "/empty").body, b"")

    def test_a_runs_artifacts_are_its_files(self) -> None:
        self.ask("PUT", self.root + "/model/MLmodel", b"flavors: {}")
        project = self.server.get("/api/v1/projects")["projects"]
        names = [each["name"] for each in project]
        found = [file["path"] for name in names for file in self.files_of(name)]
        self.assertIn("model/MLmodel", found)

    def files_of(self, project: str) -> list[dict]:
        answer = self.ask("GET", f"/api/v1/runs/{project}/{self.run_id}/files")
        return answer.json["files"] if answer.status == 200 else []

    def test_paths_do_not_lead_elsewhere(self) -> None:
        for path in ("%2e%2e/x", "..%2f..%2fx", "a%5c..%5cb", "%252e%252e/x"):
            with self.subTest(path=path):
                self.assertEqual(self.ask("PUT", f"{self.root}/{path}", b"x").status, 400)
        for call in (f"{API}artifacts/list", "/get-artifact"):
            answer = self.ask("GET", f"{call}?run_id={self.run_id}&path=../x")
            self.assertEqual((answer.status, answer.json["message"]), (400, "Invalid path"))

    def test_parts_are_refused_so_that_clients_send_the_whole(self) -> None:
        answer = self.ask(
            "POST",
            f"/api/2.0/mlflow-artifacts/mpu/create/{self.root_path}/big",
            {"path": "big", "num_parts": 3},
        )
        self.assertEqual((answer.status, answer.json["error_code"]), (501, "NOT_IMPLEMENTED"))
