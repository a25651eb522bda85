"""Calls about the gateway's secrets, models and endpoints, over plain HTTP; contract.py runs
them."""

import json
import os

from evaluation_calls import ObjectTest

PASSPHRASE = "MLFLOW_CRYPTO_KEK_PASSPHRASE"


class GatewayTest(ObjectTest):
    passphrase = "a passphrase that nobody else has"

    @classmethod
    def setUpClass(cls) -> None:
        before = os.environ.pop(PASSPHRASE, None)
        if cls.passphrase:
            os.environ[PASSPHRASE] = cls.passphrase
        super().setUpClass()
        os.environ.pop(PASSPHRASE, None)
        if before is not None:
            os.environ[PASSPHRASE] = before

    def gateway(self, method: str, path: str, status: int = 200, /, **fields) -> dict:
        return self.call(method, "gateway/" + path, status, **fields)

    def secret(self, name: str, **values) -> str:
        made = self.gateway(
            "POST", "secrets/create", secret_name=name, secret_value=values, provider="openai"
        )
        return made["secret"]["secret_id"]

    def model(self, name: str, secret: str) -> str:
        made = self.gateway(
            "POST",
            "model-definitions/create",
            name=name,
            secret_id=secret,
            provider="openai",
            model_name="gpt-4",
        )
        return made["model_definition"]["model_definition_id"]

    def endpoint(self, name: str, *models: str, **fields) -> dict:
        configs = [{"model_definition_id": each, "linkage_type": "PRIMARY"} for each in models]
        made = self.gateway("POST", "endpoints/create", name=name, model_configs=configs, **fields)
        return made["endpoint"]


