#!/usr/bin/env python3
"""What docs/reference/mlflow.md promises, asked of a real `kedge server` over plain HTTP.

Needs no mlflow: the requests are those that its clients send. With bad input too.

Usage: contract.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import json

from artifact_calls import ArtifactTest  # noqa: F401
from genai_calls import GenAiTest  # noqa: F401
from graphql_calls import GraphqlLoginTest, GraphqlTest  # noqa: F401
from model_calls import (  # noqa: F401
    LoggedModelTest,
    LoginTest,
    MoreRegistryTest,
    RegistryTest,
    SourceTest,
    UserTest,
)
from raw_calls import API, MlflowTest, main
from search_calls import SearchTest  # noqa: F401


class MethodTest(MlflowTest):
    def test_a_wrong_method_is_told_the_right_ones(self) -> None:
        """As MLflow's own server does: 405 with Allow; what no call has is 404."""
        for method, path, allowed in [
            ("GET", f"{API}runs/create", "POST"),
            ("DELETE", f"{API}experiments/get", "GET"),
            ("PATCH", f"{API}registered-models/get", "GET"),
        ]:
            with self.subTest(path=path):
                answer = self.ask(method, path)
                self.assertEqual(answer.status, 405)
                self.assertIn(allowed, answer.headers["Allow"].split(", "))
                self.assertEqual(answer.json["error_code"], "ENDPOINT_NOT_FOUND")
        self.assertEqual(self.ask("POST", f"{API}runs/dance").status, 404)


class ExperimentTest(MlflowTest):
    def test_default_is_there_from_the_start(self) -> None:
        experiment = self.get("experiments/get", experiment_id="0")["experiment"]
        self.assertEqual(experiment["name"], "Default")
        self.assertEqual(experiment["artifact_location"], "mlflow-artifacts:/0")

    def test_an_experiment_is_made_found_renamed_and_thrown_away(self) -> None:
        made = self.post(
            "experiments/create", name="vision / v2", tags=[{"key": "team", "value": "x"}]
        )["experiment_id"]
        self.assertTrue(made.isdigit())
        found = self.get("experiments/get-by-name", experiment_name="vision / v2")["experiment"]
        self.assertEqual(found["experiment_id"], made)
        self.assertEqual(found["tags"], [{"key": "team", "value": "x"}])
        self.post("experiments/update", experiment_id=made, new_name="vision")
        self.post("experiments/delete", experiment_id=made)
        gone = self.get("experiments/get", experiment_id=made)["experiment"]
        self.assertEqual((gone["name"], gone["lifecycle_stage"]), ("vision", "deleted"))
        message = self.refused("experiments/delete", {"experiment_id": made}, 404)
        self.assertEqual(message, f"No Experiment with id={made} exists")
        message = self.refused("runs/create", {"experiment_id": made})
        self.assertIn("must be in the 'active' state", message)
        self.post("experiments/restore", experiment_id=made)

    def test_a_name_is_taken_once(self) -> None:
        self.post("experiments/create", name="taken")
        answer = self.ask("POST", API + "experiments/create", {"name": "taken"})
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json["error_code"], "RESOURCE_ALREADY_EXISTS")

    def test_tags_come_and_go(self) -> None:
        made = self.experiment()
        self.post("experiments/set-experiment-tag", experiment_id=made, key="k", value="v")
        found = self.get("experiments/search", max_results=10, filter="tags.k = 'v'")
        self.assertEqual([each["experiment_id"] for each in found["experiments"]], [made])
        self.post("experiments/delete-experiment-tag", experiment_id=made, key="k")
        message = self.refused(
            "experiments/delete-experiment-tag", {"experiment_id": made, "key": "k"}, 404
        )
        self.assertEqual(message, f"No tag with name: k in experiment with id {made}")

    def test_a_search_pages(self) -> None:
        for name in ("page-a", "page-b", "page-c"):
            self.post("experiments/create", name=name)
        names, token = [], ""
        while True:
            answer = self.post(
                "experiments/search",
                max_results=2,
                filter="name LIKE 'page-%'",
                order_by=["name DESC"],
                page_token=token,
            )
            names += [each["name"] for each in answer["experiments"]]
            token = answer.get("next_page_token", "")
            if not token:
                break
        self.assertEqual(names, ["page-c", "page-b", "page-a"])


