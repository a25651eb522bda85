"""Deleted runs: out of sight at once, restorable for some days, then gone with their bytes."""

import hashlib
import subprocess
import time

from server_case import ServerCase

MLFLOW = "/api/2.0/mlflow/"


class Trash(ServerCase):
    def ids(self, trash: bool = False) -> list[str]:
        search = {"project": "bin", "trash": trash, "order": ["id"]}
        return [run["id"] for run in self.ask("POST", "/api/v1/runs/search", search).json["runs"]]

    def kedge(self, *words: str) -> str:
        command = [self.bin / "kedge", *words, "--server", self.server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def test_a_deleted_run_is_hidden_and_comes_back_whole(self):
        run = self.make_run("bin/one")
        self.ask("POST", run + "/log", {"step": 3, "values": {"loss": 0.5}})
        self.ask("PUT", run + "/files/a.txt", b"bytes")
        alert = {"type": "alert", "key": "a", "body": {"title": "a"}}
        self.ask("POST", run + "/records", {"records": [alert]})
        self.assertEqual(self.ask("DELETE", run).status, 204)
        self.assertNotIn("one", self.ids())
        self.assertIn("one", self.ids(trash=True))
        self.assertEqual(self.ask("GET", "/api/v1/alerts?project=bin").json["alerts"], [])
        since = self.ask("GET", run).json["deleted_us"]
        self.assertGreater(since, 0)
        self.ask("DELETE", run)
        self.assertEqual(self.ask("GET", run).json["deleted_us"], since, "it stays no longer")
        self.assertEqual(self.ask("PATCH", run, {"deleted_us": 0}).status, 200)
        self.assertIn("one", self.ids())
        self.assertEqual(self.ask("GET", run).json["summary"]["loss"]["last"], 0.5)
        self.assertEqual(self.ask("GET", run + "/files/a.txt").body, b"bytes")
        self.assertEqual(len(self.ask("GET", "/api/v1/alerts?project=bin").json["alerts"]), 1)

    def test_says_how_long_it_keeps_runs(self):
        search = {"project": "bin", "trash": True}
        self.assertEqual(self.ask("POST", "/api/v1/runs/search", search).json["trash_days"], 30)

    def test_mlflow_and_the_command_line_see_the_same_trash(self):
        run = self.make_run("bin/two")
        self.ask("PATCH", run, {"state": "finished"})
        self.assertIn("kedge runs restore bin/two", self.kedge("runs", "rm", "bin/two", "--yes"))
        self.assertIn("bin/two", self.kedge("runs", "ls", "--trash"))
        info = self.ask("GET", MLFLOW + "runs/get?run_id=two").json["run"]["info"]
        self.assertEqual(info["lifecycle_stage"], "deleted")
        self.assertEqual(self.ask("POST", MLFLOW + "runs/restore", {"run_id": "two"}).status, 200)
        self.assertIn("two", self.ids())
        self.ask("POST", MLFLOW + "runs/delete", {"run_id": "two"})
        self.assertIn("restored bin/two", self.kedge("runs", "restore", "bin/two"))
        info = self.ask("GET", MLFLOW + "runs/get?run_id=two").json["run"]["info"]
        self.assertEqual(info["lifecycle_stage"], "active")
        said = self.kedge("runs", "rm", "bin/two", "--yes", "--for-good")
        self.assertIn("removed bin/two", said)
        self.assertEqual(self.ask("GET", run).status, 404)


class TrashOfNoDays(ServerCase):
    """The server removes at its next look what is in the trash."""

    options = ("--trash-days", "0")

    def test_what_was_in_the_trash_for_long_is_removed_with_its_bytes(self):
        kept, gone = self.make_run("bin/kept"), self.make_run("bin/gone")
        for run, body in ((kept, b"shared"), (gone, b"shared")):
            self.ask("PUT", run + "/files/same.txt", body)
        self.ask("PUT", gone + "/files/own.txt", b"own")
        self.ask("DELETE", gone)
        deadline = time.monotonic() + 30
        while self.ask("GET", gone).status != 404:
            self.assertLess(time.monotonic(), deadline, "it is removed")
            time.sleep(0.2)
        own, shared = (hashlib.sha256(text).hexdigest() for text in (b"own", b"shared"))
        while self.ask("GET", f"/api/v1/blobs/{own}").status != 404:
            self.assertLess(time.monotonic(), deadline, "its own bytes are freed")
            time.sleep(0.2)
        self.assertEqual(self.ask("GET", f"/api/v1/blobs/{shared}").body, b"shared")
        self.assertEqual(self.ask("GET", kept).status, 200)
