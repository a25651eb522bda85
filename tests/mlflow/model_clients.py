"""Models and traces, with the real client; clients.py runs them."""

import unittest

import mlflow
import requests
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

    def test_traces_are_counted_and_compared(self) -> None:
        from mlflow.entities.trace_metrics import (
            AggregationType,
            MetricAggregation,
            MetricViewType,
        )
        from mlflow.tracing.client import TracingClient

        experiment = mlflow.set_experiment("counted").experiment_id
        for number in range(6):
            with mlflow.start_span("ask") as span:
                team = "red" if number < 4 else "blue"
                mlflow.update_current_trace(tags={"team": team, "even": str(number % 2 == 0)})
                span.set_attribute("number", number)
        mlflow.flush_trace_async_logging()
        tracing = TracingClient(self.server.url)
        found = tracing.calculate_trace_filter_correlation(
            [experiment], "tags.team = 'red'", "tags.even = 'True'"
        )
        self.assertEqual(
            (found.total_count, found.filter1_count, found.filter2_count, found.joint_count),
            (6, 4, 3, 2),
        )
        self.assertAlmostEqual(found.npmi, 0)  # as often as chance would have it
        points = tracing.store.query_trace_metrics(
            experiment_ids=[experiment],
            view_type=MetricViewType.SPANS,
            metric_name="span_count",
            aggregations=[MetricAggregation(AggregationType.COUNT)],
            dimensions=["span_name", "span_status"],
        )
        told = [(each.dimensions, each.values) for each in points]
        self.assertEqual(told, [({"span_name": "ask", "span_status": "OK"}, {"COUNT": 6})])

    @unittest.skipUnless(has("pandas"), "there is no pandas")
    def test_a_prompt_that_was_tried_is_a_model_that_loads(self) -> None:
        experiment = mlflow.set_experiment("prompts").experiment_id
        answer = requests.post(
            self.server.url + "/ajax-api/2.0/mlflow/runs/create-promptlab-run",
            json={
                "experiment_id": experiment,
                "prompt_template": "Is {{ x }} red?",
                "prompt_parameters": [{"key": "x", "value": "fire"}],
                "model_route": "chat",
                "model_input": "Is fire red?",
                "model_output": "yes",
                "mlflow_version": mlflow.__version__,
            },
            timeout=60,
        )
        run_id = answer.json()["run"]["info"]["run_id"]
        model = mlflow.pyfunc.load_model(f"runs:/{run_id}/model")
        self.assertEqual(model.metadata.get_input_schema().input_names(), ["x"])
        table = mlflow.load_table("eval_results_table.json", run_ids=[run_id])
        self.assertEqual(list(table["output"]), ["yes"])