class RunTest(MlflowTest):
    def test_a_run_has_what_it_was_given(self) -> None:
        experiment = self.experiment()
        run_id = self.run_of(
            experiment,
            run_name="first",
            start_time=1_794_700_800_000,
            tags=[{"key": "mlflow.parentRunId", "value": "p"}, {"key": "k", "value": "v"}],
        )
        self.assertRegex(run_id, "^[0-9a-f]{32}$")
        run = self.get("runs/get", run_id=run_id)["run"]
        self.assertEqual(run["info"]["status"], "RUNNING")
        self.assertEqual(run["info"]["start_time"], 1_794_700_800_000)
        self.assertNotIn("end_time", run["info"])
        self.assertEqual(
            run["info"]["artifact_uri"], f"mlflow-artifacts:/{experiment}/{run_id}/artifacts"
        )
        tags = {each["key"]: each["value"] for each in run["data"]["tags"]}
        self.assertEqual(tags, {"mlflow.runName": "first", "mlflow.parentRunId": "p", "k": "v"})
        self.assertEqual((run["inputs"], run["outputs"]), ({}, {}))
        ended = self.post(
            "runs/update", run_id=run_id, status="FINISHED", end_time=1_794_700_900_000
        )
        self.assertEqual(ended["run_info"]["end_time"], 1_794_700_900_000)

    def test_a_native_reader_sees_the_same_run(self) -> None:
        experiment = self.experiment()
        name = self.get("experiments/get", experiment_id=experiment)["experiment"]["name"]
        run_id = self.run_of(experiment, run_name="seen")
        self.post("runs/log-parameter", run_id=run_id, key="lr", value="0.1")
        self.post("runs/log-metric", run_id=run_id, key="loss", value=0.5, timestamp=1000, step=3)
        native = self.server.get(f"/api/v1/runs/{name}/{run_id}")
        self.assertEqual(native["name"], "seen")
        self.assertEqual(native["config"], {"lr": 0.1})
        self.assertEqual(native["summary"]["loss"]["last"], 0.5)

    def test_a_native_run_is_seen_by_mlflow(self) -> None:
        self.ask("POST", "/api/v1/runs/native", {"id": "r1", "config": {"a": {"b": True}}})
        self.ask("POST", "/api/v1/runs/native/r1/log", {"step": 7, "values": {"loss": 0.25}})
        experiment = self.get("experiments/get-by-name", experiment_name="native")["experiment"]
        runs = self.post(
            "runs/search",
            experiment_ids=[experiment["experiment_id"]],
            filter="metrics.loss < 0.3 AND params.`a.b` = 'True'",
        )["runs"]
        self.assertEqual([each["info"]["run_id"] for each in runs], ["r1"])
        self.assertEqual(runs[0]["data"]["metrics"][0]["step"], 7)

    def test_tags_models_and_data_of_a_run(self) -> None:
        experiment = self.experiment()
        run_id = self.run_of(experiment)
        self.post("runs/set-tag", run_id=run_id, key="a", value="b")
        self.post("runs/delete-tag", run_id=run_id, key="a")
        message = self.refused("runs/delete-tag", {"run_id": run_id, "key": "a"}, 404)
        self.assertEqual(message, f"No tag with name: a in run with id {run_id}")
        model = {"artifact_path": "m", "flavors": {}, "utc_time_created": "t", "run_id": run_id}
        self.post("runs/log-model", run_id=run_id, model_json=json.dumps(model))
        tags = self.get("runs/get", run_id=run_id)["run"]["data"]["tags"]
        self.assertIn("mlflow.log-model.history", [each["key"] for each in tags])
        dataset = {"name": "d", "digest": "1", "source_type": "local", "source": "{}"}
        context = [{"key": "mlflow.data.context", "value": "train"}]
        for _ in range(2):
            self.post(
                "runs/log-inputs", run_id=run_id, datasets=[{"dataset": dataset, "tags": context}]
            )
        found = self.post("experiments/search-datasets", experiment_ids=[experiment])
        self.assertEqual(
            found["dataset_summaries"],
            [{"experiment_id": experiment, "name": "d", "digest": "1", "context": "train"}],
        )

    def test_a_run_in_the_trash_refuses_writes_and_comes_back(self) -> None:
        run_id = self.run_of(self.experiment())
        self.post("runs/delete", run_id=run_id)
        self.post("runs/delete", run_id=run_id)
        message = self.refused("runs/set-tag", {"run_id": run_id, "key": "a", "value": "b"})
        self.assertEqual(
            message, f"The run {run_id} must be in the 'active' state. Current state is deleted."
        )
        self.post("runs/restore", run_id=run_id)
        self.post("runs/set-tag", run_id=run_id, key="a", value="b")

    def test_what_is_missing_or_wrong_is_named(self) -> None:
        run_id = self.run_of(self.experiment())
        see = " See the API docs for more information about request parameters."
        cases = [
            (
                "runs/log-metric",
                {"run_id": run_id, "value": 1, "timestamp": 1},
                "Missing value for required parameter 'key'." + see,
            ),
            (
                "runs/log-batch",
                {"run_id": run_id, "metrics": [{"key": "a", "value": 1}]},
                "Missing value for required parameter 'metrics[0].timestamp'." + see,
            ),
            (
                "runs/set-tag",
                {"run_id": run_id, "key": "a", "value": 41},
                "Invalid value 41 for parameter 'value' supplied:  Hint: Value was of type 'int'."
                + see,
            ),
            (
                "runs/search",
                {"experiment_ids": ["0"], "filter": "metrics.a > 1 OR metrics.b > 1"},
                "Invalid clause(s) in filter string: 'OR'",
            ),
            (
                "runs/search",
                {"experiment_ids": ["0"], "page_token": "!"},
                "Invalid page token, could not base64-decode",
            ),
        ]
        for call, fields, message in cases:
            with self.subTest(call=call, fields=fields):
                self.assertEqual(self.refused(call, fields), message)

    def test_bad_bodies_are_refused_and_never_the_servers_fault(self) -> None:
        for body in (b"{", b"[1]", b"null", b"\xff\xfe", b'"{"', b'{"metrics": null}'):
            with self.subTest(body=body):
                answer = self.ask(
                    "POST",
                    API + "runs/log-batch",
                    body,
                    {"Content-Type": "application/json"},
                )
                self.assertEqual(answer.status, 400)
                self.assertIn("error_code", answer.json)
        answer = self.ask("POST", API + "runs/create", b"{}", {"Content-Type": "text/plain"})
        self.assertEqual(
            answer.json["message"],
            "Bad Request. Content-Type must be one of ['application/json'].",
        )

    def test_a_call_that_is_not_there_names_itself(self) -> None:
        answer = self.ask("POST", API + "runs/teleport", {})
        self.assertEqual(answer.status, 404)
        self.assertEqual(answer.json["error_code"], "ENDPOINT_NOT_FOUND")
        self.assertIn("POST /api/2.0/mlflow/runs/teleport", answer.json["message"])


