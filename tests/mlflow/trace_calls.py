"""Calls about traces, over plain HTTP; contract.py runs them."""

import struct

from raw_calls import API, FILES, MlflowTest

TRACES = "/api/3.0/mlflow/traces"


class TraceTest(MlflowTest):
    def start(self, name: str, time: str) -> str:
        trace_id = f"tr-{name:0>32}"
        info = {
            "trace_id": trace_id,
            "trace_location": {
                "type": "MLFLOW_EXPERIMENT",
                "mlflow_experiment": {"experiment_id": self.experiment_id},
            },
            "request_time": time,
            "execution_duration": "0.145s",
            "state": "OK",
            "tags": {"mlflow.traceName": name},
        }
        answer = self.ask("POST", TRACES, {"trace": {"trace_info": info}})
        self.assertEqual(answer.status, 200, answer.body)
        return trace_id

    def setUp(self) -> None:
        self.experiment_id = self.experiment()
        self.first = self.start("1", "2026-11-15T15:01:43.577Z")
        self.second = self.start("2", "2026-11-15T15:01:44Z")

    def tearDown(self) -> None:
        for trace_id in (self.first, self.second):
            self.ask(
                "POST",
                TRACES + "/delete-traces",
                {"experiment_id": self.experiment_id, "request_ids": [trace_id]},
            )

    def found(self, text: str) -> list[str]:
        location = {
            "type": "MLFLOW_EXPERIMENT",
            "mlflow_experiment": {"experiment_id": self.experiment_id},
        }
        body = {"locations": [location], "filter": text}
        answer = self.ask("POST", TRACES + "/search", body).json
        return [each["trace_id"] for each in answer.get("traces", [])]

    def test_traces_are_found_by_tags_runs_and_times(self) -> None:
        self.assertEqual(self.found(""), [self.second, self.first])
        tags = f"{TRACES}/{self.first}/tags"
        self.ask("PATCH", tags, {"key": "k", "value": "v"})
        self.assertEqual(self.found("tags.k = 'v'"), [self.first])
        self.assertEqual(self.ask("DELETE", tags, {"key": "k"}).status, 200)
        self.assertEqual(self.found("tags.k = 'v'"), [])
        old = f"{API}traces/{self.first}/tags"
        self.ask("PATCH", old, {"key": "k", "value": "v"})
        self.assertEqual(self.ask("DELETE", old, {"key": "k"}).status, 200)
        run_id = self.run_of(self.experiment_id)
        self.post("traces/link-to-run", trace_ids=[self.second], run_id=run_id)
        self.assertEqual(self.found(f"attribute.run_id = '{run_id}'"), [self.second])
        self.assertEqual(self.found("timestamp_ms > 1794754903600"), [self.second])

    def test_a_trace_without_spans_is_read(self) -> None:
        whole = self.ask("GET", f"{TRACES}/get?trace_id={self.first}").json["trace"]
        self.assertEqual(whole["trace_info"]["execution_duration"], "0.145s")
        file = self.ask("GET", f"{API}get-trace-artifact?request_id={self.first}")
        self.assertEqual(file.json, {"spans": []})
        deleted = self.post(
            "traces/delete-traces",
            experiment_id=self.experiment_id,
            max_timestamp_millis=10**15,
            max_traces=1,
        )
        self.assertEqual(deleted, {"traces_deleted": 1})
        self.assertEqual(self.found(""), [self.second])

    def test_spans_that_are_none_are_refused(self) -> None:
        headers = {"Content-Type": "application/x-protobuf", "x-mlflow-experiment-id": "0"}
        self.assertEqual(self.ask("POST", "/v1/traces", b"\xff\xff\xff", headers).status, 400)
        self.assertEqual(self.ask("POST", "/v1/traces", b"", headers).status, 200)


def field(number: int, data: bytes) -> bytes:
    """A field of a protocol buffer that has a length; all here are shorter than 16384."""
    size = (
        bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    )
    return bytes([number << 3 | 2]) + size + data


def otlp_span(
    trace: str, number: int, name: str, times_ns: tuple[int, int], **attributes
) -> bytes:
    """A span as OpenTelemetry's exporters send it."""
    body = field(1, bytes.fromhex(trace)) + field(2, struct.pack(">Q", number))
    body += field(5, name.encode())
    for tag, time_ns in zip((0x39, 0x41), times_ns):
        body += bytes([tag]) + struct.pack("<Q", time_ns)
    for key, value in attributes.items():
        text = field(1, value.encode())
        body += field(9, field(1, key.replace("_", ".").encode()) + field(2, text))
    return field(1, field(2, field(2, body + field(15, b"\x18\x01"))))


