#!/usr/bin/env python3
"""What users do with the real `mlflow` package, against a real `kedge server`.

Run by a Python that has mlflow (KEDGE_PEER_PYTHON); parts that need scikit-learn, matplotlib or
pandas are skipped where they are not there.

Usage: PYTHON clients.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from s3_calls import start_s3  # noqa: E402
from server_process import ServerProcess  # noqa: E402

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")

import mlflow  # noqa: E402
import requests  # noqa: E402
from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric, Param, RunTag, ViewType  # noqa: E402
from mlflow.exceptions import MlflowException, RestException  # noqa: E402

BIN = ROOT / "build/bin"
IS_3 = mlflow.__version__.startswith("3")
SEEN: set[tuple[str, str]] = set()


def has(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def record_calls() -> None:
    """Keeps which calls the package makes, for the table in docs/reference/mlflow.md."""
    send = requests.Session.send

    def sending(self, request, **options):
        answer = send(self, request, **options)
        path = request.url.split("?")[0].split("/", 3)[-1]
        if answer.status_code != 404:
            SEEN.add((request.method, "/" + path))
        return answer

    requests.Session.send = sending


class ClientTest(unittest.TestCase):
    """A server of its own for each class."""

    options: tuple[str, ...] = ()

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-mlflow-"))
        cls.server = ServerProcess(BIN / "kedge", cls.folder / "data", *cls.options)
        cls.server.start()
        mlflow.set_tracking_uri(cls.server.url)
        cls.client = MlflowClient(cls.server.url)

    @classmethod
    def tearDownClass(cls) -> None:
        while mlflow.active_run():
            mlflow.end_run()
        cls.server.stop()
        shutil.rmtree(cls.folder)

    def native(self, run) -> dict:
        """The run as the native API shows it."""
        experiment = self.client.get_experiment(run.info.experiment_id)
        return self.server.get(f"/api/v1/runs/{experiment.name}/{run.info.run_id}")


class TrackingTest(ClientTest):
    def test_a_plain_script_works(self) -> None:
        mlflow.set_experiment("plain")
        with mlflow.start_run(run_name="one", tags={"team": "x"}, description="notes") as run:
            mlflow.log_params({"lr": 0.1, "layers": [1, 2], "flag": True, "none": None})
            for step in range(5):
                mlflow.log_metric("loss", 1.0 / (step + 1), step=step)
            mlflow.log_metrics({"a": 1.0, "b": float("nan"), "c": float("inf")}, step=3)
            mlflow.set_tag("late", "yes")
        run = mlflow.get_run(run.info.run_id)
        self.assertEqual(run.info.status, "FINISHED")
        self.assertEqual(
            run.data.params, {"lr": "0.1", "layers": "[1, 2]", "flag": "True", "none": "None"}
        )
        self.assertEqual(run.data.metrics["loss"], 0.2)
        self.assertNotEqual(run.data.metrics["b"], run.data.metrics["b"])
        self.assertEqual((run.data.tags["team"], run.data.tags["late"]), ("x", "yes"))
        history = self.client.get_metric_history(run.info.run_id, "loss")
        self.assertEqual([each.step for each in history], list(range(5)))
        native = self.native(run)
        self.assertEqual(native["config"]["lr"], 0.1)
        self.assertEqual(native["notes"], "notes")
        self.assertEqual(native["source"], "mlflow")

    def test_runs_are_nested_and_resumed(self) -> None:
        mlflow.set_experiment("nested")
        with mlflow.start_run(run_name="parent") as parent:
            with mlflow.start_run(run_name="child", nested=True) as child:
                mlflow.log_metric("m", 1)
        self.assertEqual(self.native(child)["parent"], parent.info.run_id)
        found = self.client.search_runs(
            [parent.info.experiment_id], f"tags.mlflow.parentRunId = '{parent.info.run_id}'"
        )
        self.assertEqual([each.info.run_name for each in found], ["child"])
        with mlflow.start_run(run_id=child.info.run_id):
            mlflow.log_metric("m", 2, step=1)
        self.assertEqual(mlflow.get_run(child.info.run_id).data.metrics["m"], 2)

    def test_a_failed_run_says_so(self) -> None:
        mlflow.set_experiment("failing")
        with self.assertRaises(ZeroDivisionError):
            with mlflow.start_run() as run:
                raise ZeroDivisionError
        self.assertEqual(mlflow.get_run(run.info.run_id).info.status, "FAILED")

    def test_values_are_logged_in_the_background(self) -> None:
        mlflow.set_experiment("async")
        with mlflow.start_run() as run:
            for step in range(200):
                mlflow.log_metric("m", step, step=step, synchronous=False)
            mlflow.log_params({"a": 1}, synchronous=False)
            mlflow.flush_async_logging()
        history = self.client.get_metric_history(run.info.run_id, "m")
        self.assertEqual([each.value for each in history], list(range(200)))
        self.assertEqual(mlflow.get_run(run.info.run_id).data.params, {"a": "1"})

    def test_a_batch_of_everything(self) -> None:
        experiment = self.client.create_experiment("batch", tags={"k": "v"})
        run = self.client.create_run(experiment)
        self.client.log_batch(
            run.info.run_id,
            metrics=[Metric("m", i / 7, 1000 + i, i) for i in range(1000)],
        )
        self.client.log_batch(
            run.info.run_id,
            params=[Param(f"p{i}", str(i)) for i in range(100)],
            tags=[RunTag(f"t{i}", "x" * 8000) for i in range(100)],
        )
        got = self.client.get_run(run.info.run_id)
        self.assertEqual(len(got.data.params), 100)
        self.assertEqual(len(got.data.tags["t99"]), 8000)
        self.assertEqual(len(self.client.get_metric_history(run.info.run_id, "m")), 1000)

    def test_what_was_thrown_away_comes_back(self) -> None:
        experiment = self.client.create_experiment("trash")
        run_id = self.client.create_run(experiment).info.run_id
        self.client.delete_run(run_id)
        self.assertEqual(len(self.client.search_runs([experiment])), 0)
        self.assertEqual(
            len(self.client.search_runs([experiment], run_view_type=ViewType.DELETED_ONLY)), 1
        )
        self.client.restore_run(run_id)
        self.client.delete_experiment(experiment)
        with self.assertRaises(RestException):
            self.client.create_run(experiment)
        self.client.restore_experiment(experiment)
        self.client.rename_experiment(experiment, "trash 2")
        self.assertEqual(self.client.get_experiment(experiment).name, "trash 2")

    def test_errors_are_those_users_know(self) -> None:
        with self.assertRaisesRegex(MlflowException, "Run with id=nope not found"):
            self.client.get_run("nope")
        run_id = self.client.create_run("0").info.run_id
        self.client.log_param(run_id, "p", 1)
        with self.assertRaisesRegex(MlflowException, "Changing param values is not allowed"):
            self.client.log_param(run_id, "p", 2)
        with self.assertRaisesRegex(MlflowException, "Invalid attribute key 'nope'"):
            self.client.search_runs(["0"], "attributes.nope = 'x'")

    @unittest.skipUnless(has("pandas"), "there is no pandas")
    def test_a_search_is_a_data_frame(self) -> None:
        experiment = mlflow.set_experiment("frame").experiment_id
        for lr in (0.1, 0.01, 0.001):
            with mlflow.start_run():
                mlflow.log_param("lr", lr)
                mlflow.log_metric("acc", 1 - lr)
        frame = mlflow.search_runs(
            [experiment], "metrics.acc > 0.95", order_by=["metrics.acc DESC"]
        )
        self.assertEqual(list(frame["params.lr"]), ["0.001", "0.01"])

    def test_the_machine_is_sampled(self) -> None:
        if not has("psutil"):
            self.skipTest("there is no psutil")
        mlflow.set_experiment("system")
        mlflow.set_system_metrics_sampling_interval(0.2)
        mlflow.set_system_metrics_samples_before_logging(1)
        with mlflow.start_run(log_system_metrics=True) as run:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                metrics = self.client.get_run(run.info.run_id).data.metrics
                if any(key.startswith("system/") for key in metrics):
                    break
                threading.Event().wait(0.1)
        self.assertIn("system/cpu_utilization_percentage", metrics)


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


@unittest.skipUnless(has("sklearn", "pandas"), "there is no scikit-learn")
class ModelTest(ClientTest):
    def test_autologging_logs_a_model_that_loads(self) -> None:
        from sklearn.datasets import load_iris
        from sklearn.linear_model import LogisticRegression

        mlflow.set_experiment("autolog")
        mlflow.sklearn.autolog()
        try:
            data = load_iris(as_frame=True)
            with mlflow.start_run() as run:
                LogisticRegression(max_iter=200).fit(data.data, data.target)
        finally:
            mlflow.sklearn.autolog(disable=True)
        got = mlflow.get_run(run.info.run_id)
        self.assertEqual(got.data.params["max_iter"], "200")
        self.assertIn("training_score", got.data.metrics)
        self.assertEqual(len(got.inputs.dataset_inputs), 1)
        self.assertEqual(got.inputs.dataset_inputs[0].tags[0].value, "train")
        model = mlflow.sklearn.load_model(f"runs:/{run.info.run_id}/model")
        self.assertEqual(len(model.predict(data.data)), 150)
        found = self.client.search_runs([got.info.experiment_id], "datasets.context = 'train'")
        self.assertEqual(len(found), 1)

    def test_a_model_is_registered_and_loaded_by_alias(self) -> None:
        from sklearn.linear_model import LinearRegression

        mlflow.set_experiment("registry")
        model = LinearRegression().fit([[0], [1]], [0, 1])
        with mlflow.start_run() as run:
            mlflow.sklearn.log_model(model, name="line", registered_model_name="line")
        version = self.client.search_model_versions("name = 'line'")[0]
        self.assertEqual((version.version, version.run_id), ("1", run.info.run_id))
        self.client.set_registered_model_alias("line", "champion", 1)
        self.client.set_model_version_tag("line", "1", "checked", "yes")
        loaded = mlflow.pyfunc.load_model("models:/line@champion")
        self.assertAlmostEqual(float(loaded.predict([[2.0]])[0]), 2.0)
        by_alias = self.client.get_model_version_by_alias("line", "champion")
        self.assertEqual(by_alias.tags, {"checked": "yes"})
        self.client.transition_model_version_stage("line", 1, "Production")
        latest = self.client.get_latest_versions("line", ["Production"])
        self.assertEqual([each.version for each in latest], ["1"])
        native = self.server.get("/api/v1/models/line")
        self.assertEqual(native["aliases"], {"champion": 1})
        self.client.rename_registered_model("line", "line 2")
        self.client.delete_registered_model("line 2")
        self.assertEqual(list(self.client.search_registered_models()), [])

    @unittest.skipUnless(IS_3, "logged models came with 3")
    def test_logged_models_are_searched_by_what_was_measured(self) -> None:
        experiment = mlflow.set_experiment("logged").experiment_id
        with mlflow.start_run():
            for name, value in (("a", 0.5), ("b", 0.9)):
                model = mlflow.create_external_model(name=name, params={"k": name})
                mlflow.log_metric("acc", value, model_id=model.model_id)
        found = mlflow.search_logged_models(
            [experiment],
            "metrics.acc > 0.6 AND params.k = 'b'",
            output_format="list",
        )
        self.assertEqual([each.name for each in found], ["b"])
        self.assertEqual(found[0].metrics[0].value, 0.9)
        mlflow.set_logged_model_tags(found[0].model_id, {"x": "y"})
        self.assertEqual(mlflow.get_logged_model(found[0].model_id).tags["x"], "y")


@unittest.skipUnless(IS_3, "traces of 3")
class TraceTest(ClientTest):
    def test_a_trace_is_kept_and_found(self) -> None:
        experiment = mlflow.set_experiment("traces").experiment_id

        @mlflow.trace
        def add(x: int) -> int:
            with mlflow.start_span("inner") as span:
                span.set_attributes({"a": 1, "b": [1.5, True]})
            return x + 1

        add(2)
        mlflow.flush_trace_async_logging()
        trace = self.client.get_trace(mlflow.get_last_active_trace_id())
        self.assertEqual([each.name for each in trace.data.spans], ["add", "inner"])
        self.assertEqual(trace.data.spans[1].attributes["b"], [1.5, True])
        self.client.set_trace_tag(trace.info.trace_id, "k", "v")
        found = self.client.search_traces(
            locations=[experiment], filter_string="tags.k = 'v' AND status = 'OK'"
        )
        self.assertEqual([each.info.trace_id for each in found], [trace.info.trace_id])

    def test_what_people_say_of_a_trace_comes_with_it(self) -> None:
        mlflow.set_experiment("assessed")
        with mlflow.start_span("question"):
            pass
        mlflow.flush_trace_async_logging()
        trace_id = mlflow.get_last_active_trace_id()
        said = mlflow.log_feedback(trace_id=trace_id, name="good", value=0.5, rationale="so so")
        mlflow.log_expectation(trace_id=trace_id, name="answer", value={"words": [1, "two"]})
        mlflow.override_feedback(trace_id=trace_id, assessment_id=said.assessment_id, value=1.0)
        told = {each.name: each for each in mlflow.get_trace(trace_id).info.assessments}
        self.assertEqual(told["answer"].value, {"words": [1, "two"]})
        self.assertEqual(told["good"].value, 1.0)
        first = mlflow.get_assessment(trace_id, said.assessment_id)
        self.assertEqual((first.value, first.rationale, first.valid), (0.5, "so so", False))

    def test_evaluation_datasets_keep_their_records(self) -> None:
        experiment = mlflow.set_experiment("evaluated").experiment_id
        dataset = mlflow.genai.datasets.create_dataset(
            name="questions", experiment_id=experiment, tags={"team": "ml"}
        )
        asked = [{"inputs": {"q": word}, "expectations": {"a": word}} for word in ("x", "y")]
        dataset.merge_records(asked)
        dataset.merge_records([{"inputs": {"q": "x"}, "expectations": {"b": 2}}])
        found = mlflow.genai.datasets.search_datasets(
            experiment_ids=[experiment], filter_string="tags.team = 'ml'"
        )
        self.assertEqual([each.name for each in found], ["questions"])
        frame = mlflow.genai.datasets.get_dataset(dataset_id=dataset.dataset_id).to_df()
        self.assertEqual(list(frame.expectations), [{"a": "x", "b": 2}, {"a": "y"}])
        mlflow.genai.datasets.delete_dataset(dataset_id=dataset.dataset_id)
        with self.assertRaisesRegex(mlflow.exceptions.MlflowException, "not found"):
            mlflow.genai.datasets.get_dataset(dataset_id=dataset.dataset_id)


class FaultTest(ClientTest):
    def test_logging_goes_on_when_the_server_is_killed(self) -> None:
        mlflow.set_experiment("kills")
        with mlflow.start_run() as run:
            for step in range(60):
                if step in (20, 40):
                    self.server.kill()
                    starter = threading.Timer(1.0, self.server.start)
                    starter.start()
                mlflow.log_metric("m", step, step=step)
                if step in (20, 40):
                    starter.join()
        history = self.client.get_metric_history(run.info.run_id, "m")
        self.assertEqual([each.step for each in history], list(range(60)))

    def test_a_huge_payload_is_refused_with_a_word(self) -> None:
        run_id = self.client.create_run("0").info.run_id
        answer = requests.post(
            self.server.url + "/api/2.0/mlflow/runs/set-tag",
            json={"run_id": run_id, "key": "k", "value": "x" * (40 << 20)},
            timeout=60,
        )
        self.assertEqual(answer.status_code, 413)
        self.assertIn("error_code", answer.json())


class LoginTest(ClientTest):
    options = ("--auth",)
    os.environ["KEDGE_ADMIN_PASSWORD"] = "correct horse battery"

    def environment(self, password: str) -> dict:
        return {
            **os.environ,
            "MLFLOW_TRACKING_URI": self.server.url,
            "MLFLOW_TRACKING_USERNAME": "admin",
            "MLFLOW_TRACKING_PASSWORD": password,
        }

    CODE = (
        "import mlflow; mlflow.set_experiment('auth');"
        "run = mlflow.start_run(); mlflow.log_metric('m', 1); mlflow.end_run();"
        "print(mlflow.get_run(run.info.run_id).data.metrics)"
    )

    def script(self, password: str) -> subprocess.CompletedProcess:
        return self.run_code([], self.environment(password))

    def run_code(self, before: list, environment: dict) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*before, sys.executable, "-c", self.CODE],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def make_token(self, **fields) -> str:
        answer = requests.post(
            self.server.url + "/api/v1/tokens",
            json={"name": "t", "scopes": ["write"], **fields},
            auth=("admin", "correct horse battery"),
            timeout=60,
        )
        return answer.json()["token"]

    def test_a_token_opens_until_it_expires(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING")}
        kept["MLFLOW_TRACKING_URI"] = self.server.url
        done = self.run_code([], {**kept, "MLFLOW_TRACKING_TOKEN": self.make_token()})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        token = self.make_token(expires_in_s=1)
        login = {"Authorization": f"Bearer {token}"}
        deadline = time.monotonic() + 60
        while requests.get(self.server.url + "/api/v1/projects", headers=login, timeout=60).ok:
            self.assertLess(time.monotonic(), deadline)
        done = self.run_code([], {**kept, "MLFLOW_TRACKING_TOKEN": token})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("401", done.stderr)

    def test_a_program_under_kedge_run_reaches_the_server(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING")}
        kept.update(KEDGE_SERVER=self.server.url, KEDGE_TOKEN=self.make_token())
        done = self.run_code([BIN / "kedge", "run", "--project", "outer", "--"], kept)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("{'m': 1.0}", done.stdout)

    def test_the_right_password_opens(self) -> None:
        done = self.script("correct horse battery")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("{'m': 1.0}", done.stdout)

    def test_a_wrong_password_does_not(self) -> None:
        done = self.script("wrong")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("401", done.stderr)


class PartsTest(ClientTest):
    """Blobs on a real S3 server."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-mlflow-"))
        cls.s3, blobs = start_s3(cls.folder)
        cls.server = ServerProcess(BIN / "kedge", cls.folder / "data", "--blobs", blobs)
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