class ValueTest(MlflowTest):
    def setUp(self) -> None:
        self.run_id = self.run_of(self.experiment())

    def data(self) -> dict:
        return self.get("runs/get", run_id=self.run_id)["run"]["data"]

    def log(self, key: str, value, timestamp: int, step: int = 0) -> None:
        self.post(
            "runs/log-metric",
            run_id=self.run_id,
            key=key,
            value=value,
            timestamp=timestamp,
            step=step,
        )

    def test_the_latest_value_is_that_of_the_greatest_step(self) -> None:
        self.log("m", 1.0, 3000, 5)
        self.log("m", 2.0, 4000, 2)
        metric = self.data()["metrics"][0]
        self.assertEqual(metric, {"key": "m", "value": 1.0, "timestamp": 3000, "step": 5})

    def test_nan_and_infinity_come_back_as_mlflow_has_them(self) -> None:
        self.log("nan", "NaN", 1)
        self.log("inf", "Infinity", 1)
        values = {each["key"]: each["value"] for each in self.data()["metrics"]}
        self.assertEqual(values, {"nan": "NaN", "inf": 1.7976931348623157e308})

    def test_the_same_point_twice_is_one(self) -> None:
        for _ in range(3):
            self.log("m", 1.0, 1000, 1)
        self.log("m", 2.0, 1000, 1)
        history = self.get("metrics/get-history", run_id=self.run_id, metric_key="m")["metrics"]
        self.assertEqual([each["value"] for each in history], [1.0, 2.0])

    def test_a_history_comes_in_pages_by_time(self) -> None:
        points = [{"key": "m", "value": i, "timestamp": 1000 - i, "step": i} for i in range(10)]
        self.post("runs/log-batch", run_id=self.run_id, metrics=points)
        steps, token = [], ""
        while True:
            answer = self.get(
                "metrics/get-history",
                run_id=self.run_id,
                metric_key="m",
                max_results=4,
                page_token=token,
            )
            steps += [each["step"] for each in answer["metrics"]]
            token = answer.get("next_page_token", "")
            if not token:
                break
        self.assertEqual(steps, list(range(9, -1, -1)))
        self.assertEqual(self.get("metrics/get-history", run_id="none", metric_key="m"), {})

    def test_histories_of_many_runs_come_at_once(self) -> None:
        self.log("m", 1.0, 1000, 1)
        answer = self.get("metrics/get-history-bulk", run_id=[self.run_id], metric_key="m")
        self.assertEqual([each["run_id"] for each in answer["metrics"]], [self.run_id])

    def test_an_interval_keeps_the_last_point(self) -> None:
        points = [{"key": "m", "value": 1, "timestamp": 1, "step": i} for i in range(10)]
        self.post("runs/log-batch", run_id=self.run_id, metrics=points)
        answer = self.get(
            "metrics/get-history-bulk-interval",
            run_ids=[self.run_id],
            metric_key="m",
            max_results=5,
        )
        self.assertEqual([each["step"] for each in answer["metrics"]], [0, 2, 4, 6, 9])

    def test_a_parameter_is_set_once(self) -> None:
        self.post("runs/log-parameter", run_id=self.run_id, key="lr", value="1e-05")
        self.post("runs/log-parameter", run_id=self.run_id, key="lr", value="1e-05")
        message = self.refused(
            "runs/log-parameter", {"run_id": self.run_id, "key": "lr", "value": "0.1"}
        )
        self.assertEqual(
            message,
            "Changing param values is not allowed. Param with key='lr' was already logged with "
            f"value='1e-05' for run ID='{self.run_id}'. Attempted logging new value '0.1'.",
        )
        self.assertEqual(self.data()["params"], [{"key": "lr", "value": "1e-05"}])

    def test_a_batch_with_a_changed_parameter_changes_nothing(self) -> None:
        self.post("runs/log-parameter", run_id=self.run_id, key="p0", value="v")
        message = self.refused(
            "runs/log-batch",
            {
                "run_id": self.run_id,
                "params": [{"key": "p0", "value": "2"}],
                "tags": [{"key": "t", "value": "x"}],
                "metrics": [{"key": "m", "value": 1, "timestamp": 1}],
            },
        )
        self.assertEqual(
            message,
            "Changing param values is not allowed. Params were already logged='[{'key': 'p0', "
            f"'old_value': 'v', 'new_value': '2'}}]' for run ID='{self.run_id}'.",
        )
        data = self.data()
        self.assertNotIn("metrics", data)
        self.assertEqual([each["key"] for each in data["tags"]], ["mlflow.runName"])

    def test_texts_of_parameters_come_back_as_they_were(self) -> None:
        texts = [
            "0.10",
            "1e5",
            "True",
            "true",
            "None",
            "",
            "nan",
            "1.0",
            "[1, 2]",
            "\u00e9",
            "-0",
            "007",
        ]
        params = [{"key": f"p{i}", "value": text} for i, text in enumerate(texts)]
        self.post("runs/log-batch", run_id=self.run_id, params=params)
        back = {each["key"]: each["value"] for each in self.data()["params"]}
        self.assertEqual([back[f"p{i}"] for i in range(len(texts))], texts)

    def test_a_batch_is_not_endless(self) -> None:
        points = [{"key": "m", "value": 1, "timestamp": i} for i in range(1001)]
        message = self.refused("runs/log-batch", {"run_id": self.run_id, "metrics": points})
        self.assertTrue(message.startswith("A batch logging request can contain at most 1000 "))
        message = self.refused(
            "runs/log-batch",
            {
                "run_id": self.run_id,
                "params": [{"key": "d", "value": "1"}, {"key": "d", "value": "2"}],
            },
        )
        self.assertIn("Duplicate parameter keys have been submitted: ['d']", message)

    def test_long_values_are_cut_and_long_keys_refused(self) -> None:
        self.post("runs/set-tag", run_id=self.run_id, key="long", value="\u00e9" * 9000)
        tags = {each["key"]: each["value"] for each in self.data()["tags"]}
        self.assertEqual(len(tags["long"]), 8000)
        message = self.refused(
            "runs/log-metric",
            {"run_id": self.run_id, "key": "k" * 251, "value": 1, "timestamp": 1},
        )
        self.assertEqual(message, "'Metric name' exceeds the maximum length of 250 characters")


if __name__ == "__main__":
    main()
