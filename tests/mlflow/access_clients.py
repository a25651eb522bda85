"""Who may, what fails, and the command line, with the real client; clients.py runs them."""

import json
import os
import subprocess
import sys
import threading
import time

import mlflow
import requests
from client_case import ClientTest


class FaultTest(ClientTest):
    def test_logging_goes_on_when_the_server_is_killed(self) -> None:
        mlflow.set_experiment("kills")
        with mlflow.start_run() as run:
            for step in range(60):
                if step in (20, 40):
                    self.server.kill()
                    starter = threading.Timer(1.0, self.server.start)
                    starter.start()
                mlflow.log_metric("m", step, step=step)
                if step in (20, 40):
                    starter.join()
        history = self.client.get_metric_history(run.info.run_id, "m")
        self.assertEqual([each.step for each in history], list(range(60)))

    def test_a_huge_payload_is_refused_with_a_word(self) -> None:
        run_id = self.client.create_run("0").info.run_id
        answer = requests.post(
            self.server.url + "/api/2.0/mlflow/runs/set-tag",
            json={"run_id": run_id, "key": "k", "value": "x" * (40 << 20)},
            timeout=60,
        )
        self.assertEqual(answer.status_code, 413)
        self.assertIn("error_code", answer.json())


class LoginTest(ClientTest):
    options = ("--auth",)
    os.environ["KEDGE_ADMIN_PASSWORD"] = "correct horse battery"

    def environment(self, password: str) -> dict:
        return {
            **os.environ,
            "MLFLOW_TRACKING_URI": self.server.url,
            "MLFLOW_TRACKING_USERNAME": "admin",
            "MLFLOW_TRACKING_PASSWORD": password,
        }

    CODE = (
        "import mlflow; mlflow.set_experiment('auth');"
        "run = mlflow.start_run(); mlflow.log_metric('m', 1); mlflow.end_run();"
        "print(mlflow.get_run(run.info.run_id).data.metrics)"
    )

    def script(self, password: str) -> subprocess.CompletedProcess:
        return self.run_code([], self.environment(password))

    def run_code(self, before: list, environment: dict) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*before, sys.executable, "-c", self.CODE],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def make_token(self, **fields) -> str:
        answer = requests.post(
            self.server.url + "/api/v1/tokens",
            json={"name": "t", "scopes": ["write"], **fields},
            auth=("admin", "correct horse battery"),
            timeout=60,
        )
        return answer.json()["token"]

    def test_a_token_opens_until_it_expires(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING")}
        kept["MLFLOW_TRACKING_URI"] = self.server.url
        done = self.run_code([], {**kept, "MLFLOW_TRACKING_TOKEN": self.make_token()})
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        token = self.make_token(expires_in_s=1)
        login = {"Authorization": f"Bearer {token}"}
        deadline = time.monotonic() + 60
        while requests.get(self.server.url + "/api/v1/projects", headers=login, timeout=60).ok:
            self.assertLess(time.monotonic(), deadline)
        done = self.run_code([], {**kept, "MLFLOW_TRACKING_TOKEN": token})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("401", done.stderr)

    def test_a_program_under_kedge_run_reaches_the_server(self) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_TRACKING")}
        kept.update(KEDGE_SERVER=self.server.url, KEDGE_TOKEN=self.make_token())
        done = self.run_code([self.bin / "kedge", "run", "--project", "outer", "--"], kept)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("{'m': 1.0}", done.stdout)

    def test_the_right_password_opens(self) -> None:
        done = self.script("correct horse battery")
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn("{'m': 1.0}", done.stdout)

    def test_a_wrong_password_does_not(self) -> None:
        done = self.script("wrong")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("401", done.stderr)


class CommandLineTest(ClientTest):
    def mlflow(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mlflow", *arguments],
            env={**os.environ, "MLFLOW_TRACKING_URI": self.server.url},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def test_the_verbs_work(self) -> None:
        self.mlflow("experiments", "create", "-n", "shell")
        self.assertIn("shell", self.mlflow("experiments", "search"))
        experiment = self.client.get_experiment_by_name("shell").experiment_id
        run = self.client.create_run(experiment, run_name="by hand")
        self.assertIn("by hand", self.mlflow("runs", "list", "--experiment-id", experiment))
        file = self.folder / "note.txt"
        file.write_text("from the shell")
        self.mlflow(
            "artifacts", "log-artifact", "--local-file", str(file), "--run-id", run.info.run_id
        )
        listed = json.loads(self.mlflow("artifacts", "list", "--run-id", run.info.run_id))
        self.assertEqual(listed, [{"path": "note.txt", "is_dir": False, "file_size": 14}])
