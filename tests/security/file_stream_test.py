"""A request to W&B's file_stream is taken wholly or not at all."""

import http.client
import json
import pathlib
import random
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import ServerCase  # noqa: E402

KILLS = 12


def body_of(row: int) -> bytes:
    """One line for each of the four files; they all tell the same number."""
    history = json.dumps({"_step": row, "x": row})
    event = json.dumps({"_timestamp": 1.0e9 + row, "system.cpu": row})
    files = {
        "wandb-history.jsonl": {"offset": row, "content": [history]},
        "wandb-events.jsonl": {"offset": row, "content": [event]},
        "wandb-summary.json": {"offset": 0, "content": [json.dumps({"best": row})]},
        "output.log": {"offset": row, "content": [f"line {row}"]},
    }
    return json.dumps({"files": files}).encode()


class FileStream(ServerCase):
    def make(self, run: str) -> str:
        self.ask("POST", "/api/v1/runs/p", {"id": run})
        return f"/files/e/p/{run}/file_stream"

    def taken(self, run: str) -> dict[str, int]:
        """How many lines of each file are there."""
        base = f"/api/v1/runs/p/{run}"
        metrics = self.ask("GET", base + "/metrics").json["metrics"]
        counts = {each["key"]: each["count"] for each in metrics}
        summary = self.ask("GET", base).json["summary"].get("best", {}).get("last")
        return {
            "history": counts.get("x", 0),
            "events": counts.get("system.cpu", counts.get("cpu", 0)),
            "console": self.ask("GET", base + "/console").json["total"],
            "summary": 0 if summary is None else summary + 1,
        }

    def test_a_request_with_one_bad_part_leaves_nothing(self):
        path = self.make("bad")
        for name, bad in {
            "output.log": {"offset": 1 << 60, "content": ["far away"]},
            "wandb-summary.json": {"offset": 0, "content": ["[1, 2]"]},
            "wandb-events.jsonl": {"offset": 0, "content": [7]},
        }.items():
            body = json.loads(body_of(0))
            body["files"][name] = bad
            self.assertEqual(self.ask("POST", path, body).status, 400, name)
            taken = self.taken("bad")
            self.assertEqual(set(taken.values()), {0}, f"{name}: {taken}")

    def test_a_kill_leaves_all_of_a_request_or_nothing(self):
        path = self.make("killed")
        row = 0
        chance = random.Random(7)
        for _ in range(KILLS):
            done = threading.Event()
            sent = [row]

            def send():
                connection = self.connect()
                try:
                    while not done.is_set():
                        connection.request("POST", path, body_of(sent[0]))
                        if connection.getresponse().read() and not done.is_set():
                            sent[0] += 1
                except (OSError, http.client.HTTPException):
                    pass
                finally:
                    connection.close()

            sender = threading.Thread(target=send)
            sender.start()
            time.sleep(chance.uniform(0.05, 0.25))
            done.set()
            self.server.kill()
            sender.join()
            self.server.start()
            taken = self.taken("killed")
            self.assertEqual(len(set(taken.values())), 1, taken)
            self.assertGreaterEqual(taken["history"], sent[0], "what was answered is there")
            row = taken["history"]
        self.assertGreater(row, KILLS)


if __name__ == "__main__":
    unittest.main()
