#!/usr/bin/env python3
"""What docs/reference/mlflow.md promises, asked of a real `kedge server` over plain HTTP.

Needs no mlflow: the requests are those that its clients send. With bad input too.

Usage: contract.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

import json
import socket

from model_calls import LoggedModelTest, MoreRegistryTest, TraceTest, UserTest  # noqa: F401
from raw_calls import API, FILES, MlflowTest, main


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


class SearchTest(MlflowTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        self = cls("found")
        cls.experiment_id = self.experiment()
        for i in range(6):
            run_id = self.run_of(cls.experiment_id, run_name=f"r{i}", start_time=1000 + i)
            self.post(
                "runs/log-batch",
                run_id=run_id,
                metrics=[{"key": "loss", "value": "NaN" if i == 5 else i / 10, "timestamp": 1}],
                params=[{"key": "lr", "value": str(10**-i)}],
                tags=[{"key": "team", "value": "Red" if i % 2 else "blue"}],
            )
        bare = self.run_of(cls.experiment_id, run_name="bare", start_time=1)
        self.post("runs/update", run_id=bare, status="FAILED", end_time=2000)

    def test_filters_find_what_they_say(self) -> None:
        cases = {
            "metrics.loss < 0.2": ["r1", "r0"],
            "metrics.loss != 0": ["r5", "r4", "r3", "r2", "r1"],
            "params.lr = '0.01'": ["r2"],
            "params.lr LIKE '0.%1' AND tags.team = 'Red'": ["r3", "r1"],
            "tags.team ILIKE 'RED' and metrics.loss >= 0.3": ["r3"],
            "tags.team IS NULL": ["bare"],
            "params.lr IS NOT NULL AND attributes.start_time <= 1001": ["r1", "r0"],
            "status = 'FAILED'": ["bare"],
            "end_time != 5": ["bare"],
            "run_name LIKE 'r%' AND start_time > 1003": ["r5", "r4"],
            "tags.`mlflow.runName` = 'r4'": ["r4"],
            "user_id = 'bob'": [],
        }
        for text, names in cases.items():
            with self.subTest(filter=text):
                self.assertEqual(self.found(self.experiment_id, text), names)

    def test_orders_put_missing_values_last(self) -> None:
        cases = {
            "metrics.loss ASC": ["r0", "r1", "r2", "r3", "r4", "r5", "bare"],
            "metrics.loss DESC": ["r4", "r3", "r2", "r1", "r0", "r5", "bare"],
            "tags.team": ["r5", "r3", "r1", "r4", "r2", "r0", "bare"],
            "start_time ASC": ["bare", "r0", "r1", "r2", "r3", "r4", "r5"],
        }
        for order, names in cases.items():
            with self.subTest(order=order):
                self.assertEqual(self.found(self.experiment_id, "", order_by=[order]), names)

    def test_pages_are_whole_and_in_order(self) -> None:
        names, token = [], ""
        while True:
            answer = self.post(
                "runs/search",
                experiment_ids=[self.experiment_id],
                max_results=3,
                page_token=token,
            )
            names += [each["info"]["run_name"] for each in answer["runs"]]
            token = answer.get("next_page_token", "")
            if not token:
                break
        self.assertEqual(names, ["r5", "r4", "r3", "r2", "r1", "r0", "bare"])

    def test_a_search_of_nothing_is_empty(self) -> None:
        self.assertEqual(self.post("runs/search", experiment_ids=[]), {})
        self.assertEqual(self.post("runs/search", experiment_ids=["99999"]), {})


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


class RegistryTest(MlflowTest):
    def test_a_model_goes_its_way(self) -> None:
        self.post("registered-models/create", name="net")
        for number in (1, 2):
            version = self.post("model-versions/create", name="net", source="s3://b/m", run_id="r")
            self.assertEqual(version["model_version"]["version"], str(number))
        self.post(
            "model-versions/transition-stage",
            name="net",
            version="1",
            stage="production",
            archive_existing_versions=False,
        )
        moved = self.post(
            "model-versions/transition-stage",
            name="net",
            version="2",
            stage="Production",
            archive_existing_versions=True,
        )
        self.assertEqual(moved["model_version"]["current_stage"], "Production")
        first = self.get("model-versions/get", name="net", version="1")["model_version"]
        self.assertEqual(first["current_stage"], "Archived")
        self.post("registered-models/alias", name="net", alias="champion", version="2")
        found = self.get("registered-models/alias", name="net", alias="champion")
        self.assertEqual(found["model_version"]["aliases"], ["champion"])
        self.ask("DELETE", API + "model-versions/delete", {"name": "net", "version": "2"})
        third = self.post("model-versions/create", name="net", source="s3://b/m")
        self.assertEqual(third["model_version"]["version"], "3")
        models = self.get(
            "registered-models/search",
            filter="name LIKE 'n%' AND tag.`mlflow.prompt.is_prompt` != 'true'",
        )
        self.assertEqual([each["name"] for each in models["registered_models"]], ["net"])

    def test_a_source_that_leads_elsewhere_is_refused(self) -> None:
        self.post("registered-models/create", name="careful")
        for source in ("/etc", "file:///etc", "s3://b/../../x", "http://h/a/..%2f..%2fb"):
            message = self.refused("model-versions/create", {"name": "careful", "source": source})
            self.assertTrue(message.startswith("Invalid model version source"), message)


class LoginTest(MlflowTest):
    options = ("--auth",)

    def test_nobody_gets_in_without_a_password(self) -> None:
        answer = self.ask("GET", API + "experiments/get?experiment_id=0")
        self.assertEqual(answer.status, 401)
        self.assertEqual(answer.headers["WWW-Authenticate"], 'Basic realm="mlflow"')
        self.assertEqual(self.ask("GET", "/api/3.0/mlflow/server-info").status, 200)

    def test_a_token_is_a_bearer_of_rights(self) -> None:
        token = (self.folder / "data/admin-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        answer = self.ask("GET", API + "experiments/get?experiment_id=0", headers=headers)
        self.assertEqual(answer.status, 200)

    def test_a_token_for_one_project_sees_one_experiment(self) -> None:
        token = (self.folder / "data/admin-token").read_text().strip()
        admin = {"Authorization": f"Bearer {token}"}
        ids = [
            self.ask("POST", API + "experiments/create", {"name": name}, admin).json[
                "experiment_id"
            ]
            for name in ("mine", "theirs")
        ]
        grant = {"name": "one", "scopes": ["write"], "project": "mine"}
        secret = self.ask("POST", "/api/v1/tokens", grant, admin).json["token"]
        mine = {"Authorization": f"Bearer {secret}"}
        made = self.ask("POST", API + "runs/create", {"experiment_id": ids[0]}, mine)
        self.assertEqual(made.status, 200, made.body)
        other = self.ask("POST", API + "runs/create", {"experiment_id": ids[1]}, mine)
        self.assertEqual((other.status, other.json["error_code"]), (403, "PERMISSION_DENIED"))
        seen = self.ask("POST", API + "experiments/search", {"max_results": 10}, mine).json
        self.assertEqual([each["name"] for each in seen["experiments"]], ["mine"])
        for call in ("model-versions/search", "registered-models/search", "users/list"):
            self.assertEqual(self.ask("GET", API + call, headers=mine).status, 403, call)


if __name__ == "__main__":
    main()
