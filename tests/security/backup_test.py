"""A store that real clients have filled survives backup and restore with every byte."""

import hashlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from peer_clients import has_clients, run_client  # noqa: E402
from postgres import PROGRAMS, Postgres  # noqa: E402
from server_process import ServerProcess  # noqa: E402

KEDGE = ROOT / "build/bin/kedge"

FILL_WANDB = """
    import pathlib, wandb
    pathlib.Path("w").mkdir(exist_ok=True)
    pathlib.Path("w/a.bin").write_bytes(b"wandb a" * 1000)
    pathlib.Path("w/b.bin").write_bytes(b"wandb b" * 1000)
    with wandb.init(project="weights") as run:
        run.log({"loss": 1.0, "table": wandb.Table(columns=["x"], data=[[1], [2]])})
        net = wandb.Artifact("net", type="model")
        net.add_dir("w")
        run.log_artifact(net).wait()
        more = wandb.Artifact("net", type="model", incremental=True)
        with more.new_file("c.txt") as file:
            file.write("added")
        run.log_artifact(more).wait()
        run.link_artifact(net, "registry")
"""

FILL_MLFLOW = """
    import pathlib, mlflow
    pathlib.Path("note.txt").write_text("of a run")
    pathlib.Path("model.bin").write_bytes(b"model" * 1000)
    mlflow.set_experiment("digits")
    class Double(mlflow.pyfunc.PythonModel):
        def predict(self, context, model_input, params=None):
            return model_input
    with mlflow.start_run():
        mlflow.log_artifact("note.txt")
        logged = mlflow.pyfunc.log_model(
            name="double", python_model=Double(), pip_requirements=["cloudpickle"]
        )
    loose = mlflow.initialize_logged_model(name="loose")
    mlflow.MlflowClient().log_model_artifact(loose.model_id, "model.bin")
    mlflow.finalize_logged_model(loose.model_id, "READY")
    mlflow.register_model(logged.model_uri, "doubler")
"""

READ_ALL = """
    import hashlib, json, pathlib, shutil, sys, mlflow, wandb
    found = {}
    def add(name, folder):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[f"{name}/{path.relative_to(folder)}"] = digest
    api = wandb.Api()
    for version in ("weights/net:v0", "weights/net:v1", "weights/registry:v0"):
        artifact = api.artifact(version)
        add(version, artifact.download("down/" + version, skip_cache=True))
        artifact.verify("down/" + version)
    for run in api.runs("weights"):
        for file in run.files():
            file.download("down/files", replace=True)
    add("files", "down/files")
    client = mlflow.MlflowClient()
    for run in mlflow.search_runs(experiment_names=["digits"], output_format="list"):
        add("run", client.download_artifacts(run.info.run_id, ""))
    experiment = mlflow.set_experiment("digits").experiment_id
    for model in mlflow.search_logged_models([experiment], output_format="list"):
        add(model.name, mlflow.artifacts.download_artifacts(f"models:/{model.model_id}"))
    add("doubler", mlflow.artifacts.download_artifacts("models:/doubler/1"))
    print(json.dumps(found))
"""


def files_below(folder: pathlib.Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def columns_with(database: pathlib.Path, values: set[str]) -> set[tuple[str, str]]:
    """The columns of any table in which one of these texts stands."""
    found = set()
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            rows = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            for row in rows:
                found |= {(table, name) for name, cell in zip(names, row) if cell in values}
    return found


class FilledStore(unittest.TestCase):
    """A server that both real clients have filled."""

    @classmethod
    def setUpClass(cls) -> None:
        if not has_clients("mlflow", "wandb"):
            raise unittest.SkipTest("KEDGE_PEER_PYTHON names no Python with mlflow and wandb")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-backup-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.server = ServerProcess(KEDGE, cls.folder / "data", *cls.options())
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        run_client(FILL_WANDB, cls.folder, cls.server.url)
        run_client(FILL_MLFLOW, cls.folder, cls.server.url)

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ()

    def kedge(self, *arguments: object) -> dict:
        command = [KEDGE, "server", *map(str, arguments), "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def read_all(self, server: ServerProcess, name: str) -> dict[str, str]:
        folder = self.folder / name
        folder.mkdir()
        found = json.loads(run_client(READ_ALL, folder, server.url).splitlines()[-1])
        self.assertIn("loose/model.bin", found)
        self.assertIn("weights/net:v1/c.txt", found)
        return found

    def check_restored(self, restored: ServerProcess, before: dict[str, str]) -> None:
        self.assertEqual(
            files_below(restored.data / "blobs"), files_below(self.server.data / "blobs")
        )
        restored.start()
        try:
            self.assertEqual(self.read_all(restored, "after"), before)
        finally:
            restored.stop()


class Backup(FilledStore):
    def test_every_byte_that_clients_logged_comes_back(self):
        before = self.read_all(self.server, "before")
        self.kedge("backup", self.folder / "copy", "--data", self.server.data)  # while it runs
        restored = ServerProcess(KEDGE, self.folder / "restored")
        self.kedge("restore", self.folder / "copy", "--data", restored.data)
        report = self.kedge("check", "--data", restored.data)
        self.assertEqual(report["problems"], [])
        self.check_restored(restored, before)

    def test_nothing_else_in_the_database_names_a_blob(self):
        """A new table that names blobs has to become known to blob_references()."""
        blobs = {path.replace("/", "") for path in files_below(self.server.data / "blobs")}
        self.assertEqual(
            columns_with(self.server.data / "kedge.db", blobs),
            {
                ("files", "digest"),
                ("artifact_files", "digest"),
                ("loose_files", "digest"),
                ("artifact_draft_files", "digest"),
                ("artifact_drafts", "manifest"),
                ("blob_md5", "digest"),  # a second name of blobs that others hold
            },
        )


@unittest.skipUnless(PROGRAMS, "PostgreSQL is not installed")
class PostgresBackup(FilledStore):
    """The same store in PostgreSQL: backup and restore copy its rows, `check` reads them."""

    @classmethod
    def options(cls) -> tuple[str, ...]:
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.stop)
        cls.database = cls.postgres.make_database("before")
        return ("--db", cls.database)

    def test_every_byte_comes_back_and_a_lost_one_is_missed(self):
        before = self.read_all(self.server, "before")
        source = ("--db", self.database, "--data", self.server.data)
        self.kedge("backup", self.folder / "copy", *source)  # while it runs
        other = self.postgres.make_database("after")
        restored = ServerProcess(KEDGE, self.folder / "restored", "--db", other)
        where = ("--db", other, "--data", restored.data)
        self.kedge("restore", self.folder / "copy", *where)
        report = self.kedge("check", *where)
        self.assertEqual(report["problems"], [])
        for blob in sorted(files_below(restored.data / "blobs"))[:3]:
            lies = restored.data / "blobs" / blob
            lies.rename(self.folder / "aside")
            command = [KEDGE, "server", "check", *where]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the blob {blob.replace('/', '')} is gone", done.stderr)
            (self.folder / "aside").rename(lies)
        self.check_restored(restored, before)


if __name__ == "__main__":
    unittest.main()