class TraceNumberTest(MlflowTest):
    """Four traces: two of ann's session, one that failed, one of another day."""

    DAY_MS = 86_400_000
    START_MS = 1_794_700_800_000  # 2026-11-15T00:00:00Z

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        case = cls()
        cls.id = case.experiment()
        for name, day, seconds, state, session, tokens in [
            ("chat", 0, 1, "OK", "ann", 10),
            ("chat", 0, 3, "OK", "ann", 20),
            ("chat", 0, 8, "ERROR", "bob", None),
            ("tool", 1, 2, "OK", None, 5),
        ]:
            case.start(name, day, seconds, state, session, tokens)

    def start(self, name, day, seconds, state, session, tokens) -> None:
        metadata = {"mlflow.trace.session": session} if session else {}
        if tokens:
            metadata["mlflow.trace.tokenUsage"] = '{"input_tokens": %d}' % tokens
        info = {
            "trace_id": f"tr-{day}{seconds}",
            "trace_location": {"mlflow_experiment": {"experiment_id": self.id}},
            "request_time": f"2026-11-{15 + day}T12:00:00Z",
            "execution_duration": f"{seconds}s",
            "state": state,
            "tags": {"mlflow.traceName": name},
            "trace_metadata": metadata,
        }
        answer = self.ask("POST", TRACES, {"trace": {"trace_info": info}})
        self.assertEqual(answer.status, 200, answer.body)

    def points(self, metric: str, *kinds, status: int = 200, **fields) -> list:
        asked = [
            (
                {"aggregation_type": kind}
                if isinstance(kind, str)
                else {"aggregation_type": "PERCENTILE", "percentile_value": kind}
            )
            for kind in kinds
        ]
        fields = {"view_type": "TRACES", "experiment_ids": [self.id]} | fields
        body = {"metric_name": metric, "aggregations": asked, **fields}
        answer = self.ask("POST", TRACES + "/metrics", body)
        self.assertEqual(answer.status, status, answer.body)
        return [
            (tuple(each["dimensions"].values()), each["values"])
            for each in answer.json.get("data_points", [])
        ]

    def test_traces_are_counted_and_measured(self) -> None:
        self.assertEqual(
            self.points("trace_count", "COUNT", dimensions=["trace_status"]),
            [(("ERROR",), {"COUNT": 1}), (("OK",), {"COUNT": 3})],
        )
        self.assertEqual(self.points("session_count", "COUNT"), [((), {"COUNT": 2})])
        self.assertEqual(
            self.points("latency", "AVG", "MAX", 50, dimensions=["trace_name"]),
            [
                (("chat",), {"AVG": 4000, "MAX": 8000, "P50.0": 3000}),
                (("tool",), {"AVG": 2000, "MAX": 2000, "P50.0": 2000}),
            ],
        )
        self.assertEqual(
            self.points("input_tokens", "SUM", filters=["trace.tag.`mlflow.traceName` = 'chat'"]),
            [((), {"SUM": 30})],
        )

    def test_time_is_cut_into_stretches(self) -> None:
        days = {
            "time_interval_seconds": 86400,
            "start_time_ms": self.START_MS,
            "end_time_ms": self.START_MS + 2 * self.DAY_MS,
        }
        self.assertEqual(
            self.points("trace_count", "COUNT", **days),
            [
                (("2026-11-15T00:00:00+00:00",), {"COUNT": 3}),
                (("2026-11-16T00:00:00+00:00",), {"COUNT": 1}),
            ],
        )
        days["end_time_ms"] = self.START_MS + self.DAY_MS
        self.assertEqual(len(self.points("trace_count", "COUNT", **days)), 1)
        self.points("trace_count", "COUNT", status=400, time_interval_seconds=60)

    def test_spans_and_assessments_too(self) -> None:
        trace = "ab" * 16
        headers = {"Content-Type": "application/x-protobuf", "x-mlflow-experiment-id": self.id}
        start = (self.START_MS - self.DAY_MS) * 1_000_000
        spans = otlp_span(trace, 1, "root", (start, start + 7_000_000), mlflow_spanType="CHAIN")
        spans += otlp_span(
            trace,
            2,
            "ask",
            (start, start + 5_000_000),
            mlflow_spanType="LLM",
            mlflow_llm_model="m",
            mlflow_llm_cost='{"total_cost": 0.25}',
        )
        self.assertEqual(self.ask("POST", "/v1/traces", spans, headers).status, 200)
        view = {"view_type": "SPANS"}
        self.assertEqual(
            self.points("latency", "MAX", dimensions=["span_name"], **view),
            [(("ask",), {"MAX": 5}), (("root",), {"MAX": 7})],
        )
        self.assertEqual(
            self.points("span_count", "COUNT", filters=["span.type = 'LLM'"], **view),
            [((), {"COUNT": 1})],
        )
        self.assertEqual(
            self.points("total_cost", "SUM", dimensions=["span_model_name"], **view),
            [(("m",), {"SUM": 0.25})],
        )
        for value in (True, "no", 0.5):
            assessment = {
                "assessment_name": "good",
                "source": {"source_type": "HUMAN", "source_id": "ann"},
                "feedback": {"value": value},
            }
            path = f"{TRACES}/tr-{trace}/assessments"
            self.assertEqual(self.ask("POST", path, {"assessment": assessment}).status, 200)
        self.assertEqual(
            self.points("assessment_value", "AVG", "MIN", view_type="ASSESSMENTS"),
            [((), {"AVG": 0.5, "MIN": 0})],
        )
        body = {"experiment_id": self.id, "request_ids": [f"tr-{trace}"]}
        self.assertEqual(self.ask("POST", TRACES + "/delete-traces", body).status, 200)

    def test_what_cannot_be_asked_is_refused(self) -> None:
        for metric, kind, fields in [
            ("shoe_size", "COUNT", {}),
            ("trace_count", "SUM", {}),
            ("latency", "SUM", {}),
            ("latency", 101, {}),
            ("latency", "AVG", {"dimensions": ["trace_status"]}),
            ("latency", "AVG", {"filters": ["span.name = 'x'"]}),
            ("latency", "AVG", {"filters": ["trace.status > 'x'"]}),
            ("latency", "AVG", {"filters": ["trace.status = x"]}),
            ("latency", "AVG", {"filters": ["trace.status = 'a' AND trace.status = 'b'"]}),
            ("latency", "AVG", {"experiment_ids": []}),
        ]:
            with self.subTest(metric=metric, kind=kind, fields=fields):
                self.points(metric, kind, status=400, **fields)

    def test_filters_are_correlated(self) -> None:
        def correlation(first: str, second: str, **fields) -> dict:
            body = {"experiment_ids": [self.id], "filter_string1": first, **fields}
            path = TRACES + "/calculate-filter-correlation"
            answer = self.ask("POST", path, body | {"filter_string2": second})
            self.assertEqual(answer.status, 200, answer.body)
            return answer.json

        chat, ok = "tags.mlflow.traceName = 'chat'", "status = 'OK'"
        found = correlation(chat, ok)
        self.assertEqual(
            (found["total_count"], found["filter1_count"], found["filter2_count"]), (4, 3, 3)
        )
        self.assertEqual(found["joint_count"], 2)
        # log(2*4 / (3*3)) / -log(2/4)
        self.assertAlmostEqual(found["npmi"], -0.16992500144231237)
        found = correlation(chat, ok, base_filter="execution_time_ms < 5000")
        self.assertEqual((found["total_count"], found["joint_count"]), (3, 2))
        self.assertNotIn("npmi", correlation(chat, "status = 'IN_PROGRESS'"))
        body = {"experiment_ids": [self.id], "filter_string1": "no.such = 1", "filter_string2": ok}
        answer = self.ask("POST", TRACES + "/calculate-filter-correlation", body)
        self.assertEqual(answer.status, 400)


