"""Who gets in: keys, passwords, users, sessions."""

import json
import os
import pathlib
import stat
import statistics
import subprocess
import threading
import time
import unittest

from case import KEDGE, AttackCase, basic, bearer

MLFLOW = "/api/2.0/mlflow/users"


class Keys(AttackCase):
    def setUp(self) -> None:
        super().setUp()
        self.admin = self.admin_of(self.serve("--auth"))
        user = {"role": "admin", "password": "a long password"}
        self.assertEqual(self.ask("PUT", "/api/v1/users/ann", user, self.admin).status, 200)
        self.ann = basic("ann", "a long password")

    def make_token(self, headers: dict, **wish) -> dict:
        answer = self.ask("POST", "/api/v1/tokens", wish, headers)
        self.assertEqual(answer.status, 201, answer.body)
        return bearer(answer.json["token"])

    def test_a_view_token_does_not_change_its_users_password(self):
        view = self.make_token(self.ann, scopes=["view"])
        wish = {"username": "ann", "password": "the attacker's own"}
        answer = self.ask("PATCH", f"{MLFLOW}/update-password", wish, view)
        self.assertEqual(answer.status, 403, answer.body)
        stolen = basic("ann", "the attacker's own")
        self.assertEqual(self.ask("GET", "/api/v1/users", headers=stolen).status, 401)
        self.assertEqual(self.ask("GET", "/api/v1/users", headers=self.ann).status, 200)

    def test_whoever_knows_the_password_changes_it_as_mlflow_does(self):
        wish = {"username": "ann", "password": "another long one"}
        self.assertEqual(
            self.ask("PATCH", f"{MLFLOW}/update-password", wish, self.ann).status, 200
        )
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=self.ann).status, 401)
        new = basic("ann", "another long one")
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=new).status, 200)

    def test_a_changed_password_ends_sessions_and_tokens(self):
        token = self.make_token(self.ann)
        login = {"user": "ann", "password": "a long password"}
        session = {"Cookie": self.ask("POST", "/api/v1/login", login).headers["Set-Cookie"]}
        for headers in (token, session):
            self.assertEqual(self.ask("GET", "/api/v1/me", headers=headers).status, 200)
        user = {"role": "admin", "password": "another long one"}
        self.assertEqual(self.ask("PUT", "/api/v1/users/ann", user, self.admin).status, 200)
        for headers in (token, session):
            self.assertEqual(self.ask("GET", "/api/v1/me", headers=headers).status, 401)

    def test_a_token_makes_none_that_can_do_more_or_lasts_longer(self):
        view = self.make_token(self.ann, scopes=["view"], expires_in_s=60)
        more = self.ask("POST", "/api/v1/tokens", {"scopes": ["write"]}, view)
        self.assertEqual(more.status, 400, more.body)
        for seconds in (0, 3600):
            longer = self.ask("POST", "/api/v1/tokens", {"expires_in_s": seconds}, view)
            self.assertEqual(longer.status, 400, longer.body)
        same = self.ask("POST", "/api/v1/tokens", {"scopes": ["view"]}, view).json
        self.assertLessEqual(same["expires_us"], (time.time() + 61) * 1e6)
        entry = self.ask("POST", "/api/v1/entries", {}, view).json["path"]
        page = {"Cookie": self.ask("GET", entry).headers["Set-Cookie"], "X-Kedge-Page": "1"}
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=page).json["role"], "view")
        longer = self.ask("POST", "/api/v1/tokens", {"expires_in_s": 3600}, page)
        self.assertEqual(longer.status, 400, longer.body)

    def test_who_logs_in_by_password_makes_tokens_that_outlast_the_session(self):
        login = {"user": "ann", "password": "a long password"}
        cookie = self.ask("POST", "/api/v1/login", login).headers["Set-Cookie"]
        page = {"Cookie": cookie, "X-Kedge-Page": "1"}
        made = self.ask("POST", "/api/v1/tokens", {"expires_in_s": 365 * 86400}, page)
        self.assertEqual(made.status, 201, made.body)

    def test_a_view_token_ends_no_stronger_one(self):
        write = self.ask("POST", "/api/v1/tokens", {"scopes": ["write"]}, self.ann).json
        view = self.make_token(basic("ann", "a long password"), scopes=["view"])
        self.assertEqual(
            self.ask("DELETE", f"/api/v1/tokens/{write['id']}", headers=view).status, 404
        )
        self.assertEqual(
            self.ask("GET", "/api/v1/me", headers=bearer(write["token"])).status, 200
        )

    def test_a_token_in_an_address_is_none(self):
        token = self.make_token(self.ann)["Authorization"].split()[1]
        self.assertEqual(self.ask("GET", f"/api/v1/me?share={token}").status, 401)

    def test_time_does_not_tell_who_is_a_user(self):
        def seconds(name: str) -> float:
            taken = []
            for i in range(5):
                begin = time.monotonic()
                wrong = basic(name, f"wrong {i}")
                self.assertEqual(self.ask("GET", "/api/v1/me", headers=wrong).status, 401)
                taken.append(time.monotonic() - begin)
            return statistics.median(taken)

        user, nobody = seconds("ann"), seconds("nobody")
        # scrypt takes 50 ms and more, a look into a map a thousandth of that.
        self.assertGreater(nobody, user / 3)

    def test_an_outsider_cannot_lock_a_user_out(self):
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=self.ann).status, 200)
        for i in range(25):
            self.ask("GET", "/api/v1/me", headers=basic("ann", f"guess {i}"))
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=self.ann).status, 200)
        login = {"user": "ann", "password": "a long password"}
        self.assertEqual(self.ask("POST", "/api/v1/login", login).status, 200)

    def test_who_guesses_passwords_does_not_hold_up_the_others(self):
        def guess(number: int) -> None:
            for i in range(4):
                self.ask("GET", "/api/v1/me", headers=basic(f"nobody{number}", f"guess {i}"))

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        slowest = 0.0
        while any(thread.is_alive() for thread in threads):
            begin = time.monotonic()
            self.assertEqual(self.ask("GET", "/health").status, 200)
            slowest = max(slowest, time.monotonic() - begin)
        for thread in threads:
            thread.join()
        # 32 hashes one after the other would hold two I/O threads for two seconds.
        self.assertLess(slowest, 1.0)


