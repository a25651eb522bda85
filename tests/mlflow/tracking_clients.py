"""Runs and what is logged to them, with the real client; clients.py runs them."""

import threading
import time
import unittest

import mlflow
from client_case import ClientTest, has
from mlflow.entities import Metric, Param, RunTag, ViewType
from mlflow.exceptions import MlflowException, RestException


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
