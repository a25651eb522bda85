"""MLflow's GraphQL documents, over plain HTTP; contract.py runs them."""

from raw_calls import API, MlflowTest


class GraphqlCase(MlflowTest):
    def graphql(self, query: str, headers=None, **variables) -> dict:
        body = {"query": query, "variables": variables}
        answer = self.ask("POST", "/graphql", body, headers)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json


class GraphqlTest(GraphqlCase):
    def data(self, query: str, **variables) -> dict:
        answer = self.graphql(query, **variables)
        self.assertIsNone(answer["errors"])
        return answer["data"]

    def log(self, run_id: str, key: str, value, step: int) -> None:
        self.post(
            "runs/log-metric", run_id=run_id, key=key, value=value, timestamp=step, step=step
        )

    def test_a_run_with_its_experiment_and_versions(self) -> None:
        experiment = self.experiment()
        name = self.get("experiments/get", experiment_id=experiment)["experiment"]["name"]
        run_id = self.run_of(experiment, run_name="asked", start_time=1000)
        self.log(run_id, "loss", 0.5, 3)
        self.log(run_id, "bad", "NaN", 4)
        self.post("runs/log-parameter", run_id=run_id, key="lr", value="0.1")
        self.post("registered-models/create", name="asked")
        self.post("model-versions/create", name="asked", source="runs:/x/m", run_id=run_id)
        run = self.data(
            """query Q($id: String) @component(name: "Test") { mlflowGetRun(input: {runId: $id}) {
                 apiError { code }
                 run { ...Parts experiment { name tags { key } } modelVersions { name version } }
               } }
               fragment Parts on MlflowRun {
                 info { runName status startTime endTime experimentId }
                 data { metrics { key value timestamp step } params { key value } }
                 inputs { datasetInputs { dataset { name } } }
               }""",
            id=run_id,
        )["mlflowGetRun"]
        self.assertEqual(
            run,
            {
                "apiError": None,
                "run": {
                    "info": {
                        "runName": "asked",
                        "status": "RUNNING",
                        "startTime": "1000",
                        "endTime": "0",
                        "experimentId": experiment,
                    },
                    "data": {
                        "metrics": [
                            {"key": "bad", "value": None, "timestamp": "4", "step": "4"},
                            {"key": "loss", "value": 0.5, "timestamp": "3", "step": "3"},
                        ],
                        "params": [{"key": "lr", "value": "0.1"}],
                    },
                    "inputs": {"datasetInputs": []},
                    "experiment": {"name": name, "tags": []},
                    "modelVersions": [{"name": "asked", "version": "1"}],
                },
            },
        )
        found = self.data(
            """{ mlflowSearchModelVersions(input: {filter: "name = 'asked'", maxResults: 5}) {
                 modelVersions { name currentStage aliases creationTimestamp } } }"""
        )["mlflowSearchModelVersions"]["modelVersions"]
        self.assertEqual([each["aliases"] for each in found], [[]])
        self.assertRegex(found[0]["creationTimestamp"], "^[0-9]{13}$")

    def test_searches_curves_files_and_data(self) -> None:
        experiment = self.experiment()
        runs = [self.run_of(experiment, run_name=f"r{i}", start_time=i) for i in (1, 2, 3)]
        for step in range(4):
            self.log(runs[0], "m", step * step, step)
        search = """mlflowSearchRuns(input: {experimentIds: [$id], maxResults: 2,
                      orderBy: ["attributes.start_time ASC"], runViewType: ACTIVE_ONLY}) {
                      runs { info { runName } } nextPageToken }"""
        for kind in ("query", "mutation"):
            found = self.data(f"{kind} Q($id: String) {{ {search} }}", id=experiment)
            names = [each["info"]["runName"] for each in found["mlflowSearchRuns"]["runs"]]
            self.assertEqual(names, ["r1", "r2"])
            self.assertTrue(found["mlflowSearchRuns"]["nextPageToken"])
        curve = self.data(
            """query Q($ids: [String]) { mlflowGetMetricHistoryBulkInterval(input: {
                 runIds: $ids, metricKey: "m", startStep: 1, endStep: 2}) {
                 metrics { runId step value } } }""",
            ids=runs,
        )["mlflowGetMetricHistoryBulkInterval"]["metrics"]
        self.assertEqual(
            curve,
            [
                {"runId": runs[0], "step": "1", "value": 1},
                {"runId": runs[0], "step": "2", "value": 4},
            ],
        )
        path = f"/api/2.0/mlflow-artifacts/artifacts/{experiment}/{runs[0]}/artifacts/d/a.txt"
        self.assertEqual(self.ask("PUT", path, b"hello").status, 200)
        files = self.data(
            """query Q($id: String) { top: mlflowListArtifacts(input: {runId: $id}) {
                 files { path isDir fileSize } }
                 sub: mlflowListArtifacts(input: {runId: $id, path: "d"}) {
                 files { path isDir fileSize } } }""",
            id=runs[0],
        )
        self.assertEqual(files["top"]["files"], [{"path": "d", "isDir": True, "fileSize": "0"}])
        self.assertEqual(
            files["sub"]["files"], [{"path": "d/a.txt", "isDir": False, "fileSize": "5"}]
        )
        dataset = {"name": "d", "digest": "1", "source_type": "local", "source": "{}"}
        self.post("runs/log-inputs", run_id=runs[1], datasets=[{"dataset": dataset}])
        found = self.data(
            """mutation Q($id: String) { mlflowSearchDatasets(input: {experimentIds: [$id]}) {
                 datasetSummaries { experimentId name digest context } } }""",
            id=experiment,
        )["mlflowSearchDatasets"]["datasetSummaries"]
        self.assertEqual(
            found, [{"experimentId": experiment, "name": "d", "digest": "1", "context": ""}]
        )

    def test_a_field_that_fails_is_null_and_says_why(self) -> None:
        experiment = self.experiment()
        answer = self.graphql(
            """query Q($id: String) {
                 lost: mlflowGetRun(input: {runId: "none"}) { run { info { runId } } }
                 found: mlflowGetExperiment(input: {experimentId: $id}) {
                   experiment { experimentId } } }""",
            id=experiment,
        )
        self.assertEqual(answer["errors"], ["Run with id=none not found"])
        self.assertIsNone(answer["data"]["lost"])
        self.assertEqual(answer["data"]["found"]["experiment"]["experimentId"], experiment)
        wrong = self.graphql("{ mlflowGetRun(input: {}) { shoe } }")
        self.assertEqual(
            wrong,
            {
                "data": None,
                "errors": ['Cannot query field "shoe" on type "MlflowGetRunResponse".'],
            },
        )

    def test_the_limits_are_those_of_mlflow(self) -> None:
        echo = 'test(inputString: "x") { output }'
        self.assertEqual(self.data(f"{{ {echo} }}"), {"test": {"output": "x"}})
        many = "{" + " ".join(f"k{i}: {echo}" for i in range(11)) + "}"
        answer = self.graphql(many)
        self.assertIn("at most 10 root fields, got 11", answer["errors"][0])
        self.assertIsNone(answer["data"])

    def test_wandb_is_still_at_the_same_address(self) -> None:
        answer = self.ask("POST", "/graphql", {"query": "{ viewer { username } }"})
        self.assertEqual(answer.json, {"data": {"viewer": {"username": "kedge"}}})


class GraphqlLoginTest(GraphqlCase):
    options = ("--auth",)

    def test_a_key_for_one_project_sees_no_other(self) -> None:
        admin = self.admin()
        ids, mine = self.two_projects("view")
        query = """query Q($id: String) { mlflowGetExperiment(input: {experimentId: $id}) {
                     experiment { name } } }"""
        seen = self.graphql(query, mine, id=ids[0])["data"]["mlflowGetExperiment"]
        self.assertEqual(seen, {"experiment": {"name": "mine"}})
        hidden = self.graphql(query, mine, id=ids[1])
        self.assertIsNone(hidden["data"]["mlflowGetExperiment"])
        self.assertEqual(len(hidden["errors"]), 1)
        versions = "{ mlflowSearchModelVersions(input: {}) { modelVersions { name } } }"
        self.assertIsNone(self.graphql(versions, mine)["data"]["mlflowSearchModelVersions"])
        self.assertIsNone(self.graphql(versions, admin)["errors"])
        self.assertEqual(self.ask("POST", "/graphql", {"query": versions}).status, 401)
