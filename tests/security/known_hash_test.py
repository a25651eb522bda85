"""Knowing the hash of another project's bytes is not enough to read them."""

import base64
import hashlib
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/server"))

from server_case import ServerCase  # noqa: E402

SECRET = b"weights that cost a million"


def md5_of(data: bytes) -> str:
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def manifest(contents: dict) -> bytes:
    return json.dumps({"version": 1, "contents": contents}).encode()


class KnownHash(ServerCase):
    """The project "closed" has a secret; the attacker's key is for "open" alone."""

    options = ("--auth",)

    def setUp(self) -> None:
        admin = (self.server.data / "admin-token").read_text().strip()
        self.admin = {"Authorization": f"Bearer {admin}"}
        wanted = {"name": "t", "scopes": ["write"], "project": "open"}
        token = self.ask("POST", "/api/v1/tokens", wanted, self.admin).json["token"]
        self.attacker = {"Authorization": f"Bearer {token}"}

    def graphql(self, key: dict, text: str, **values) -> dict:
        answer = self.ask("POST", "/graphql", {"query": text, "variables": {"input": values}}, key)
        return answer.json

    def create(self, key: dict, project: str, name: str) -> str:
        made = self.graphql(
            key,
            "mutation($input: CreateArtifactInput!) {createArtifact(input: $input)"
            " {artifact {id}}}",
            projectName=project,
            artifactTypeName="model",
            artifactCollectionName=name,
            digest=name,
        )
        return made["data"]["createArtifact"]["artifact"]["id"]

    def announce(self, key: dict, artifact: str, data: bytes) -> str | None:
        """Where the server wants the bytes; None: it takes those that it has."""
        made = self.graphql(
            key,
            "mutation($input: CreateArtifactFilesInput!) {createArtifactFiles(input: $input)"
            " {files {edges {node {uploadUrl}}}}}",
            artifactFiles=[{"artifactID": artifact, "name": "w.bin", "md5": md5_of(data)}],
        )
        return made["data"]["createArtifactFiles"]["files"]["edges"][0]["node"]["uploadUrl"]

    def put(self, url: str, data: bytes) -> None:
        answer = self.ask("PUT", url.removeprefix(self.server.url), data)
        self.assertEqual(answer.status, 200, answer.body)

    def create_manifest(self, key: dict, artifact: str, **more) -> dict:
        return self.graphql(
            key,
            "mutation($input: CreateArtifactManifestInput!) {createArtifactManifest(input: $input)"
            " {artifactManifest {file {uploadUrl}}}}",
            artifactID=artifact,
            **more,
        )

    def send_manifest(self, key: dict, artifact: str, contents: dict, **more) -> None:
        made = self.create_manifest(key, artifact, **more)["data"]["createArtifactManifest"]
        self.put(made["artifactManifest"]["file"]["uploadUrl"], manifest(contents))

    def commit(self, key: dict, artifact: str) -> dict:
        return self.graphql(
            key,
            "mutation($input: CommitArtifactInput!) {commitArtifact(input: $input)"
            " {artifact {id}}}",
            artifactID=artifact,
        )

    def make_secret(self) -> str:
        """A version in "closed", as a client makes it."""
        artifact = self.create(self.admin, "closed", "net")
        if url := self.announce(self.admin, artifact, SECRET):
            self.put(url, SECRET)
        entry = {"digest": md5_of(SECRET), "size": len(SECRET)}
        self.send_manifest(self.admin, artifact, {"w.bin": entry})
        self.assertNotIn("errors", self.commit(self.admin, artifact))
        return artifact

    def test_a_wandb_manifest_names_only_bytes_of_the_keys_project(self):
        self.make_secret()
        artifact = self.create(self.attacker, "open", "stolen")
        entry = {"digest": md5_of(SECRET), "size": len(SECRET)}
        self.send_manifest(self.attacker, artifact, {"w.bin": entry})
        answer = self.commit(self.attacker, artifact)
        self.assertIn("have not come", json.dumps(answer.get("errors")))
        got = self.ask("GET", "/api/v1/artifacts/open/stolen/v0/files/w.bin", None, self.attacker)
        self.assertEqual(got.status, 404)

    def test_wandb_files_of_another_project_have_to_be_sent(self):
        self.make_secret()
        artifact = self.create(self.attacker, "open", "sent")
        self.assertIsNotNone(self.announce(self.attacker, artifact, SECRET))
        # Who has the bytes may store them, and who may read both projects need not send them.
        self.put(self.announce(self.attacker, artifact, SECRET), SECRET)
        entry = {"digest": md5_of(SECRET), "size": len(SECRET)}
        self.send_manifest(self.attacker, artifact, {"w.bin": entry})
        self.assertNotIn("errors", self.commit(self.attacker, artifact))
        other = self.create(self.admin, "third", "copy")
        self.assertIsNone(self.announce(self.admin, other, SECRET))

    def test_a_wandb_manifest_is_not_put_over_one_of_another_project(self):
        secret = self.make_secret()
        artifact = self.create(self.attacker, "open", "patched")
        answer = self.create_manifest(
            self.attacker, artifact, baseArtifactID=secret, type="INCREMENTAL"
        )
        self.assertIn("there is no project", json.dumps(answer.get("errors")))

    def test_a_wandb_manifest_of_another_shape_is_refused(self):
        base = self.create(self.admin, "open", "shapes")
        self.send_manifest(self.admin, base, {})
        self.commit(self.admin, base)
        artifact = self.create(self.admin, "open", "listed")
        made = self.create_manifest(self.admin, artifact, baseArtifactID=base, type="INCREMENTAL")
        url = made["data"]["createArtifactManifest"]["artifactManifest"]["file"]["uploadUrl"]
        answer = self.ask("PUT", url.removeprefix(self.server.url), b'{"contents": [1]}')
        # Clients try again for ever what is answered with 500.
        self.assertEqual(answer.status, 400, answer.body)

    def test_wandb_bytes_by_digest_are_the_projects_own(self):
        self.make_secret()
        name = hashlib.md5(SECRET).hexdigest()
        for project, key, status in [
            ("closed", self.admin, 200),
            ("closed", self.attacker, 404),
            ("elsewhere", self.admin, 404),
        ]:
            path = f"/artifactsV2/default/e/{project}/net/birth/{name}/w.bin"
            self.assertEqual(self.ask("GET", path, None, key).status, status, project)

    def test_a_native_version_holds_only_blobs_of_the_keys_project(self):
        self.make_secret()
        digest = hashlib.sha256(SECRET).hexdigest()
        draft = {
            "type": "model",
            "files": [{"path": "w.bin", "digest": digest, "size": len(SECRET)}],
        }
        answer = self.ask("POST", "/api/v1/artifacts/open/native", draft, self.attacker)
        self.assertEqual(answer.json["missing"], [digest])
        self.assertIsNone(answer.json["version"])
        answer = self.ask("GET", f"/api/v1/blobs/{digest}", None, self.attacker)
        self.assertEqual(answer.status, 403)
        # A run's own file is the project's: it can become a version without being sent again.
        self.ask("POST", "/api/v1/runs/open", {"id": "r"}, self.attacker)
        sent = self.ask("PUT", "/api/v1/runs/open/r/files/w.bin", b"mine", self.attacker)
        draft["files"][0].update(digest=sent.json["digest"], size=4)
        answer = self.ask("POST", "/api/v1/artifacts/open/native", draft, self.attacker)
        self.assertEqual(answer.json["missing"], [])

    def test_mlflow_files_of_another_project_are_not_found(self):
        model = self.ask(
            "POST", "/api/2.0/mlflow/logged-models", {"name": "m", "experiment_id": "0"}, self.admin
        ).json["model"]["info"]["model_id"]
        base = "/api/2.0/mlflow-artifacts/artifacts"
        path = f"{base}/0/models/{model}/artifacts/w.bin"
        self.assertEqual(self.ask("PUT", path, SECRET, self.admin).status, 200)
        self.assertEqual(self.ask("GET", path, None, self.admin).body, SECRET)
        for where in (path, f"{base}/w.bin", f"{base}/models/{model}/w.bin"):
            self.assertIn(self.ask("GET", where, None, self.attacker).status, (403, 404), where)


if __name__ == "__main__":
    unittest.main()