class Planted(AttackCase):
    def test_nobody_plants_an_admin_where_nobody_logs_in(self):
        server = self.serve("--auth", "none")
        user = {"username": "eve", "password": "a long password"}
        self.assertGreaterEqual(self.ask("POST", f"{MLFLOW}/create", user).status, 400)
        role = {"username": "eve", "is_admin": True}
        self.assertGreaterEqual(self.ask("PATCH", f"{MLFLOW}/update-admin", role).status, 400)
        self.assertGreaterEqual(
            self.ask("PUT", "/api/v1/users/eve", {"role": "admin"}).status, 400
        )
        server.stop()
        self.serve("--auth")
        self.assertTrue((self.server.data / "admin-token").exists(), "the first admin was made")
        eve = basic("eve", "a long password")
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=eve).status, 401)


class Owner(AttackCase):
    def setUp(self) -> None:
        super().setUp()
        self.config = self.folder / "config"
        os.environ["XDG_CONFIG_HOME"] = str(self.config)
        self.addCleanup(os.environ.pop, "XDG_CONFIG_HOME")

    def kedge(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
        return subprocess.run(
            [KEDGE, *words], env=kept | variables, capture_output=True, text=True, cwd=self.folder
        )

    def test_other_users_of_the_machine_need_a_key(self):
        server = self.serve(has_owner=True)
        for method, path in (
            ("GET", "/api/v1/projects"),
            ("POST", "/api/v1/runs/p"),
            ("POST", "/api/2.0/mlflow/experiments/create"),
            ("POST", "/graphql"),
            ("POST", f"{MLFLOW}/create"),
        ):
            self.assertEqual(self.ask(method, path, {}).status, 401, path)
        me = self.ask("GET", "/api/v1/me", headers=bearer(server.key)).json
        self.assertEqual(me["role"], "admin")

    def test_the_owners_programs_find_the_key(self):
        server = self.serve(has_owner=True)
        run = self.kedge("run", "--server", server.url, "--", "env")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(f"WANDB_API_KEY={server.key}", run.stdout)
        self.assertIn(f"MLFLOW_TRACKING_TOKEN={server.key}", run.stdout)
        listed = self.kedge("runs", "ls", "--server", server.url, "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(len(json.loads(listed.stdout)["runs"]), 1)
        stranger = self.kedge(
            "runs", "ls", "--server", server.url, XDG_CONFIG_HOME=str(self.folder / "other")
        )
        self.assertEqual(stranger.returncode, 2, stranger.stderr)

    def test_the_key_is_the_same_after_a_restart_and_gone_with_the_server(self):
        server = self.serve(has_owner=True)
        key = server.key
        (file,) = (self.config / "kedge/servers").iterdir()
        self.assertEqual(file.read_text().strip(), key)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.assertEqual(server.stop(), 0)
        self.assertFalse(file.exists())
        server.start()
        self.assertEqual(server.key, key)

    def test_a_link_opens_the_page_once(self):
        server = self.serve(has_owner=True)
        made = self.kedge("server", "link", "--server", server.url)
        link = made.stdout.strip()
        self.assertTrue(link.startswith(server.url + "/enter/"), made)
        path = link.removeprefix(server.url)
        first = self.ask("GET", path)
        self.assertEqual((first.status, first.headers["Location"]), (303, "/"))
        session = {"Cookie": first.headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(self.ask("GET", "/api/v1/me", headers=session).json["role"], "admin")
        self.assertEqual(self.ask("GET", path).status, 401)

    def test_what_is_stored_is_its_owners_whatever_the_umask(self):
        data = self.folder / "data"
        data.mkdir(mode=0o777)
        data.chmod(0o777)
        before = os.umask(0)
        try:
            server = self.serve("--access-log", str(data / "access.log"), has_owner=True)
        finally:
            os.umask(before)
        key = bearer(server.key)
        self.ask("POST", "/api/v1/runs/p", {"id": "r"}, key)
        put = self.ask("PUT", "/api/v1/runs/p/r/files/a.txt", b"hello", key)
        self.assertLess(put.status, 300, put.body)
        self.assertEqual(stat.S_IMODE(data.stat().st_mode), 0o700)
        open_ones = [
            str(path)
            for path in pathlib.Path(data).rglob("*")
            if stat.S_IMODE(path.stat().st_mode) & 0o077
        ]
        self.assertEqual(open_ones, [])


if __name__ == "__main__":
    unittest.main()