class GatewaySecretTest(GatewayTest):
    def test_a_secret_is_masked_and_nowhere_in_the_clear(self) -> None:
        secret = self.secret("aws", id="AKIATEST1234", key="a-very-secret-value", short="tiny")
        shown = self.gateway("GET", f"secrets/get?secret_id={secret}")["secret"]
        self.assertEqual(
            shown["masked_values"], {"id": "AKI...1234", "key": "a-v...alue", "short": "***"}
        )
        updated = self.gateway(
            "POST",
            "secrets/update",
            secret_id=secret,
            secret_value={"key": "another-secret-value"},
            auth_config={"region": "x"},
        )["secret"]
        self.assertEqual(updated["masked_values"], {"key": "ano...alue"})
        self.assertEqual(self.gateway("GET", "secrets/get?secret_name=aws"), {"secret": updated})
        for path in (self.folder / "data").rglob("*"):
            if path.is_file():
                for text in (b"a-very-secret-value", b"another-secret-value"):
                    self.assertNotIn(text, path.read_bytes(), path)
        self.gateway("POST", "secrets/create", 400, secret_name="aws", secret_value={"k": "v"})
        self.gateway("DELETE", "secrets/delete", secret_id=secret)
        self.gateway("GET", f"secrets/get?secret_id={secret}", 404)

    def test_endpoints_name_models_and_who_uses_them(self) -> None:
        secret = self.secret("one", k="v")
        first, second = self.model("m1", secret), self.model("m2", secret)
        made = self.endpoint("e", first, routing_strategy="REQUEST_BASED_TRAFFIC_SPLIT")
        shown = self.gateway("GET", "endpoints/get?name=e")["endpoint"]
        self.assertEqual(shown, made)
        self.assertEqual(shown["model_mappings"][0]["model_definition"]["secret_name"], "one")
        experiment = self.get("experiments/get", experiment_id=shown["experiment_id"])
        self.assertEqual(experiment["experiment"]["name"], "gateway/e")
        of_it = {"endpoint_id": made["endpoint_id"]}
        config = {"model_definition_id": second, "linkage_type": "FALLBACK", "fallback_order": 1}
        self.gateway("POST", "endpoints/models/attach", model_config=config, **of_it)
        self.gateway("POST", "endpoints/models/attach", 400, model_config=config, **of_it)
        self.gateway("POST", "endpoints/set-tag", key="k", value="v", **of_it)
        listed = self.gateway("GET", "endpoints/list?provider=openai")["endpoints"]
        self.assertEqual(
            [[each["linkage_type"] for each in point["model_mappings"]] for point in listed],
            [["PRIMARY", "FALLBACK"]],
        )
        self.assertEqual(listed[0]["tags"], [{"key": "k", "value": "v"}])
        self.gateway("DELETE", "endpoints/delete-tag", key="k", **of_it)
        text = '{"instructions_judge_pydantic_data": {"model": "gateway:/e"}}'
        judge = {"experiment_id": self.experiment(), "name": "j", "serialized_scorer": text}
        self.assertEqual(self.call("POST", "scorers/register", **judge)["version"], 1)
        self.gateway("DELETE", "model-definitions/delete", 400, model_definition_id=second)
        self.gateway("POST", "endpoints/models/detach", model_definition_id=second, **of_it)
        self.gateway("DELETE", "model-definitions/delete", model_definition_id=second)
        for resource in ("a", "b"):
            self.gateway(
                "POST",
                "endpoints/bindings/create",
                resource_type="scorer",
                resource_id=resource,
                **of_it,
            )
        bound = self.gateway("GET", "endpoints/bindings/list?resource_id=b")["bindings"]
        self.assertEqual([each["resource_id"] for each in bound], ["b"])
        self.gateway(
            "DELETE",
            "endpoints/bindings/delete",
            resource_type="scorer",
            resource_id="b",
            **of_it,
        )
        fallback = {"strategy": "SEQUENTIAL", "max_attempts": 3}
        changed = self.gateway(
            "POST", "endpoints/update", name="f", fallback_config=fallback, **of_it
        )["endpoint"]
        self.assertEqual((changed["name"], changed["fallback_config"]), ("f", fallback))
        self.gateway("DELETE", "secrets/delete", secret_id=secret)
        orphan = self.gateway("GET", "model-definitions/get?name=m1")["model_definition"]
        self.assertNotIn("secret_id", orphan)
        self.gateway(
            "POST", "model-definitions/update", model_definition_id=first, model_name="gpt-5"
        )
        names = self.gateway("GET", "model-definitions/list")["model_definitions"]
        self.assertEqual([each["model_name"] for each in names], ["gpt-5"])
        self.gateway("DELETE", "endpoints/delete", **of_it)
        self.assertEqual(self.gateway("GET", "endpoints/bindings/list"), {})
        self.gateway("GET", "endpoints/get?name=f", 404)

    def test_what_is_wrong_is_refused(self) -> None:
        config = {"model_definition_id": "d-0", "linkage_type": "PRIMARY"}
        self.gateway("POST", "endpoints/create", 404, name="e", model_configs=[config])
        self.gateway("POST", "endpoints/create", 400, name="a/b", model_configs=[config])
        self.gateway("POST", "endpoints/create", 400, name="e", model_configs=[])
        self.gateway("GET", "endpoints/get", 400)
        self.gateway("POST", "secrets/create", 400, secret_name="s", secret_value={"k": 1})
        self.gateway("POST", "secrets/create", 400, secret_name="s")

    def test_the_config_says_that_secrets_are_kept(self) -> None:
        config = self.gateway("GET", "secrets/config")
        self.assertEqual(config, {"secrets_available": True, "using_default_passphrase": False})


class ProviderTest(GatewayTest):
    def test_companies_and_models_are_offered(self) -> None:
        providers = self.gateway("GET", "supported-providers")["providers"]
        self.assertEqual(providers, sorted(providers))
        self.assertLess({"anthropic", "bedrock", "openai"}, set(providers))
        found = self.gateway("GET", "supported-models?provider=openai")["models"]
        self.assertEqual({each["provider"] for each in found}, {"openai"})
        self.assertEqual({each["mode"] for each in found}, {"chat", "embedding"})
        # What somebody defined here is offered, too.
        self.gateway(
            "POST",
            "model-definitions/create",
            name="own",
            secret_id=self.secret("own", key="value-of-it"),
            provider="house",
            model_name="house-1",
        )
        self.assertIn("house", self.gateway("GET", "supported-providers")["providers"])
        found = self.gateway("GET", "supported-models?provider=house")["models"]
        self.assertEqual(found, [{"model": "house-1", "provider": "house", "mode": None}])

    def test_a_form_knows_what_to_ask_for(self) -> None:
        def names(mode: dict, kind: str) -> list[str]:
            return [each["name"] for each in mode[kind]]

        simple = self.gateway("GET", "provider-config?provider=anything")
        self.assertEqual(simple["default_mode"], "api_key")
        self.assertEqual(names(simple["auth_modes"][0], "secret_fields"), ["api_key"])
        self.assertEqual(names(simple["auth_modes"][0], "config_fields"), ["api_base"])
        modes = self.gateway("GET", "provider-config?provider=bedrock")["auth_modes"]
        self.assertEqual([each["mode"] for each in modes], ["api_key", "access_keys", "iam_role"])
        self.assertEqual(
            names(modes[1], "secret_fields"), ["aws_access_key_id", "aws_secret_access_key"]
        )
        self.gateway("GET", "provider-config", 400)


