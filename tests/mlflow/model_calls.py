"""Calls about models, users and logging in, over plain HTTP; contract.py runs them."""

import os

from raw_calls import API, MlflowTest


class LoggedModelTest(MlflowTest):
    def setUp(self) -> None:
        self.experiment_id = self.experiment()
        made = self.post(
            "logged-models",
            experiment_id=self.experiment_id,
            name="net",
            params=[{"key": "depth", "value": "3"}],
        )["model"]
        self.model = made["info"]
        self.path = f"{API}logged-models/{self.model['model_id']}"

    def get_model(self) -> dict:
        return self.ask("GET", self.path).json["model"]

    def test_a_model_is_made_ready_tagged_and_thrown_away(self) -> None:
        self.assertEqual(self.model["status"], "LOGGED_MODEL_PENDING")
        self.assertRegex(self.model["model_id"], "^m-[0-9a-f]{32}$")
        done = self.ask("PATCH", self.path, {"status": "LOGGED_MODEL_READY"}).json["model"]
        self.assertEqual(done["info"]["status"], "LOGGED_MODEL_READY")
        self.ask("PATCH", self.path + "/tags", {"tags": [{"key": "a", "value": "b"}]})
        self.ask("POST", self.path + "/params", {"params": [{"key": "k", "value": "v"}]})
        model = self.get_model()
        self.assertEqual(model["info"]["tags"], [{"key": "a", "value": "b"}])
        self.assertEqual([each["key"] for each in model["data"]["params"]], ["depth", "k"])
        self.assertEqual(self.ask("DELETE", self.path + "/tags/a").status, 200)
        gone = self.ask("DELETE", self.path + "/tags/a")
        self.assertEqual(gone.status, 404)
        self.assertIn("No tag with key 'a' found for model", gone.json["message"])
        self.assertEqual(self.ask("DELETE", self.path).status, 200)
        self.assertEqual(self.ask("GET", self.path).status, 404)
        self.assertEqual(self.ask("GET", self.path + "?allow_deleted=true").status, 200)

    def test_its_files_are_listed_and_read(self) -> None:
        place = self.model["artifact_uri"].removeprefix("mlflow-artifacts:/")
        file = f"/api/2.0/mlflow-artifacts/artifacts/{place}/MLmodel"
        self.assertEqual(self.ask("PUT", file, b"flavors: {}").status, 200)
        listed = self.ask("GET", self.path + "/artifacts/directories").json
        self.assertEqual(listed["root_uri"], self.model["artifact_uri"])
        self.assertEqual([each["path"] for each in listed["files"]], ["MLmodel"])
        read = self.ask("GET", self.path + "/artifacts/files?artifact_file_path=MLmodel")
        self.assertEqual(read.body, b"flavors: {}")

    def test_a_bad_name_is_refused(self) -> None:
        message = self.refused(
            "logged-models", {"experiment_id": self.experiment_id, "name": "a/b"}
        )
        self.assertTrue(message.startswith("Invalid model name ('a/b') provided."), message)

    def test_metrics_of_a_model_are_its_own_too(self) -> None:
        run_id = self.run_of(self.experiment_id)
        metric = {"key": "acc", "value": 0.5, "timestamp": 1, "model_id": self.model["model_id"]}
        for _ in range(2):
            self.post("runs/log-batch", run_id=run_id, metrics=[metric])
        self.assertEqual(len(self.get_model()["data"]["metrics"]), 1)
        found = self.post(
            "logged-models/search",
            experiment_ids=[self.experiment_id],
            filter="metrics.acc >= 0.5",
            order_by=[{"field_name": "metrics.acc", "ascending": False}],
        )
        self.assertEqual(len(found["models"]), 1)


