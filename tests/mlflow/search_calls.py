"""Searches for runs, over plain HTTP; contract.py runs them."""

from raw_calls import MlflowTest


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
