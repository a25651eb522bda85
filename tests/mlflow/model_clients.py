"""Models, and what is not kept, with the real client; clients.py runs them."""

import unittest

import mlflow
from client_case import IS_3, ClientTest, has


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
    def test_a_script_that_traces_trains_on(self) -> None:
        """Traces are not kept: the client may warn, the script and its run never notice."""
        mlflow.set_experiment("traces")
        with mlflow.start_run() as run:

            @mlflow.trace
            def train(x: int) -> int:
                with mlflow.start_span("inner") as span:
                    span.set_attributes({"a": 1})
                return x + 1

            mlflow.log_metric("loss", 1.0 / train(3))
        mlflow.flush_trace_async_logging()
        self.assertEqual(self.client.get_run(run.info.run_id).data.metrics, {"loss": 0.25})
        self.assertEqual(self.client.get_run(run.info.run_id).info.status, "FINISHED")

    def test_what_is_not_kept_says_so_at_once(self) -> None:
        experiment = mlflow.set_experiment("refused").experiment_id
        for kind, ask in (
            ("traces", lambda: self.client.search_traces(locations=[experiment])),
            (
                "evaluation datasets",
                lambda: mlflow.genai.datasets.create_dataset(name="d", experiment_id=experiment),
            ),
            ("scorers", lambda: mlflow.genai.scorers.list_scorers(experiment_id=experiment)),
        ):
            with (
                self.subTest(kind=kind),
                self.assertRaisesRegex(
                    mlflow.exceptions.MlflowException,
                    f"kedge tracks trainings: {kind} are not kept here",
                ),
            ):
                ask()
