"""Calls about issues, evaluation datasets, scorers and assessments, over plain HTTP; contract.py
runs them."""

import json

from raw_calls import API, MlflowTest

V3 = "/api/3.0/mlflow/"


class ObjectTest(MlflowTest):
    def call(self, method: str, path: str, status: int = 200, /, *, headers=None, **fields):
        answer = self.ask(method, V3 + path, fields if method != "GET" else None, headers)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json


class IssueTest(ObjectTest):
    def setUp(self) -> None:
        self.id = self.experiment()

    def issue(self, name: str, **fields) -> str:
        made = self.call(
            "POST", "issues", experiment_id=self.id, name=name, description="d", **fields
        )
        return made["issue"]["issue_id"]

    def names(self, **fields) -> list[str]:
        found = self.call("POST", "issues/search", experiment_id=self.id, **fields)
        return [each["name"] for each in found.get("issues", [])]

    def test_an_issue_is_made_read_and_changed(self) -> None:
        issue = self.issue("slow", root_causes=["a", "b"], created_by="ann", severity="low")
        self.assertRegex(issue, "^iss-[0-9a-f]{32}$")
        changed = self.call(
            "PATCH", f"issues/{issue}", issue_id=issue, status="resolved", severity="high"
        )["issue"]
        self.assertEqual(self.call("GET", f"issues/{issue}"), {"issue": changed})
        self.assertGreaterEqual(
            changed.pop("last_updated_timestamp"), changed.pop("created_timestamp")
        )
        self.assertEqual(
            changed,
            {
                "issue_id": issue,
                "experiment_id": self.id,
                "name": "slow",
                "description": "d",
                "status": "resolved",
                "severity": "high",
                "root_causes": ["a", "b"],
                "created_by": "ann",
            },
        )

    def test_searches_filter_page_and_put_the_worst_first(self) -> None:
        for name, fields in [
            ("a", {"severity": "low"}),
            ("b", {"status": "resolved"}),
            ("c", {"severity": "high", "source_run_id": "r1"}),
        ]:
            self.issue(name, **fields)
        self.assertEqual(self.names(), ["c", "a", "b"])
        self.assertEqual(self.names(filter_string="status = 'resolved'"), ["b"])
        self.assertEqual(
            self.names(filter_string="status != 'resolved' AND source_run_id = 'r1'"), ["c"]
        )
        first = self.call("POST", "issues/search", experiment_id=self.id, max_results=2)
        self.assertEqual(self.names(page_token=first["next_page_token"]), ["b"])
        self.assertEqual(
            self.call("POST", "issues/search", experiment_id="999"), {"next_page_token": ""}
        )

    def test_what_is_wrong_is_refused(self) -> None:
        self.call("GET", "issues/iss-0", 404)
        self.call("PATCH", "issues/iss-0", 404, name="x")
        self.call("POST", "issues", 404, experiment_id="999", name="n", description="d")
        for wrong in ({"status": "lost"}, {"severity": "vast"}, {"name": ""}):
            fields = {"experiment_id": self.id, "name": "n", "description": "d"} | wrong
            self.call("POST", "issues", 400, **fields)
        for text in ("name = 'x'", "status LIKE 'r%'", "status ="):
            self.call("POST", "issues/search", 400, filter_string=text)