class MoreRegistryTest(MlflowTest):
    def delete(self, call: str, **fields) -> None:
        self.assertEqual(self.ask("DELETE", API + call, fields).status, 200)

    def patch(self, call: str, **fields) -> dict:
        answer = self.ask("PATCH", API + call, fields)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def test_descriptions_and_tags_change(self) -> None:
        self.post("registered-models/create", name="m")
        self.post("model-versions/create", name="m", source="s3://b/m")
        changed = self.patch("registered-models/update", name="m", description="d")
        self.assertEqual(changed["registered_model"]["description"], "d")
        changed = self.patch("model-versions/update", name="m", version="1", description="v")
        self.assertEqual(changed["model_version"]["description"], "v")
        self.post("registered-models/set-tag", name="m", key="k", value="v")
        self.post("model-versions/set-tag", name="m", version="1", key="k", value="v")
        model = self.get("registered-models/get", name="m")["registered_model"]
        self.assertEqual(model["tags"], [{"key": "k", "value": "v"}])
        self.assertEqual(model["latest_versions"][0]["tags"], [{"key": "k", "value": "v"}])
        self.delete("registered-models/delete-tag", name="m", key="k")
        self.delete("model-versions/delete-tag", name="m", version="1", key="k")
        self.post("registered-models/alias", name="m", alias="a", version="1")
        self.delete("registered-models/alias", name="m", alias="a")
        model = self.get("registered-models/get", name="m")["registered_model"]
        self.assertFalse({"tags", "aliases"} & set(model))
        latest = self.get("registered-models/get-latest-versions", name="m")
        self.assertEqual([each["version"] for each in latest["model_versions"]], ["1"])
        uri = self.get("model-versions/get-download-uri", name="m", version="1")
        self.assertEqual(uri, {"artifact_uri": "s3://b/m"})
        missing = self.ask("GET", API + "registered-models/alias?name=m&alias=zz")
        self.assertEqual(missing.json["message"], "Registered model alias zz not found.")


class UserTest(MlflowTest):
    options = ("--auth",)

    def asked(self, method: str, call: str, body=None, status: int = 200) -> dict:
        answer = self.ask(method, API + call, body, self.admin())
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def test_users_come_and_go(self) -> None:
        secret = {"username": "ann", "password": "a long enough one"}
        made = self.asked("POST", "users/create", secret)["user"]
        self.assertEqual((made["username"], made["is_admin"]), ("ann", False))
        self.asked("POST", "users/create", secret, 400)
        self.asked("POST", "users/create", {"username": "bob", "password": "short"}, 400)
        self.asked("PATCH", "users/update-admin", {"username": "ann", "is_admin": True})
        self.assertTrue(self.asked("GET", "users/get?username=ann")["user"]["is_admin"])
        self.asked(
            "PATCH", "users/update-password", {"username": "ann", "password": "another long one"}
        )
        names = [each["username"] for each in self.asked("GET", "users/list")["users"]]
        self.assertEqual(sorted(names), ["admin", "ann"])
        self.assertEqual(self.asked("GET", "users/current")["user"]["username"], "admin")
        self.asked("DELETE", "users/delete", {"username": "ann"})
        self.asked("GET", "users/get?username=ann", status=404)


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


class SourceTest(MlflowTest):
    VARIABLE = "MLFLOW_CREATE_MODEL_VERSION_SOURCE_VALIDATION_REGEX"

    @classmethod
    def setUpClass(cls) -> None:
        os.environ[cls.VARIABLE] = "^mlflow-artifacts:/.*$"
        try:
            super().setUpClass()
        finally:
            del os.environ[cls.VARIABLE]

    def test_only_sources_that_match_become_versions(self) -> None:
        self.post("registered-models/create", name="m")
        fields = {"name": "m", "source": "s3://path/to/model"}
        message = self.refused("model-versions/create", fields)
        self.assertEqual(message, "Invalid model version source: 's3://path/to/model'.")
        run_id = self.run_of(self.experiment())
        uri = self.get("runs/get", run_id=run_id)["run"]["info"]["artifact_uri"]
        self.post("model-versions/create", name="m", source=f"{uri}/model", run_id=run_id)


class LoginTest(MlflowTest):
    options = ("--auth",)

    def test_nobody_gets_in_without_a_password(self) -> None:
        answer = self.ask("GET", API + "experiments/get?experiment_id=0")
        self.assertEqual(answer.status, 401)
        self.assertEqual(answer.headers["WWW-Authenticate"], 'Basic realm="mlflow"')
        self.assertEqual(self.ask("GET", "/api/3.0/mlflow/server-info").status, 200)

    def test_a_token_is_a_bearer_of_rights(self) -> None:
        path = API + "experiments/get?experiment_id=0"
        answer = self.ask("GET", path, headers=self.admin())
        self.assertEqual(answer.status, 200)

    def test_a_token_for_one_project_sees_one_experiment(self) -> None:
        ids, mine = self.two_projects("write")
        made = self.ask("POST", API + "runs/create", {"experiment_id": ids[0]}, mine)
        self.assertEqual(made.status, 200, made.body)
        other = self.ask("POST", API + "runs/create", {"experiment_id": ids[1]}, mine)
        self.assertEqual((other.status, other.json["error_code"]), (403, "PERMISSION_DENIED"))
        seen = self.ask("POST", API + "experiments/search", {"max_results": 10}, mine).json
        self.assertEqual([each["name"] for each in seen["experiments"]], ["mine"])
        for call in ("model-versions/search", "registered-models/search", "users/list"):
            self.assertEqual(self.ask("GET", API + call, headers=mine).status, 403, call)
