"""MLflow's GenAI half is not kept: each of its calls says so; contract.py runs them."""

from raw_calls import MlflowTest

# What mlflow 3.17's server routes for them (mlflow.server.handlers.get_endpoints() and its FastAPI
# routers), below /api and /ajax-api.
CALLS = {
    "traces": """
        POST /2.0/mlflow/traces
        GET /2.0/mlflow/traces
        PATCH /2.0/mlflow/traces/t1
        GET /2.0/mlflow/traces/t1/info
        PATCH /2.0/mlflow/traces/t1/tags
        DELETE /2.0/mlflow/traces/t1/tags
        POST /2.0/mlflow/traces/delete-traces
        POST /2.0/mlflow/traces/link-prompts
        POST /2.0/mlflow/traces/link-to-run
        GET /2.0/mlflow/unified-traces
        GET /2.0/mlflow/get-online-trace-details
        GET /2.0/mlflow/get-trace-artifact
        GET /3.0/mlflow/get-trace-artifact
        POST /3.0/mlflow/traces
        GET /3.0/mlflow/traces/t1
        POST /3.0/mlflow/traces/t1/assessments
        GET /3.0/mlflow/traces/t1/assessments/a1
        PATCH /3.0/mlflow/traces/t1/assessments/a1
        DELETE /3.0/mlflow/traces/t1/assessments/a1
        PATCH /3.0/mlflow/traces/t1/tags
        DELETE /3.0/mlflow/traces/t1/tags
        GET /3.0/mlflow/traces/batchGet
        POST /3.0/mlflow/traces/batchGetInfos
        POST /3.0/mlflow/traces/calculate-filter-correlation
        POST /3.0/mlflow/traces/delete-traces
        GET /3.0/mlflow/traces/get
        POST /3.0/mlflow/traces/metrics
        POST /3.0/mlflow/traces/search
    """,
    "evaluation datasets": """
        POST /3.0/mlflow/datasets/create
        GET /3.0/mlflow/datasets/search
        POST /3.0/mlflow/datasets/search
        GET /3.0/mlflow/datasets/d1
        DELETE /3.0/mlflow/datasets/d1
        POST /3.0/mlflow/datasets/d1/add-experiments
        GET /3.0/mlflow/datasets/d1/experiment-ids
        GET /3.0/mlflow/datasets/d1/records
        POST /3.0/mlflow/datasets/d1/records
        DELETE /3.0/mlflow/datasets/d1/records
        POST /3.0/mlflow/datasets/d1/remove-experiments
        PATCH /3.0/mlflow/datasets/d1/tags
        DELETE /3.0/mlflow/datasets/d1/tags/k
    """,
    "evaluations": """
        POST /3.0/mlflow/genai/evaluate/invoke
    """,
    "endpoints and their secrets": """
        GET /2.0/mlflow/gateway-proxy
        POST /2.0/mlflow/gateway-proxy
        POST /3.0/mlflow/gateway/budgets/create
        GET /3.0/mlflow/gateway/budgets/windows
        POST /3.0/mlflow/gateway/endpoints/create
        DELETE /3.0/mlflow/gateway/endpoints/delete
        GET /3.0/mlflow/gateway/endpoints/list
        POST /3.0/mlflow/gateway/endpoints/bindings/create
        POST /3.0/mlflow/gateway/endpoints/models/attach
        PATCH /3.0/mlflow/gateway/guardrails/update-config
        POST /3.0/mlflow/gateway/model-definitions/create
        GET /3.0/mlflow/gateway/provider-config
        GET /3.0/mlflow/gateway/secrets/config
        POST /3.0/mlflow/gateway/secrets/create
        GET /3.0/mlflow/gateway/secrets/list
        GET /3.0/mlflow/gateway/supported-models
        GET /3.0/mlflow/gateway/supported-providers
    """,
    "issues": """
        POST /3.0/mlflow/issues
        POST /3.0/mlflow/issues/invoke
        POST /3.0/mlflow/issues/search
        GET /3.0/mlflow/issues/i1
        PATCH /3.0/mlflow/issues/i1
    """,
    "label schemas": """
        POST /3.0/mlflow/label-schemas/create
        GET /3.0/mlflow/label-schemas/list
        PATCH /3.0/mlflow/label-schemas/update
        DELETE /3.0/mlflow/label-schemas/delete
    """,
    "review queues": """
        POST /3.0/mlflow/review-queues/create
        GET /3.0/mlflow/review-queues/items/list
    """,
    "scorers": """
        POST /3.0/mlflow/scorer/invoke
        POST /3.0/mlflow/scorers/register
        GET /3.0/mlflow/scorers/list
        GET /3.0/mlflow/scorers/versions
        GET /3.0/mlflow/scorers/get
        DELETE /3.0/mlflow/scorers/delete
        PUT /3.0/mlflow/scorers/online-config
        GET /3.0/mlflow/scorers/online-configs
    """,
    "prompts that were tried": """
        POST /2.0/mlflow/runs/create-promptlab-run
    """,
    "prompt optimizations": """
        POST /3.0/mlflow/prompt-optimization/jobs
        GET /3.0/mlflow/prompt-optimization/jobs/j1
        DELETE /3.0/mlflow/prompt-optimization/jobs/j1
        POST /3.0/mlflow/prompt-optimization/jobs/j1/cancel
        POST /3.0/mlflow/prompt-optimization/jobs/search
    """,
}


class GenAiTest(MlflowTest):
    def refusal(self, method: str, path: str, body=None, headers=None) -> str:
        """The message; the form is the one that MLflow's clients read."""
        answer = self.ask(method, path, body, headers)
        self.assertEqual(answer.status, 501, answer.body)
        self.assertEqual(answer.json["error_code"], "NOT_IMPLEMENTED")
        return answer.json["message"]

    def test_each_call_says_that_it_is_not_kept(self) -> None:
        for kind, calls in CALLS.items():
            for method, path in (line.split() for line in calls.strip().splitlines()):
                for prefix in ("/api", "/ajax-api"):
                    with self.subTest(method=method, path=prefix + path):
                        body = None if method == "GET" else {}
                        self.assertEqual(
                            self.refusal(method, prefix + path, body),
                            f"kedge tracks trainings: {kind} are not kept here",
                        )

    def test_spans_in_opentelemetrys_own_form_too(self) -> None:
        headers = {"Content-Type": "application/x-protobuf", "x-mlflow-experiment-id": "0"}
        message = self.refusal("POST", "/v1/traces", b"\x0a\x00", headers)
        self.assertEqual(message, "kedge tracks trainings: traces are not kept here")

    def test_names_that_only_begin_alike_are_unknown(self) -> None:
        for path in ("/api/3.0/mlflow/tracesque", "/api/3.0/mlflow/issues-of-mine/1"):
            self.assertEqual(self.ask("GET", path).status, 404)