class EvaluationDatasetTest(ObjectTest):
    def setUp(self) -> None:
        self.ids = [self.experiment(), self.experiment()]

    def make(self, name: str, ids: list[str], **tags) -> str:
        made = self.call(
            "POST", "datasets/create", name=name, experiment_ids=ids, tags=json.dumps(tags)
        )
        return made["dataset"]["dataset_id"]

    def put(self, dataset: str, *records) -> tuple[int, int]:
        answer = self.call("POST", f"datasets/{dataset}/records", records=json.dumps(records))
        return answer["inserted_count"], answer["updated_count"]

    def records(self, dataset: str, query: str = "") -> list[dict]:
        return json.loads(self.call("GET", f"datasets/{dataset}/records{query}")["records"])

    def names(self, **fields) -> list[str]:
        found = self.call("POST", "datasets/search", **fields)
        return [each["name"] for each in found.get("datasets", [])]

    def test_a_dataset_is_tagged_shared_and_thrown_away(self) -> None:
        dataset = self.make("qa", self.ids[:1], team="ml")
        path = f"datasets/{dataset}"
        self.call("PATCH", path + "/tags", tags=json.dumps({"team": "web", "n": 1}))
        self.call("DELETE", path + "/tags/n")
        self.call("DELETE", path + "/tags/n")
        shown = self.call("GET", path)["dataset"]
        self.assertEqual((shown["name"], json.loads(shown["tags"])), ("qa", {"team": "web"}))
        self.assertRegex(shown["digest"], "^[0-9a-f]{8}$")
        self.call("POST", path + "/add-experiments", experiment_ids=self.ids)
        self.assertEqual(self.call("GET", path + "/experiment-ids"), {"experiment_ids": self.ids})
        left = self.call("POST", path + "/remove-experiments", experiment_ids=self.ids[:1])
        self.assertEqual(left["dataset"]["experiment_ids"], self.ids[1:])
        self.call("POST", path + "/add-experiments", 404, experiment_ids=["999"])
        self.call("DELETE", path)
        self.call("DELETE", path)
        for call in ("", "/records", "/experiment-ids"):
            self.call("GET", path + call, 404)
        self.call("POST", path + "/records", 404, records="[]")

    def test_records_are_known_by_their_inputs(self) -> None:
        dataset = self.make("qa", self.ids)
        first = {"inputs": {"q": "a", "n": 1}, "expectations": {"x": "y"}, "tags": {"t": "1"}}
        source = {"source_type": "TRACE", "source_data": {"trace_id": "tr-1"}}
        self.assertEqual(
            self.put(dataset, first, {"inputs": {"q": "b"}, "source": source}), (2, 0)
        )
        again = {"inputs": {"n": 1, "q": "a"}, "expectations": {"z": 2.5}, "outputs": [1]}
        self.assertEqual(self.put(dataset, again, {"inputs": {"q": "c"}}), (1, 1))
        records = self.records(dataset)
        self.assertEqual([each["inputs"]["q"] for each in records], ["a", "b", "c"])
        self.assertEqual(records[0]["expectations"], {"x": "y", "z": 2.5})
        self.assertEqual((records[0]["outputs"], records[0]["tags"]), ([1], {"t": "1"}))
        self.assertEqual((records[1]["source"], records[1]["source_id"]), (source, "tr-1"))
        shown = self.call("GET", f"datasets/{dataset}")["dataset"]
        self.assertEqual(json.loads(shown["profile"]), {"num_records": 3})
        self.assertEqual(
            json.loads(shown["schema"]),
            {
                "inputs": {"q": "string", "n": "integer"},
                "outputs": "array",
                "expectations": {"x": "string", "z": "float"},
                "version": "1.0",
            },
        )
        page = self.call("GET", f"datasets/{dataset}/records?max_results=2")
        rest = self.records(dataset, f"?page_token={page['next_page_token']}")
        self.assertEqual([each["inputs"] for each in rest], [{"q": "c"}])
        gone = [records[0]["dataset_record_id"], "dr-0"]
        deleted = self.call("DELETE", f"datasets/{dataset}/records", dataset_record_ids=gone)
        self.assertEqual(deleted, {"deleted_count": 1})
        self.assertEqual(len(self.records(dataset)), 2)
        for wrong in ("{}", "[1]", '[{"inputs": 1}]', "no json"):
            self.call("POST", f"datasets/{dataset}/records", 400, records=wrong)

    def test_searches_filter_and_order(self) -> None:
        self.make("b", self.ids[:1], team="ml")
        self.make("a", self.ids, team="web")
        both = {"experiment_ids": self.ids}
        self.assertEqual(self.names(order_by=["name"], **both), ["a", "b"])
        self.assertEqual(self.names(order_by=["name DESC"], **both), ["b", "a"])
        self.assertEqual(self.names(experiment_ids=self.ids[1:]), ["a"])
        self.assertEqual(self.names(filter_string="tags.team = 'ml'", **both), ["b"])
        self.assertEqual(self.names(filter_string="name LIKE 'a%'", **both), ["a"])
        self.assertEqual(self.names(filter_string="created_time < 5", **both), [])
        page = self.call("POST", "datasets/search", max_results=1, order_by=["name"], **both)
        token = page["next_page_token"]
        self.assertEqual(self.names(order_by=["name"], page_token=token, **both), ["b"])
        asked = self.call("GET", f"datasets/search?experiment_ids={self.ids[1]}")
        self.assertEqual([each["name"] for each in asked["datasets"]], ["a"])
        for wrong in ({"filter_string": "size = 1"}, {"order_by": ["tags.team"]}):
            self.call("POST", "datasets/search", 400, **wrong)