class LegacyTraceTest(MlflowTest):
    """The calls of clients before MLflow 3."""

    def test_a_trace_is_begun_and_ended(self) -> None:
        experiment = self.experiment()

        def pairs(**words) -> list[dict]:
            return [{"key": key, "value": value} for key, value in words.items()]

        begun = self.post(
            "traces",
            experiment_id=experiment,
            timestamp_ms=1000,
            request_metadata=pairs(a="apple", b="grape"),
            tags=pairs(game="football"),
        )["trace_info"]
        trace_id = begun["request_id"]
        self.assertEqual((begun["status"], begun["execution_time_ms"]), ("IN_PROGRESS", 0))
        answer = self.ask(
            "PATCH",
            f"{API}traces/{trace_id}",
            {
                "timestamp_ms": 3000,
                "status": "OK",
                "request_metadata": pairs(a="orange"),
                "tags": pairs(team="red"),
            },
        )
        ended = answer.json["trace_info"]
        self.assertEqual(
            (ended["timestamp_ms"], ended["execution_time_ms"], ended["status"]),
            (1000, 2000, "OK"),
        )
        self.assertEqual(
            {each["key"]: each["value"] for each in ended["request_metadata"]},
            {"a": "orange", "b": "grape"},
        )
        self.assertEqual(self.get(f"traces/{trace_id}/info"), {"trace_info": ended})
        found = self.get("traces", experiment_ids=[experiment], filter="tags.team = 'red'")
        self.assertEqual(found, {"traces": [ended]})
        newer = self.ask("GET", f"{TRACES}/{trace_id}").json["trace"]["trace_info"]
        self.assertEqual((newer["state"], newer["execution_duration"]), ("OK", "2.000s"))
        location = {each["key"]: each["value"] for each in ended["tags"]}[
            "mlflow.artifactLocation"
        ]
        self.assertEqual(location, f"mlflow-artifacts:/{experiment}/traces/{trace_id}/artifacts")
        place = f"{FILES}/{experiment}/traces/{trace_id}/artifacts/traces.json"
        self.assertEqual(self.ask("PUT", place, b'{"spans": [1]}').status, 200)
        file = self.ask("GET", f"{API}get-trace-artifact?request_id={trace_id}")
        self.assertEqual(file.json, {"spans": [1]})
        self.assertEqual(self.ask("GET", f"{API}traces/none/info").status, 404)
        self.refused("traces", {"experiment_id": "999999"}, 404)