class GatewayScorerTest(GatewayTest):
    def setUp(self) -> None:
        self.id = self.experiment()
        self.name = f"judge-{self.id}"
        model = self.model(f"m-{self.id}", self.secret(f"s-{self.id}", key="value-of-it"))
        self.endpoint_id = self.endpoint(self.name, model)["endpoint_id"]
        text = json.dumps({"instructions_judge_pydantic_data": {"model": f"gateway:/{self.name}"}})
        made = self.call(
            "POST", "scorers/register", experiment_id=self.id, name="s", serialized_scorer=text
        )
        self.scorer_id = made["scorer_id"]

    def judge(self) -> str | None:
        shown = self.call("GET", f"scorers/get?experiment_id={self.id}&name=s")["scorer"]
        scorer = json.loads(shown["serialized_scorer"])
        return scorer["instructions_judge_pydantic_data"]["model"]

    def test_a_scorer_goes_with_its_endpoint(self) -> None:
        self.assertEqual(self.judge(), f"gateway:/{self.name}")
        new = self.name + "-2"
        self.gateway("POST", "endpoints/update", endpoint_id=self.endpoint_id, name=new)
        self.assertEqual(self.judge(), f"gateway:/{new}")
        self.gateway("DELETE", "endpoints/delete", endpoint_id=self.endpoint_id)
        self.assertIsNone(self.judge())

    def online(self, status: int = 200, **fields) -> dict:
        fields = {"experiment_id": self.id, "name": "s"} | fields
        return self.call("PUT", "scorers/online-config", status, **fields)

    def configs(self) -> list[dict]:
        return self.call("GET", f"scorers/online-configs?scorer_ids={self.scorer_id}")["configs"]

    def test_how_much_a_scorer_is_to_score_is_kept(self) -> None:
        self.assertEqual(self.configs(), [])
        first = self.online(sample_rate=0.5, filter_string="status = 'OK'")["config"]
        self.assertEqual(
            (first["scorer_id"], first["sample_rate"], first["filter_string"]),
            (self.scorer_id, 0.5, "status = 'OK'"),
        )
        second = self.online(sample_rate=1, filter_string=None)["config"]
        self.assertNotIn("filter_string", second)
        self.assertEqual(self.configs(), [second])
        self.online(400, sample_rate=1.5)
        self.online(400, sample_rate=0.5, filter_string="no such thing")
        self.online(404, sample_rate=0.5, name="none")
        text = json.dumps({"name": "without a judge"})
        fields = {"experiment_id": self.id, "name": "plain", "serialized_scorer": text}
        self.call("POST", "scorers/register", **fields)
        self.online(400, sample_rate=0.5, name="plain")
        self.online(200, sample_rate=0, name="plain")
        self.call("DELETE", "scorers/delete", experiment_id=self.id, name="s")
        self.assertEqual(self.configs(), [])


class NoPassphraseTest(GatewayTest):
    passphrase = ""

    def test_without_a_passphrase_no_secret_is_taken(self) -> None:
        self.assertFalse(self.gateway("GET", "secrets/config")["secrets_available"])
        answer = self.gateway(
            "POST", "secrets/create", 400, secret_name="s", secret_value={"k": "v"}
        )
        self.assertIn(PASSPHRASE, answer["message"])
        self.assertEqual(self.gateway("GET", "secrets/list"), {})