class ScorerTest(ObjectTest):
    def test_versions_count_up_and_are_thrown_away(self) -> None:
        experiment = self.experiment()
        of_it = {"experiment_id": experiment, "name": "s"}
        query = f"?experiment_id={experiment}&name=s"
        for number in (1, 2):
            text = json.dumps({"name": f"v{number}"})
            made = self.call("POST", "scorers/register", serialized_scorer=text, **of_it)
            self.assertEqual((made["version"], made["serialized_scorer"]), (number, text))
        listed = self.call("GET", f"scorers/list?experiment_id={experiment}")["scorers"]
        self.assertEqual([each["scorer_version"] for each in listed], [2])
        self.assertEqual(self.call("GET", f"scorers/get{query}"), {"scorer": listed[0]})
        first = self.call("GET", f"scorers/get{query}&version=1")["scorer"]
        self.assertEqual(first["serialized_scorer"], '{"name": "v1"}')
        self.call("GET", f"scorers/get{query}&version=3", 404)
        self.call("DELETE", "scorers/delete", version=1, **of_it)
        self.call("DELETE", "scorers/delete", 404, version=1, **of_it)
        versions = self.call("GET", f"scorers/versions{query}")["scorers"]
        self.assertEqual([each["scorer_version"] for each in versions], [2])
        self.call("DELETE", "scorers/delete", **of_it)
        self.assertEqual(self.call("GET", f"scorers/list?experiment_id={experiment}"), {})
        self.call("GET", f"scorers/get{query}", 404)

    def test_source_that_readers_would_run_is_refused(self) -> None:
        of_it = {"experiment_id": self.experiment(), "name": "s"}
        too_deep = '{"a":' * 100_000 + "1" + "}" * 100_000
        for text in ('{"call_source": "import os"}', "no json", "[]", too_deep):
            self.call("POST", "scorers/register", 400, serialized_scorer=text, **of_it)
        text = '{"instructions_judge_pydantic_data": {"model": "gateway:/e"}}'
        self.call("POST", "scorers/register", 404, serialized_scorer=text, **of_it)


