"""One request gets at most a bounded answer: too much is refused, or comes in pages."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import ServerCase  # noqa: E402

MIB = 1 << 20
MOST_POINTS = 2_000_000
MOST_BYTES = 64 * MIB
POINTS = 20_000  # of one curve


class BoundedAnswers(ServerCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        case = cls()
        case.ask("POST", "/api/v1/runs/p", {"id": "long"})
        points = [{"key": "x", "step": step, "value": step} for step in range(POINTS)]
        answer = case.ask("POST", "/api/v1/runs/p/long/log", {"points": points})
        assert answer.status == 200, answer.body

    def series(self, count: int, points: int):
        """The same curve, again and again: cheap to make, and as long an answer as any."""
        body = {
            "runs": [{"project": "p", "id": "long"}] * count,
            "keys": ["x"],
            "points": points,
        }
        return self.ask("POST", "/api/v1/series", body)

    def test_series_are_bounded_in_all_and_not_one_by_one(self):
        fine = self.series(MOST_POINTS // POINTS - 1, 0)
        self.assertEqual(fine.status, 200)
        self.assertEqual(sum(len(each["x"]) for each in fine.json["series"]), MOST_POINTS - POINTS)
        for points in (0, 100_000):
            answer = self.series(MOST_POINTS // POINTS + 1, points)
            self.assertEqual(answer.status, 400)
            self.assertIn("2000000 points", answer.json["error"]["message"])
        self.assertEqual(self.series(4000, 400).status, 200)

    def test_records_end_where_the_answer_is_full(self):
        self.ask("POST", "/api/v1/runs/p", {"id": "records"})
        text = "x" * (10 * MIB)
        for step in range(9):
            record = {"type": "text", "key": "t", "step": step, "body": {"text": text}}
            answer = self.ask("POST", "/api/v1/runs/p/records/records", {"records": [record]})
            self.assertEqual(answer.status, 200)
        answer = self.ask("GET", "/api/v1/runs/p/records/records?limit=10000")
        self.assertLess(len(answer.body), MOST_BYTES + 11 * MIB)
        self.assertTrue(answer.json["cut"])
        steps = [record["step"] for record in answer.json["records"]]
        self.assertEqual(steps, list(range(9 - len(steps), 9)))  # the newest
        rest = self.ask("GET", f"/api/v1/runs/p/records/records?to_step={steps[0] - 1}&limit=10000")
        self.assertEqual([r["step"] for r in rest.json["records"]], list(range(steps[0])))
        self.assertFalse(rest.json["cut"])

    def test_a_console_comes_in_pages(self):
        self.ask("POST", "/api/v1/runs/p", {"id": "console"})
        for _ in range(9):
            lines = {"lines": ["y" * (10 * MIB)]}
            answer = self.ask("POST", "/api/v1/runs/p/console/console", lines)
            self.assertEqual(answer.status, 200)
        seen, sizes = [], []
        while len(seen) < 9:
            path = f"/api/v1/runs/p/console/console?from={len(seen)}&limit=100000"
            answer = self.ask("GET", path)
            sizes.append(len(answer.body))
            self.assertEqual(answer.json["total"], 9)
            self.assertGreater(len(answer.json["lines"]), 0)
            seen += [line["n"] for line in answer.json["lines"]]
        self.assertEqual(seen, list(range(9)))
        self.assertLess(max(sizes), MOST_BYTES + 11 * MIB)

    def test_runs_are_bounded_by_their_bytes_too(self):
        config = {"text": "z" * (8 * MIB)}
        for run in range(9):
            made = self.ask("POST", "/api/v1/runs/big", {"id": f"r{run}", "config": config})
            self.assertEqual(made.status, 201)
        answer = self.ask("POST", "/api/v1/runs/search", {"project": "big", "limit": 10000})
        self.assertEqual(answer.status, 400)
        self.assertIn("64 MiB", answer.json["error"]["message"])
        fewer = {"project": "big", "limit": 5}
        self.assertEqual(self.ask("POST", "/api/v1/runs/search", fewer).status, 200)
        names = {"project": "big", "limit": 10000, "fields": []}
        self.assertEqual(len(self.ask("POST", "/api/v1/runs/search", names).json["runs"]), 9)

    def graphql(self, fields: str) -> dict:
        query = f'{{project(name: "p", entityName: "e") {{run(name: "w") {{{fields}}}}}}}'
        return self.ask("POST", "/graphql", {"query": query}).json

    def test_wandb_history_is_bounded_over_all_fields_of_a_query(self):
        self.ask("POST", "/api/v1/runs/p", {"id": "w"})
        rows = [json.dumps({"_step": step, "t": "v" * 1000}) for step in range(20_000)]
        files = {"wandb-history.jsonl": {"offset": 0, "content": rows}}
        answer = self.ask("POST", "/files/e/p/w/file_stream", {"files": files})
        self.assertEqual(answer.status, 200)
        one = self.graphql("history(minStep: 0, maxStep: 100000)")
        self.assertEqual(len(one["data"]["project"]["run"]["history"]), 20_000)
        many = " ".join(f"a{i}: history(samples: 1000000)" for i in range(8))
        self.assertIn("64 MiB", json.dumps(self.graphql(many).get("errors")))
        spec = json.dumps(json.dumps({"keys": ["t"], "samples": 10**9}))
        specs = ", ".join([spec] * 8)
        sampled = self.graphql(f"sampledHistory(specs: [{specs}])")
        self.assertIn("64 MiB", json.dumps(sampled.get("errors")))

    def test_mlflow_history_comes_in_pages(self):
        base = "/api/2.0/mlflow"
        made = self.ask("POST", f"{base}/runs/create", {"experiment_id": "0"}).json
        run = made["run"]["info"]["run_id"]
        for part in range(30):
            metrics = [
                {"key": "m", "value": 1.0, "timestamp": 1, "step": part * 1000 + i}
                for i in range(1000)
            ]
            body = {"run_id": run, "metrics": metrics}
            self.assertEqual(self.ask("POST", f"{base}/runs/log-batch", body).status, 200)
        path = f"{base}/metrics/get-history?run_id={run}&metric_key=m"
        first = self.ask("GET", path).json
        self.assertEqual(len(first["metrics"]), 25_000)
        rest = self.ask("GET", f"{path}&page_token={first['next_page_token']}").json
        self.assertEqual(len(rest["metrics"]), 5_000)
        self.assertNotIn("next_page_token", rest)


if __name__ == "__main__":
    unittest.main()
