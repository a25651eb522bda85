"""Who may do what, and TLS; contract.py runs them."""

import contextlib
import http.client
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

from server_case import ServerCase
from server_process import ServerProcess


class Users(ServerCase):
    options = ("--auth",)

    def setUp(self) -> None:
        file = self.server.data / "admin-token"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.admin = {"Authorization": f"Bearer {file.read_text().strip()}"}

    def test_asks_who_you_are(self):
        self.assertEqual(self.ask("GET", "/health").status, 200)
        self.assertEqual(self.ask("GET", "/").status, 200)
        answer = self.ask("GET", "/api/v1/projects")
        self.assertEqual((answer.status, answer.code), (401, "unauthorized"))
        self.assertEqual(self.ask("GET", "/api/v1/projects", headers=self.admin).status, 200)
        me = self.ask("GET", "/api/v1/me", headers=self.admin).json
        self.assertEqual((me["user"], me["role"], me["auth"]), ("admin", "admin", True))

    def test_users_do_what_their_role_allows(self):
        user = {"role": "write", "password": "long enough"}
        self.assertEqual(self.ask("PUT", "/api/v1/users/ann", user, self.admin).status, 200)
        wrong = {"user": "ann", "password": "wrong one"}
        self.assertEqual(self.ask("POST", "/api/v1/login", wrong).status, 401)
        login = self.ask("POST", "/api/v1/login", {"user": "ann", "password": "long enough"})
        self.assertEqual(login.status, 200)
        cookie = login.headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        page = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=page).json["role"], "write")
        self.assertEqual(self.ask("POST", "/api/v1/runs/p", {}, page).status, 403)
        page["X-CSRF-Token"] = login.json["csrf_token"]
        made = self.ask("POST", "/api/v1/runs/p", {"id": "anns"}, page)
        self.assertEqual((made.status, made.json["user"]), (201, "ann"))
        self.assertEqual(self.ask("GET", "/api/v1/users", headers=page).status, 403)
        token = self.ask("POST", "/api/v1/tokens", {"name": "t", "scopes": ["view"]}, page).json
        key = {"Authorization": f"Bearer {token['token']}"}
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/anns", headers=key).status, 200)
        self.assertEqual(self.ask("DELETE", "/api/v1/runs/p/anns", headers=key).status, 403)
        removed = self.ask("DELETE", f"/api/v1/tokens/{token['id']}", headers=page)
        self.assertEqual(removed.status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/runs/p/anns", headers=key).status, 401)
        self.assertEqual(self.ask("POST", "/api/v1/logout", {}, page).status, 204)
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=page).status, 401)
        self.assertEqual(self.ask("DELETE", "/api/v1/users/ann", headers=self.admin).status, 204)

    def test_keys_and_links_are_listed_and_taken_away(self):
        for kind in ("tokens", "shares"):
            path = f"/api/v1/{kind}"
            made = self.ask("POST", path, {"name": "n", "project": "listed"}, self.admin).json
            listed = self.ask("GET", path, headers=self.admin).json[kind]
            self.assertIn(made["id"], [grant["id"] for grant in listed])
            removed = self.ask("DELETE", f"{path}/{made['id']}", headers=self.admin)
            self.assertEqual(removed.status, 204)
        entry = self.ask("POST", "/api/v1/entries", {}, self.admin).json
        self.assertEqual(self.ask("GET", entry["path"]).status, 303)
        self.assertEqual(self.ask("GET", entry["path"]).status, 401, "it opens the page once")

    def test_a_link_shows_one_project_and_changes_nothing(self):
        for project in ("open", "closed"):
            self.ask("POST", f"/api/v1/runs/{project}", {"id": "r"}, self.admin)
        share = self.ask("POST", "/api/v1/shares", {"project": "open"}, self.admin).json
        query = f"?share={share['token']}"
        self.assertEqual(self.ask("GET", f"/api/v1/runs/open/r{query}").status, 200)
        self.assertEqual(self.ask("GET", f"/api/v1/runs/closed/r{query}").status, 404)
        self.assertEqual(self.ask("DELETE", f"/api/v1/runs/open/r{query}").status, 403)
        projects = self.ask("GET", f"/api/v1/projects{query}").json["projects"]
        self.assertEqual([project["name"] for project in projects], ["open"])
        closed = self.ask("POST", f"/api/v1/runs/search{query}", {"project": "closed"})
        self.assertEqual(closed.status, 404)
        found = self.ask("POST", f"/api/v1/runs/search{query}", {}).json
        self.assertEqual([run["project"] for run in found["runs"]], ["open"])
        series = {"runs": [{"project": "closed", "id": "r"}], "keys": ["a"]}
        self.assertEqual(self.ask("POST", f"/api/v1/series{query}", series).status, 404)
        self.assertEqual(self.ask("GET", f"/api/v1/audit{query}").status, 403)

    def test_keeps_an_audit_without_secrets(self):
        user = {"role": "view", "password": "very secret words"}
        self.ask("PUT", "/api/v1/users/eve", user, self.admin)
        token = self.ask("POST", "/api/v1/tokens", {"name": "t"}, self.admin).json["token"]
        audit = self.ask("GET", "/api/v1/audit?limit=1000", headers=self.admin)
        self.assertIn("user.put", [line["what"] for line in audit.json["audit"]])
        self.ask("POST", "/api/v1/runs/audited", {"id": "a"}, headers=self.admin)
        self.ask("PATCH", "/api/v1/runs/audited/a", {"notes": "hush"}, headers=self.admin)
        self.ask("PUT", "/api/v1/views/v", {"name": "V"}, headers=self.admin)
        audit = self.ask("GET", "/api/v1/audit?limit=1000", headers=self.admin)
        lines = {line["what"]: line for line in audit.json["audit"]}
        self.assertEqual(lines["run.change"]["target"], "audited/a")
        self.assertEqual(lines["run.change"]["detail"], {"fields": ["notes"]})
        self.assertEqual(lines["view.put"]["target"], "v")
        self.assertNotIn(b"very secret", audit.body)
        self.assertNotIn(token.encode(), audit.body)
        kept = b"".join(path.read_bytes() for path in self.server.data.glob("*.db*"))
        self.assertNotIn(token.encode(), kept)
        self.assertNotIn(b"very secret", kept)


