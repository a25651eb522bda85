"""Files of runs, with the real client; clients.py runs them."""

import os
import pathlib
import tempfile
import unittest

import mlflow
from client_case import IS_3, SEEN, ClientTest, has
from mlflow import MlflowClient
from s3_calls import start_s3
from server_process import ServerProcess


class ArtifactTest(ClientTest):
    def setUp(self) -> None:
        mlflow.set_experiment("artifacts")

    def test_files_go_up_and_come_down(self) -> None:
        source = self.folder / "source"
        (source / "sub").mkdir(parents=True, exist_ok=True)
        (source / "a b.txt").write_text("hello")
        (source / "empty").write_text("")
        (source / "sub/big.bin").write_bytes(os.urandom(3 << 20))
        with mlflow.start_run() as run:
            mlflow.log_artifacts(str(source), "data")
            mlflow.log_artifact(str(source / "a b.txt"))
            mlflow.log_text("text", "notes/\u00e9.txt")
            mlflow.log_dict({"a": [1, 2]}, "config.json")
        run_id = run.info.run_id
        listed = {each.path: each for each in self.client.list_artifacts(run_id, "data")}
        self.assertEqual(set(listed), {"data/a b.txt", "data/empty", "data/sub"})
        self.assertTrue(listed["data/sub"].is_dir)
        target = self.folder / "target"
        target.mkdir(exist_ok=True)
        got = mlflow.artifacts.download_artifacts(
            run_id=run_id, artifact_path="data", dst_path=str(target)
        )
        self.assertEqual(
            (pathlib.Path(got) / "sub/big.bin").read_bytes(),
            (source / "sub/big.bin").read_bytes(),
        )
        self.assertEqual(mlflow.artifacts.load_dict(f"runs:/{run_id}/config.json"), {"a": [1, 2]})
        self.assertEqual(mlflow.artifacts.load_text(f"runs:/{run_id}/notes/\u00e9.txt"), "text")
        files = {each["path"] for each in self.files_of("artifacts", run_id)}
        self.assertLessEqual({"config.json", "data/sub/big.bin", "notes/\u00e9.txt"}, files)

    def files_of(self, project: str, run_id: str) -> list[dict]:
        return self.server.get(f"/api/v1/runs/{project}/{run_id}/files")["files"]

    @unittest.skipUnless(has("pandas"), "there is no pandas")
    def test_tables_grow(self) -> None:
        with mlflow.start_run():
            mlflow.log_table({"x": [1], "y": ["a"]}, "table.json")
            mlflow.log_table({"x": [2], "y": ["b"]}, "table.json")
            run_id = mlflow.active_run().info.run_id
        table = mlflow.load_table("table.json", run_ids=[run_id])
        self.assertEqual(list(table["x"]), [1, 2])

    @unittest.skipUnless(has("matplotlib", "numpy", "PIL"), "there is no matplotlib or Pillow")
    def test_figures_and_images(self) -> None:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as pyplot
        import numpy

        figure, axes = pyplot.subplots()
        axes.plot([1, 2, 3])
        with mlflow.start_run() as run:
            mlflow.log_figure(figure, "plots/curve.png")
            mlflow.log_image(numpy.zeros((8, 8, 3), dtype=numpy.uint8), "black.png")
            if IS_3:
                mlflow.log_image(
                    numpy.zeros((8, 8, 3), dtype=numpy.uint8), key="dog", step=1, synchronous=True
                )
        paths = {each["path"] for each in self.files_of("artifacts", run.info.run_id)}
        self.assertLessEqual({"plots/curve.png", "black.png"}, paths)


class PartsTest(ClientTest):
    """Blobs on a real S3 server."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-mlflow-"))
        cls.s3, blobs = start_s3(cls.folder)
        cls.server = ServerProcess(cls.bin / "kedge", cls.folder / "data", "--blobs", blobs)
        cls.server.start()
        mlflow.set_tracking_uri(cls.server.url)
        cls.client = MlflowClient(cls.server.url)

    @classmethod
    def tearDownClass(cls) -> None:
        super().tearDownClass()
        cls.s3.terminate()
        cls.s3.wait(30)

    def test_a_large_file_comes_in_parts(self) -> None:
        content = os.urandom(3_500_000)
        file = self.folder / "big.bin"
        file.write_bytes(content)
        sizes = {
            "MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD": "true",
            "MLFLOW_MULTIPART_UPLOAD_MINIMUM_FILE_SIZE": "1000000",
            "MLFLOW_MULTIPART_UPLOAD_CHUNK_SIZE": "1000000",
        }
        os.environ.update(sizes)
        try:
            with mlflow.start_run() as run:
                mlflow.log_artifact(str(file), "deep")
        finally:
            for name in sizes:
                del os.environ[name]
        paths = {path.split("/mpu/")[1].split("/")[0] for _, path in SEEN if "/mpu/" in path}
        self.assertEqual(paths, {"create", "complete", "part"})
        got = self.client.download_artifacts(run.info.run_id, "deep/big.bin", str(self.folder))
        self.assertEqual(pathlib.Path(got).read_bytes(), content)