class CommandLineTest(ClientTest):
    def mlflow(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mlflow", *arguments],
            env={**os.environ, "MLFLOW_TRACKING_URI": self.server.url},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_the_verbs_work(self) -> None:
        self.mlflow("experiments", "create", "-n", "shell")
        self.assertIn("shell", self.mlflow("experiments", "search"))
        experiment = self.client.get_experiment_by_name("shell").experiment_id
        run = self.client.create_run(experiment, run_name="by hand")
        self.assertIn("by hand", self.mlflow("runs", "list", "--experiment-id", experiment))
        file = self.folder / "note.txt"
        file.write_text("from the shell")
        self.mlflow(
            "artifacts", "log-artifact", "--local-file", str(file), "--run-id", run.info.run_id
        )
        listed = json.loads(self.mlflow("artifacts", "list", "--run-id", run.info.run_id))
        self.assertEqual(listed, [{"path": "note.txt", "is_dir": False, "file_size": 14}])


def main() -> None:
    global BIN
    arguments = sys.argv[1:]
    if arguments[:1] == ["--bin"]:
        BIN = pathlib.Path(arguments[1]).resolve()
        arguments = arguments[2:]
    record_calls()
    program = unittest.main(argv=[sys.argv[0], *arguments], exit=False)
    if where := os.environ.get("KEDGE_MLFLOW_CALLS"):
        pathlib.Path(where).write_text(json.dumps(sorted(SEEN)))
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