class Encrypted(ServerCase):
    @classmethod
    def setUpClass(cls) -> None:
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("there is no openssl to make a certificate with")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.certificate = cls.folder / "cert.pem"
        cls.make_certificate("localhost")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    @classmethod
    def make_certificate(cls, name: str) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        command += ["ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
        command += ["-keyout", cls.folder / "key.pem", "-out", cls.certificate]
        subprocess.run(command, check=True, capture_output=True)

    @contextlib.contextmanager
    def serving(self):
        """A server with TLS: its process and its port."""
        options = ("--tls-cert", self.certificate, "--tls-key", self.folder / "key.pem")
        process = subprocess.Popen(
            [
                self.bin / "kedge",
                "server",
                "--data",
                self.folder / "data",
                "--port",
                "0",
                "--auth",
                "none",
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            address = process.stdout.readline().split()[2]
            self.assertTrue(address.startswith("https://127.0.0.1:"), address)
            yield process, int(address.rsplit(":", 1)[1])
        finally:
            process.terminate()
            self.assertEqual(process.wait(30), 0)
            process.stdout.close()

    def test_speaks_tls(self):
        with self.serving() as (_, port):
            context = ssl.create_default_context(cafile=self.certificate)
            for _ in range(3):
                connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
                for _ in range(3):
                    connection.request("GET", "/health")
                    self.assertEqual(connection.getresponse().read(), b"OK")
                connection.close()

    def served_certificate(self, port: int) -> str:
        return ssl.get_server_certificate(("127.0.0.1", port)).strip()

    def test_takes_up_a_renewed_certificate_and_keeps_the_old_over_a_bad_one(self):
        with self.serving() as (process, port):
            first = self.certificate.read_text().strip()
            self.assertEqual(self.served_certificate(port), first)
            context = ssl.create_default_context(cafile=self.certificate)
            kept = http.client.HTTPSConnection("127.0.0.1", port, context=context)
            kept.request("GET", "/health")
            kept.getresponse().read()
            self.certificate.write_text("no certificate")
            process.send_signal(signal.SIGHUP)
            time.sleep(0.5)  # nothing is to happen
            self.assertEqual(self.served_certificate(port), first)
            self.make_certificate("renewed")
            process.send_signal(signal.SIGHUP)
            second = self.certificate.read_text().strip()
            deadline = time.monotonic() + 30
            while self.served_certificate(port) != second:
                self.assertLess(time.monotonic(), deadline)
            kept.request("GET", "/health")  # on the connection that was open
            self.assertEqual(kept.getresponse().read(), b"OK")
            kept.close()
            self.make_certificate("without a signal")
            third = self.certificate.read_text().strip()
            while self.served_certificate(port) != third:
                self.assertLess(time.monotonic(), deadline + 60)
                time.sleep(0.2)


class Logged(ServerCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kedge-contract-"))
        cls.log = cls.folder / "access.log"
        cls.server = ServerProcess(
            cls.bin / "kedge", cls.folder / "data", "--auth", "--access-log", str(cls.log)
        )
        cls.server.start()
        cls.token = (cls.folder / "data/admin-token").read_text().strip()

    def lines(self, word: str, count: int = 1) -> list[list[str]]:
        """The lines with that word, when there are so many."""
        deadline = time.monotonic() + 30
        while True:
            found = [line.split() for line in self.log.read_text().splitlines() if word in line]
            if len(found) >= count:
                return found
            self.assertLess(time.monotonic(), deadline, self.log.read_text())

    def test_has_a_line_for_each_request_and_no_secrets(self):
        login = {"Authorization": f"Bearer {self.token}"}
        self.ask("POST", f"/api/v1/runs/p?share={self.token}", {"id": "logged"}, login)
        answer = self.ask("GET", "/api/v1/runs/p/logged", headers=login)
        self.ask("GET", "/api/v1/runs/p/logged", headers={"Authorization": "Bearer nobody"})
        self.ask("GET", "/api/v1/runs/p%0Ainjected/a%20b", headers=login)
        self.ask("GET", f"/wandb/bytes/{self.token}/file", headers=login)
        line = self.lines("GET /api/v1/runs/p/logged", 2)[0]
        self.assertRegex(line[0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(
            line[1:7],
            ["127.0.0.1", "admin", "GET", "/api/v1/runs/p/logged", "200"]
            + [str(len(answer.body))],
        )
        self.assertGreaterEqual(float(line[7]), 0)
        self.assertEqual(
            self.lines("GET /api/v1/runs/p/logged", 2)[1][2:6],
            ["-", "GET", "/api/v1/runs/p/logged", "401"],
        )
        self.lines("/api/v1/runs/p%0Ainjected/a%20b")
        self.lines("/wandb/bytes/***/file")
        self.assertNotIn(self.token, self.log.read_text())

    def test_goes_on_in_a_new_file_when_the_old_one_was_moved(self):
        self.ask("GET", "/before")
        self.lines("/before")
        self.log.rename(self.folder / "access.log.1")
        self.server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while not self.log.exists():
            self.assertLess(time.monotonic(), deadline)
        self.ask("GET", "/after")
        self.lines("/after")
        self.assertNotIn("/after", (self.folder / "access.log.1").read_text())