class AssessmentTest(ObjectTest):
    def setUp(self) -> None:
        self.id = self.experiment()
        self.trace = f"tr-{self.id:0>32}"
        self.start()

    def start(self) -> None:
        location = {
            "type": "MLFLOW_EXPERIMENT",
            "mlflow_experiment": {"experiment_id": self.id},
        }
        info = {"trace_id": self.trace, "trace_location": location, "state": "OK"}
        info["request_time"] = "2026-11-15T15:01:43.577Z"
        self.call("POST", "traces", trace={"trace_info": info})

    def make(self, **fields) -> dict:
        source = {"source_type": "HUMAN", "source_id": "ann"}
        made = self.call(
            "POST", f"traces/{self.trace}/assessments", assessment={"source": source} | fields
        )
        return made["assessment"]

    def get(self, made: dict, status: int = 200) -> dict:
        path = f"traces/{self.trace}/assessments/{made['assessment_id']}"
        return self.call("GET", path, status).get("assessment", {})

    def test_an_assessment_is_made_changed_and_part_of_its_trace(self) -> None:
        made = self.make(
            assessment_name="good", feedback={"value": {"rating": 4}}, metadata={"a": "1"}
        )
        changed = {"feedback": {"value": 5}, "metadata": {"b": "2"}, "rationale": "not meant"}
        self.call(
            "PATCH",
            f"traces/{self.trace}/assessments/{made['assessment_id']}",
            assessment=changed,
            update_mask="feedback,metadata",
        )
        now = self.get(made)
        self.assertEqual((now["feedback"], now["metadata"]), ({"value": 5}, {"a": "1", "b": "2"}))
        self.assertNotIn("rationale", now)
        self.start()  # the client tells of the trace again when it has ended
        whole = self.call("GET", f"traces/get?trace_id={self.trace}")["trace"]
        self.assertEqual(whole["trace_info"]["assessments"], [now])

    def test_one_that_overrides_another_stands_for_it_until_it_goes(self) -> None:
        first = self.make(assessment_name="good", feedback={"value": True})
        second = self.make(
            assessment_name="good", feedback={"value": False}, overrides=first["assessment_id"]
        )
        self.assertEqual((self.get(first)["valid"], self.get(second)["valid"]), (False, True))
        gone = f"traces/{self.trace}/assessments/{second['assessment_id']}"
        self.call("DELETE", gone)
        self.call("DELETE", gone)
        self.get(second, 404)
        self.assertTrue(self.get(first)["valid"])

    def test_values_that_are_not_plain_are_texts_of_json(self) -> None:
        made = self.make(assessment_name="ms", expectation={"value": {"most": 10}})
        text = made["expectation"]["serialized_value"]
        self.assertEqual(text["serialization_format"], "JSON_FORMAT")
        self.assertEqual(json.loads(text["value"]), {"most": 10})
        plain = self.make(assessment_name="ms", expectation={"value": 3})
        self.assertEqual(plain["expectation"], {"value": 3})

    def test_issues_count_the_traces_that_name_them(self) -> None:
        issue = self.call("POST", "issues", experiment_id=self.id, name="n", description="d")
        name = issue["issue"]["issue_id"]
        for _ in range(2):
            self.make(assessment_name=name, issue={"issue_name": "n"})
        found = self.call("POST", "issues/search", experiment_id=self.id, include_trace_count=True)
        self.assertEqual(found["issues"][0]["trace_count"], 1)

    def test_what_is_wrong_is_refused(self) -> None:
        path = f"traces/{self.trace}/assessments"
        good = {"assessment_name": "good", "feedback": {"value": 1}}
        self.call("POST", path, 400, assessment={"assessment_name": "empty"})
        self.call("POST", path, 404, assessment=good | {"overrides": "a-0"})
        self.call("POST", "traces/tr-none/assessments", 404, assessment=good)
        made = self.make(**good)
        self.call(
            "PATCH",
            f"{path}/{made['assessment_id']}",
            400,
            assessment={"expectation": {"value": 1}},
            update_mask="expectation",
        )


class ObjectLoginTest(ObjectTest):
    options = ("--auth",)

    def test_a_token_for_one_project_sees_what_belongs_to_it(self) -> None:
        admin = self.admin()
        ids, mine = self.two_projects("write")
        issues, sets = {}, {}
        for name, of in (("mine", ids[:1]), ("theirs", ids[1:]), ("both", ids)):
            sets[name] = self.call(
                "POST", "datasets/create", headers=admin, name=name, experiment_ids=of
            )["dataset"]["dataset_id"]
        for name, of in zip(("mine", "theirs"), ids):
            issues[name] = self.call(
                "POST", "issues", headers=admin, experiment_id=of, name=name, description="d"
            )["issue"]["issue_id"]
        found = self.call("POST", "issues/search", headers=mine)
        self.assertEqual([each["name"] for each in found["issues"]], ["mine"])
        self.call("GET", f"issues/{issues['theirs']}", 403, headers=mine)
        found = self.call("POST", "datasets/search", headers=mine, order_by=["name"])
        self.assertEqual([each["name"] for each in found["datasets"]], ["both", "mine"])
        self.call("GET", f"datasets/{sets['theirs']}", 404, headers=mine)
        self.call("DELETE", f"datasets/{sets['both']}", 403, headers=mine)
        self.call("POST", "datasets/create", 403, headers=mine, name="n", experiment_ids=ids)
        self.call("POST", "datasets/create", 403, headers=mine, name="n")
        self.call("DELETE", f"datasets/{sets['mine']}", headers=mine)
